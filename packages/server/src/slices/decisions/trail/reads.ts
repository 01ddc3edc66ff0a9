// Reads of the decision trail: one, a page, totals, and the export as a stream. The filters of list
// and export are what a request asks for, limited to the stores its credential reaches.

import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { type Decision, type decisions, type InputOf, limits } from '@custos/contract'
import { DAY_US, formatTime, parseDateOrTime } from '../../../platform/clock.ts'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import { type Call, type Handler, type Principal, streamed } from '../../../platform/kernel/call.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { readCursor, writeCursor } from '../../../platform/page.ts'
import { findHead, seqAt } from '../../gcrumbs/index.ts'
import {
  type DecisionFilter,
  type DecisionRow,
  findDecision,
  listBySeqs,
  listDecisions,
  sumDecisions,
} from './decisions.sql.ts'
import {
  openResolved,
  openVisible,
  type ResolvedDecision,
  retryWhileErasing,
  showDecision,
} from './open.ts'

/** `none` if no decision can match, because the credential may not see the store. */
type VisibleFilter = DecisionFilter | 'none'

/** Maximum delay between the time that a decision shows and its log entry (see log.ts). */
const LOG_DELAY_US = 60_000_000

async function buildDecisionFilter(
  kernel: Kernel,
  principal: Principal,
  db: TenantDb,
  query: InputOf<typeof decisions.list>['query'],
): Promise<VisibleFilter> {
  const store_ids = visibleStores(principal, query.store_id)
  if (store_ids?.length === 0) return 'none'
  const { session_id, model_id } = query
  const session =
    session_id === undefined
      ? {}
      : { session_label: await sessionLabel(kernel, db.tenant_id, session_id) }
  return {
    ...(store_ids === undefined ? {} : { store_ids }),
    ...session,
    ...(model_id === undefined ? {} : { model_id }),
    ...(await timeFilter(db, query)),
  }
}

/** Whether a credential limited to stores may read the decision. */
export const isVisible = (principal: Principal, row: Pick<DecisionRow, 'store_id'>): boolean =>
  principal.allowed_stores.length === 0 || principal.allowed_stores.includes(row.store_id)

function visibleStores(
  principal: Principal,
  store_id: string | undefined,
): readonly string[] | undefined {
  const allowed = principal.allowed_stores
  if (store_id === undefined) return allowed.length === 0 ? undefined : allowed
  return isVisible(principal, { store_id }) ? [store_id] : []
}

async function sessionLabel(kernel: Kernel, tenant_id: string, text: string): Promise<Buffer> {
  return Buffer.from((await kernel.keyring.tenant(tenant_id)).label(text), 'hex')
}

// Times have no index, so they are mapped to a range of log positions.
async function timeFilter(
  db: TenantDb,
  { from, to }: Parameters<typeof buildDecisionFilter>[3],
): Promise<DecisionFilter> {
  const first = parseDateOrTime(from ?? '')
  const last = parseDateOrTime(to ?? '')
  const to_us = last && (last.is_day ? last.us + DAY_US - 1 : last.us)
  return {
    ...(first && { from_us: first.us, after_seq: await seqAt(db, first.us - 1) }),
    ...(to_us !== null && { to_us, before_seq: (await seqAt(db, to_us + LOG_DELAY_US)) + 1 }),
  }
}

/** Rows opened per chunk; other requests run between the chunks of a large page. */
const CHUNK_ROWS = 50
/** A page ends early at this many sealed bytes: a thousand decisions of 8 MiB fit in no memory. */
const PAGE_BYTES_MAX = 64 * 1024 * 1024

const DECISION_ID = /^[0-9a-f]{32}$/

/** The row of a decision that the caller may see; undefined also if the id is malformed. */
export async function findVisibleRow(
  db: TenantDb,
  principal: Principal,
  decision_id: string,
): Promise<DecisionRow | undefined> {
  const row = await findDecisionRow(db, decision_id)
  return row && isVisible(principal, row) ? row : undefined
}

export async function findDecisionRow(db: TenantDb, decision_id: string) {
  if (!DECISION_ID.test(decision_id)) return undefined
  return findDecision(db, Buffer.from(decision_id, 'hex'))
}

/** A decision as every read shows it. */
export const findDecisionView = (
  kernel: Kernel,
  tenant_id: string,
  decision_id: string,
): Promise<Decision | undefined> =>
  retryWhileErasing(() =>
    kernel.db.read(tenant_id, async (db) => {
      const row = await findDecisionRow(db, decision_id)
      const [shown] = row ? await showRows(kernel, db, [row]) : []
      return shown
    }),
  )

const showRows = async (
  kernel: Kernel,
  db: TenantDb,
  rows: readonly DecisionRow[],
): Promise<Decision[]> =>
  (await openVisible(kernel, db, rows)).map((opened) => showResolved(db.tenant_id, opened))

export const showResolved = (tenant_id: string, opened: ResolvedDecision): Decision =>
  showDecision({ tenant_id, ...opened })

export const get: Handler<typeof decisions.get> = async (call, { params }) => {
  const shown = await retryWhileErasing(() =>
    call.read(async (db) => {
      const row = await findVisibleRow(db, call.principal, params.decision_id)
      return row ? showRows(call.kernel, db, [row]) : []
    }),
  )
  return shown[0] ?? call.refuse('decision_not_found')
}

