// The tree as rows: interior nodes at a few heights are stored, the rest is folded from them.

import assert from 'node:assert/strict'
import { consistencyPath, inclusionPath, nodeHash, rootAt } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { STORED_HEIGHTS, sha256 } from './append.ts'
import { findCrumb, findHead, listLeaves, listNodes } from './chain.sql.ts'

/** Hash of the perfect subtree over leaves [index·2^height, (index+1)·2^height). */
type NodeAt = (height: number, index: number) => Promise<Uint8Array>

function nodesOf(db: TenantDb): NodeAt {
  return async (height, index) => {
    const base = [...STORED_HEIGHTS].reverse().find((stored) => stored <= height) ?? 0
    const width = 2 ** (height - base)
    const first = index * width
    const rows =
      base === 0
        ? (await listLeaves(db, first, first + width)).map((row) => row.breadcrumb_id)
        : (await listNodes(db, base, first, first + width)).map((row) => row.hash)
    assert.equal(rows.length, width, 'the log lacks rows of a complete subtree')
    return fold(rows)
  }
}

function fold(nodes: Uint8Array[]): Uint8Array {
  let level = nodes
  while (level.length > 1) {
    const above: Uint8Array[] = []
    for (let i = 0; i + 1 < level.length; i += 2) {
      const [left, right] = [level[i], level[i + 1]]
      if (left && right) above.push(nodeHash(left, right, sha256))
    }
    level = above
  }
  const [root] = level
  assert(root, 'a subtree has at least one node')
  return root
}

/** RFC 9162 2.1.3.1: the audit path of leaf `index` in the tree of `size` leaves. */
export const auditPath = (db: TenantDb, index: number, size: number) =>
  inclusionPath(index, size, nodesOf(db), sha256)

/** RFC 9162 2.1.4.1: proof that the tree of `from` leaves is a prefix of the one of `to`. */
export const prefixPath = (db: TenantDb, from: number, to: number) =>
  consistencyPath(from, to, nodesOf(db), sha256)

export const treeRoot = (db: TenantDb, size: number) => rootAt(size, nodesOf(db), sha256)

/** The last seq appended at or before `us`; -1 when the log began later. */
export async function seqAt(db: TenantDb, us: number): Promise<number> {
  const at = formatTime(us)
  let [low, high] = [0, (await findHead(db))?.size ?? 0]
  // created_at rises with seq (verified with the log), so a binary search finds the border.
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if ((await createdAt(db, middle)) <= at) low = middle + 1
    else high = middle
  }
  return low - 1
}

async function createdAt(db: TenantDb, seq: number): Promise<string> {
  const row = await findCrumb(db, seq)
  // Written by appendCrumb only.
  return row ? (JSON.parse(row.record) as { created_at: string }).created_at : ''
}
