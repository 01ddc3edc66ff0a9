// Selects the decisions to place on the manifold: the newest ones, read from one snapshot.

import { createHash } from 'node:crypto'
import { MANIFOLD_DECISIONS_MAX } from '@custos/contract'
import { toHex } from '../../platform/bytes.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { findLastSeq } from '../gcrumbs/index.ts'
import { countGoverned, countTrail, listGoverned, listTrail, type Page } from './manifold.sql.ts'

export interface SelectedDecision {
  readonly seq: number
  readonly decision_id: string
  /** Fields that only governed decisions have; null: a decision of the decision trail. */
  readonly governed: {
    readonly agent_no: number
    readonly decision: string
    readonly tag: string
    readonly outcome: string | null
  } | null
}

export interface Selection {
  /** By descending seq. */
  readonly items: readonly SelectedDecision[]
  /** The number of matching decisions, selected or not. */
  readonly total: number
  /** Changes when a decision is added, replaced or resealed. */
  readonly fingerprint: string
  /** The position of the snapshot's last log entry. `null` if the log is empty. */
  readonly log_seq: number | null
}

export interface SelectionQuery {
  /** Label digest of the dimension. */
  readonly dimension: Uint8Array
  /** Empty means every store, and also governed decisions, which belong to no store. */
  readonly store_ids: readonly string[]
}

interface SelectionOptions {
  readonly limit?: number
  /** Called between pages, so that other work gets the event loop. */
  readonly pace: () => Promise<void> | undefined
}

/** Rows per query; longer queries would delay others. */
const PAGE_ROWS = 1_000

export async function selectDecisions(
  db: TenantDb,
  { dimension, store_ids }: SelectionQuery,
  { limit = MANIFOLD_DECISIONS_MAX, pace }: SelectionOptions,
): Promise<Selection> {
  const inPages = <T extends { seq: number }>(list: (page: Page) => Promise<T[]>) =>
    listNewest(list, { limit, pace })
  const trail = await inPages((page) => listTrail(db, store_ids, page))
  const everyStore = store_ids.length === 0
  const governed = everyStore ? await inPages((page) => listGoverned(db, dimension, page)) : []
  const total =
    (trail.length < limit ? trail.length : await countTrail(db, store_ids)) +
    (governed.length < limit ? governed.length : await countGoverned(db, dimension))
  const marked = [
    ...trail.map((row) => ({ row, start: toHex(row.start), governed: null })),
    ...governed.map((row) => ({ row, start: '', governed: row })),
  ]
  const chosen = marked.sort((a, b) => b.row.seq - a.row.seq).slice(0, limit)
  const marks = chosen.map(({ row, start }) => `${row.seq} ${row.secret_no} ${start}`)
  return {
    items: chosen.map(({ row, governed: fields }) => ({
      seq: row.seq,
      decision_id: toHex(row.decision_id),
      governed: fields,
    })),
    total,
    fingerprint: createHash('sha256').update(marks.join('\n')).digest('hex'),
    log_seq: await findLastSeq(db),
  }
}

async function listNewest<T extends { seq: number }>(
  list: (page: Page) => Promise<T[]>,
  { limit, pace }: Required<SelectionOptions>,
): Promise<T[]> {
  const rows: T[] = []
  for (let before = Number.MAX_SAFE_INTEGER; rows.length < limit; ) {
    const wanted = Math.min(PAGE_ROWS, limit - rows.length)
    const page = await list({ before, limit: wanted })
    rows.push(...page)
    const last = page.at(-1)
    if (!last || page.length < wanted) break
    before = last.seq
    await pace()
  }
  return rows
}