export const list: Handler<typeof decisions.list> = async (call, { query }) => {
  const limit = query.limit ?? limits.page.default
  const offset = query.cursor === undefined ? (query.offset ?? 0) : 0
  const { shown, next } = await retryWhileErasing(() =>
    call.read(async (db) => {
      const which = await buildDecisionFilter(call.kernel, call.principal, db, query)
      const page = { order: 'desc', limit, offset } as const
      return showPage(
        call.kernel,
        db,
        filterFromCursor(which, query.cursor, call.operation.id),
        page,
      )
    }),
  )
  return {
    decisions: shown,
    count: shown.length,
    limit,
    offset,
    next_cursor: next === null ? null : writeCursor(call.operation.id, `s${next}`),
  }
}

function filterFromCursor(
  which: VisibleFilter,
  cursor: string | undefined,
  list: string,
): VisibleFilter {
  if (cursor === undefined) return which
  const at = Number(readCursor(cursor, list, /^s(\d{1,15})$/)[1])
  if (which === 'none') return which
  return { ...which, before_seq: Math.min(which.before_seq ?? at, at) }
}

/**
 * Shows up to `limit` decisions in log order, opened and resolved. `next` is the seq to continue
 * after, or `null` at the end.
 */
export async function showPage(
  kernel: Kernel,
  db: TenantDb,
  which: VisibleFilter,
  page: Parameters<typeof listDecisions>[2],
): Promise<{ shown: Decision[]; next: number | null }> {
  const shown: Decision[] = []
  if (which === 'none') return { shown, next: null }
  let { offset = 0 } = page
  let [bytes, next] = [0, null as number | null]
  while (shown.length < page.limit && bytes < PAGE_BYTES_MAX) {
    const limit = Math.min(CHUNK_ROWS, page.limit - shown.length)
    const rows = await listDecisions(db, filterBeyond(which, page.order, next), {
      ...page,
      limit,
      offset,
    })
    shown.push(...(await showRows(kernel, db, rows)))
    for (const row of rows) bytes += row.sealed.length
    if (rows.length < limit) return { shown, next: null }
    next = rows.at(-1)?.seq ?? null
    offset = 0
    await yieldToOthers()
  }
  return { shown, next }
}

const filterBeyond = (
  filter: DecisionFilter,
  order: 'asc' | 'desc',
  seq: number | null,
): DecisionFilter => {
  if (seq === null) return filter
  return { ...filter, ...(order === 'asc' ? { after_seq: seq } : { before_seq: seq }) }
}

const THOUSANDTHS = 1_000

export const stats: Handler<typeof decisions.stats> = async (call) => {
  const sums = await sumVisible(call)
  const total = sums?.total ?? 0
  return {
    total,
    total_decisions: total,
    models_used: sums?.models ?? 0,
    stores_used: sums?.stores ?? 0,
    sessions: sums?.sessions ?? 0,
    avg_latency_ms: round(sums?.latency_ms ?? null),
    total_tokens: sums?.tokens ?? 0,
    first_decision: timeOf(sums?.first_us ?? null),
    last_decision: timeOf(sums?.last_us ?? null),
  }
}

async function sumVisible(call: Call<typeof decisions.stats>) {
  const { kernel, principal, tenant_id } = call
  const which = await call.read((db) => buildDecisionFilter(kernel, principal, db, {}))
  if (which === 'none') return undefined
  const [sums] = await kernel.db.sums(tenant_id, (db) => sumDecisions(db, which))
  return sums
}

function round(ms: number | null): number | null {
  if (ms === null || !Number.isFinite(ms)) return null
  const rounded = Math.round(ms * THOUSANDTHS) / THOUSANDTHS
  return Number.isFinite(rounded) ? rounded : ms
}

const timeOf = (us: number | null): string | null => (us === null ? null : formatTime(us))

const BATCH_ROWS = 50

export const exportDecisions: Handler<typeof decisions.export> = async (call, { query }) =>
  streamed({
    stream: streamDecisions(call, query),
    filename: `decisions_${call.tenant_id}.ndjson`,
  })

/** Yields one line per decision; reads a batch once the reader has taken the previous one. */
async function* streamDecisions(
  call: Call<typeof decisions.export>,
  query: InputOf<typeof decisions.export>['query'],
): AsyncGenerator<string> {
  const size = (await call.read(findHead))?.size ?? 0
  for (let after: number | null = -1; after !== null; ) {
    const { shown, next } = await readBatch(call, query, { after, size })
    for (const decision of shown) yield `${JSON.stringify(decision)}\n`
    after = next
  }
}

/** Reads only decisions logged before the export began, so that exporting a growing trail ends. */
const readBatch = (
  call: Call<typeof decisions.export>,
  query: InputOf<typeof decisions.export>['query'],
  { after, size }: { after: number; size: number },
) =>
  retryWhileErasing(() =>
    call.read(async (db) => {
      const which = await buildDecisionFilter(call.kernel, call.principal, db, query)
      const range =
        which === 'none'
          ? which
          : {
              ...which,
              after_seq: Math.max(which.after_seq ?? -1, after),
              before_seq: Math.min(which.before_seq ?? size, size),
            }
      return showPage(call.kernel, db, range, { order: 'asc', limit: BATCH_ROWS })
    }),
  )

/**
 * Shows decisions by log position, at most a page, in log order and as they are stored. Includes
 * expired memories: data subjects are told of them too, until they are erased.
 */
export const showBySeqs = (
  kernel: Kernel,
  tenant_id: string,
  seqs: readonly number[],
): Promise<Decision[]> =>
  retryWhileErasing(() =>
    kernel.db.read(tenant_id, async (db) => {
      const opened = await openResolved(kernel, db, await listBySeqs(db, seqs))
      return opened.map((decision) => showResolved(tenant_id, decision))
    }),
  )
