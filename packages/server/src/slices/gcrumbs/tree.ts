// The Merkle tree as rows: interior nodes are stored at a few heights, the others computed.

import assert from 'node:assert/strict'
import {
  consistencyPath,
  decodeFrontier,
  frontierRoot,
  inclusionPath,
  nodeHash,
  rootAt,
} from '@custos/proof'
import { sha256 } from '../../platform/bytes.ts'
import { formatTime } from '../../platform/clock.ts'
import type { Row } from '../../platform/db/schema/tables.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import type { StoredCheckpoint } from '../../platform/keys/keyring.ts'
import { LruCache } from '../../platform/lru-cache.ts'
import { type EpochRow, findCrumb, findHead, listLeaves, listNodes } from './chain.sql.ts'

/** Distance between two STORED_HEIGHTS. */
const BLOCK_HEIGHT = 8
const BLOCK_WIDTH = 2 ** BLOCK_HEIGHT
const HASH_BYTES = 32
/** All nodes below a stored node, which itself belongs to the block above. */
const BLOCK_BYTES = 2 * (BLOCK_WIDTH - 1) * HASH_BYTES
const CACHE_BYTES_MAX = 32 * 1024 * 1024

/** The nodes below a stored node, down to the stored nodes (or leaves) `BLOCK_HEIGHT` below it. */
class TreeBlock {
  readonly #nodes = new Uint8Array(BLOCK_BYTES)
  #width = 0

  /** The number of nodes added to the lowest level, from the left. */
  get width(): number {
    return this.#width
  }

  /** Adds nodes to the lowest level from `first` on, and every node above that they complete. */
  add(first: number, hashes: readonly Uint8Array[]): void {
    for (const [at, hash] of hashes.entries()) this.#nodes.set(hash, offsetOf(0, first + at))
    const width = first + hashes.length
    for (let height = 1; height < BLOCK_HEIGHT; height += 1)
      for (let at = first >> height; at < width >> height; at += 1)
        this.#nodes.set(this.#join(height, at), offsetOf(height, at))
    this.#width = Math.max(this.#width, width)
  }

  /** @param height levels above the lowest one */
  node(height: number, at: number): Uint8Array {
    const begin = offsetOf(height, at)
    return this.#nodes.subarray(begin, begin + HASH_BYTES)
  }

  #join(height: number, at: number): Uint8Array {
    return nodeHash(this.node(height - 1, 2 * at), this.node(height - 1, 2 * at + 1), sha256)
  }
}

/** Byte offset of a node. The levels of a block are consecutive, the lowest first. */
const offsetOf = (height: number, at: number): number =>
  (2 * BLOCK_WIDTH - ((2 * BLOCK_WIDTH) >> height) + at) * HASH_BYTES

type TreeOf = Pick<EpochRow, 'generation' | 'tree_size'>

const newCache = () =>
  new LruCache<string, TreeBlock>({ max: CACHE_BYTES_MAX, weigh: () => BLOCK_BYTES })

/** Holds hashes only, so it may stay when a tenant is destroyed, as the log itself does. */
const blockCache = perKernel(newCache)

/**
 * Hashes of the perfect subtrees of a tree over leaves [index·2^height, (index+1)·2^height).
 * @param tree has a signed checkpoint, so its leaves never change within its generation
 */
function nodesOf(
  blocks: ReturnType<typeof newCache>,
  db: TenantDb,
  { generation, tree_size }: TreeOf,
) {
  // Most nodes of a path are in one block.
  let last: { readonly place: string; readonly block: TreeBlock } | null = null
  return async (height: number, index: number): Promise<Uint8Array> => {
    const above = height % BLOCK_HEIGHT
    const base = height - above
    const [first, end] = [index * 2 ** above, (index + 1) * 2 ** above]
    const begin = first - (first % BLOCK_WIDTH)
    const place = `${base}/${begin}`
    if (last?.place !== place) {
      const key = `${place}/${generation}/${db.tenant_id}`
      last = { place, block: blocks.get(key) ?? blocks.set(key, new TreeBlock()) }
    }
    const { block } = last
    if (block.width < end - begin) {
      // Reads no further than the tree: later rows may be lost in a restore.
      const limit = Math.min(begin + BLOCK_WIDTH, Math.floor(tree_size / 2 ** base))
      await extend(db, block, { base, begin, limit })
    }
    return block.node(above, index % (BLOCK_WIDTH >> above))
  }
}

async function extend(
  db: TenantDb,
  block: TreeBlock,
  { base, begin, limit }: { base: number; begin: number; limit: number },
): Promise<void> {
  const from = block.width
  const hashes =
    base === 0
      ? (await listLeaves(db, begin + from, limit)).map((row) => row.breadcrumb_id)
      : (await listNodes(db, base, begin + from, limit)).map((row) => row.hash)
  assert.equal(hashes.length, limit - begin - from, 'the log lacks rows of a complete subtree')
  block.add(from, hashes)
}

/** RFC 9162 2.1.3.1: the audit path of leaf `index` in the tree. */
export const auditPath = (kernel: Kernel, db: TenantDb, tree: TreeOf, index: number) =>
  inclusionPath(index, tree.tree_size, nodesOf(blockCache(kernel), db, tree), sha256)

/** RFC 9162 2.1.4.1: proof that the tree of `from` leaves is a prefix of `tree`. */
export const prefixPath = (kernel: Kernel, db: TenantDb, tree: TreeOf, from: number) =>
  consistencyPath(from, tree.tree_size, nodesOf(blockCache(kernel), db, tree), sha256)

/** Computes the root from the current rows, without the cache. */
export const treeRoot = (db: TenantDb, tree_size: number) =>
  rootAt(tree_size, nodesOf(newCache(), db, { generation: 0, tree_size }), sha256)

/** Whether the log extends the checkpoint. */
export async function fitsLog(db: TenantDb, stored: StoredCheckpoint | null): Promise<boolean> {
  if (!stored) return true
  const head = await findHead(db)
  return fitsHead(head, stored) ?? sameRoot(stored, await treeRoot(db, stored.tree_size))
}

/** The same, from the head alone; `null` if the tree must be read. */
export function fitsHead(
  head: Row<'chain_heads'> | undefined,
  stored: StoredCheckpoint,
): boolean | null {
  if (!head || head.generation < stored.generation || head.size < stored.tree_size) return false
  // A later generation was begun on purpose, and its first entry names this checkpoint.
  if (head.generation > stored.generation) return true
  if (head.size > stored.tree_size) return null
  return sameRoot(stored, frontierRoot(decodeFrontier(head.frontier), sha256))
}

const sameRoot = (stored: StoredCheckpoint, root: Uint8Array): boolean =>
  stored.root_hash === Buffer.from(root).toString('hex')

/** The last seq appended at or before `us`; -1 if the log began later. */
export async function seqAt(db: TenantDb, us: number): Promise<number> {
  const at = formatTime(us)
  let [low, high] = [0, (await findHead(db))?.size ?? 0]
  // created_at increases with seq (verified with the log), so a binary search finds the boundary.
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if ((await createdAt(db, middle)) <= at) low = middle + 1
    else high = middle
  }
  return low - 1
}

async function createdAt(db: TenantDb, seq: number): Promise<string> {
  const row = await findCrumb(db, seq)
  // Only `appendCrumb` writes records.
  return row ? (JSON.parse(row.record) as { created_at: string }).created_at : ''
}
