// Which decisions are laid out: one selection, the newest first, as one snapshot shows them.

import { createHash } from 'node:crypto'
import { MANIFOLD_DECISIONS_MAX } from '@custos/contract'
import { toHex } from '../../platform/bytes.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { findHead } from '../gcrumbs/index.ts'
import { countGoverned, countTrail, listGoverned, markTrail, type Page } from './manifold.sql.ts'

/** What a governed decision has and one of the trail has not. */
export interface JudgmentFields {
  readonly agent_no: number
  readonly decision: string
  readonly tag: string
  readonly outcome: string | null
}

export interface SelectedDecision {
  readonly seq: number
  readonly decision_id: string
  /** null: one of the decision trail. */
  readonly judged: JudgmentFields | null
}

export interface Selection {
  /** Falling by seq. */
  readonly items: readonly SelectedDecision[]
  /** How many there are to select from. */
  readonly total: number
  /** Another one as soon as a decision came, was replaced, or was sealed again. */
  readonly fingerprint: string
  /** The last entry of the log on this snapshot. */
  readonly log_seq: number | null
}

export interface SelectionQuery {
  /** The label of the dimension. */
  readonly dimension: Uint8Array
  /** Empty: every store of the tenant, and what belongs to none. */
  readonly store_ids: readonly string[]
}

interface Terms {
  readonly limit?: number
  readonly pace: () => Promise<void> | undefined
}

/** Rows of one query: long ones hold up others. */
const PAGE_ROWS = 1_000

/** The last entry of the log; null: the log is empty. */
export async function lastEntry(db: TenantDb): Promise<number | null> {
  const head = await findHead(db)
  return head && head.size > 0 ? head.size - 1 : null
}

export async function select(
  db: TenantDb,
  { dimension, store_ids }: SelectionQuery,
  { limit = MANIFOLD_DECISIONS_MAX, pace }: Terms,
): Promise<Selection> {
  const inPages = <T extends { seq: number }>(list: (page: Page) => Promise<T[]>) =>
    newest(list, { limit, pace })
  const trail = await inPages((page) => markTrail(db, store_ids, page))
  const whole = store_ids.length === 0
  const governed = whole ? await inPages((page) => listGoverned(db, dimension, page)) : []
  const total =
    (trail.length < limit ? trail.length : await countTrail(db, store_ids)) +
    (governed.length < limit ? governed.length : await countGoverned(db, dimension))
  const marked = [
    ...trail.map((row) => ({ row, start: toHex(row.start), judged: null })),
    ...governed.map((row) => ({ row, start: '', judged: row })),
  ]
  const chosen = marked.sort((a, b) => b.row.seq - a.row.seq).slice(0, limit)
  const marks = chosen.map(({ row, start }) => `${row.seq} ${row.secret_no} ${start}`)
  return {
    items: chosen.map(({ row, judged }) => ({
      seq: row.seq,
      decision_id: toHex(row.decision_id),
      judged,
    })),
    total,
    fingerprint: createHash('sha256').update(marks.join('\n')).digest('hex'),
    log_seq: await lastEntry(db),
  }
}

async function newest<T extends { seq: number }>(
  list: (page: Page) => Promise<T[]>,
  { limit, pace }: Required<Terms>,
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
