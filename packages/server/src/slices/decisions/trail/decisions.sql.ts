// SQL of decisions: the rows, and the memories that each decision used.

import { Conflict } from '../../../platform/concurrency.ts'
import { insertRowsStatement, refsStatement } from '../../../platform/db/bulk-statements.ts'
import type { Tables } from '../../../platform/db/schema/tables.ts'
import { statement } from '../../../platform/db/statement.ts'
import { from, type TenantDb, type Tx, update } from '../../../platform/db/tenant-db.ts'
import { REVISION_BYTES, readRevision } from './document.ts'

export type DecisionRow = Omit<Tables['decisions'], 'tenant_id'>

const COLUMNS = [
  'seq',
  'decision_id',
  'logged_us',
  'store_id',
  'model_id',
  'session_label',
  'secret_no',
  'token_count',
  'latency_ms',
  'memory_seq',
  'sealed',
] as const

const IN_MAX = 500

const insertRows = insertRowsStatement<DecisionRow>((k, rows, tenant_id) =>
  k
    .insertInto('decisions')
    .values(
      rows.map((row) => ({
        tenant_id,
        seq: row.seq,
        decision_id: row.decision_id,
        logged_us: row.logged_us,
        store_id: row.store_id,
        model_id: row.model_id,
        session_label: row.session_label,
        secret_no: row.secret_no,
        token_count: row.token_count,
        latency_ms: row.latency_ms,
        memory_seq: row.memory_seq,
        sealed: row.sealed,
      })),
    )
    .onConflict((conflict) => conflict.doNothing()),
)

/** Throws a conflict `decision_id` if another decision has one of the ids. */
export const insertDecisions = Object.assign(
  async (tx: Tx, rows: readonly DecisionRow[]) => {
    const inserted = await insertRows(tx, rows)
    if (inserted.reduce((sum, count) => sum + count, 0) !== rows.length)
      throw new Conflict('decision_id')
  },
  { table: insertRows.table },
)

/** One row per distinct ref. `bound` means that the fact's secret is part of the decision's key. */
export const insertUses = insertRowsStatement<Omit<Tables['decision_facts'], 'tenant_id'>>(
  (k, rows, tenant_id) =>
    k.insertInto('decision_facts').values(
      rows.map((row) => ({
        tenant_id,
        decision_seq: row.decision_seq,
        ref: row.ref,
        bound: row.bound,
      })),
    ),
)

const findStatement = statement<{ decision_id: Uint8Array }>()((k, p) =>
  k
    .selectFrom('decisions')
    .select(COLUMNS)
    .where('tenant_id', '=', p.tenant_id)
    .where('decision_id', '=', p.decision_id),
)

export const findDecision = (db: TenantDb, decision_id: Uint8Array) =>
  db.firstOf(findStatement, { decision_id })

/** Selects decisions. Seq bounds are exclusive, times inclusive; absent means no condition. */
export interface DecisionFilter {
  readonly store_ids?: readonly string[]
  readonly session_label?: Uint8Array
  readonly model_id?: string
  readonly from_us?: number
  readonly to_us?: number
  readonly after_seq?: number
  readonly before_seq?: number
}

function filterDecisions(db: TenantDb, filter: DecisionFilter) {
  let query = from(db, 'decisions')
  const { store_ids, session_label, model_id, from_us, to_us, after_seq, before_seq } = filter
  if (store_ids !== undefined) query = query.where('store_id', 'in', store_ids)
  if (session_label !== undefined) query = query.where('session_label', '=', session_label)
  if (model_id !== undefined) query = query.where('model_id', '=', model_id)
  if (from_us !== undefined) query = query.where('logged_us', '>=', from_us)
  if (to_us !== undefined) query = query.where('logged_us', '<=', to_us)
  if (after_seq !== undefined) query = query.where('seq', '>', after_seq)
  if (before_seq !== undefined) query = query.where('seq', '<', before_seq)
  return query
}

/** Lists rows in log order. */
export const listDecisions = (
  db: TenantDb,
  filter: DecisionFilter,
  page: { order: 'asc' | 'desc'; limit: number; offset?: number },
) =>
  db.all(
    filterDecisions(db, filter)
      .select(COLUMNS)
      .orderBy('seq', page.order)
      .limit(page.limit)
      .offset(page.offset ?? 0),
  )

/** Totals of the tenant's decisions. */
export const sumDecisions = (db: TenantDb, filter: DecisionFilter) =>
  filterDecisions(db, filter).select((e) => [
    e.fn.countAll<number>().as('total'),
    e.fn.count<number>('model_id').distinct().as('models'),
    e.fn.count<number>('store_id').distinct().as('stores'),
    e.fn.count<number>('session_label').distinct().as('sessions'),
    e.fn.avg<number | null>('latency_ms').as('latency_ms'),
    // As floating point: a sum of counts may exceed 2^53.
    e.fn.sum<number | null>(e.cast('token_count', 'double precision')).as('tokens'),
    e.fn.min<number | null>('logged_us').as('first_us'),
    e.fn.max<number | null>('logged_us').as('last_us'),
  ])

/** Ascending seqs above `after_seq` of decisions that used any of the refs. */
export async function listDecisionsUsing(
  db: TenantDb,
  refs: readonly number[],
  page: { after_seq: number; limit: number },
): Promise<number[]> {
  const seqs = new Set<number>()
  for (let at = 0; at < refs.length; at += IN_MAX) {
    const rows = await db.all(
      from(db, 'decision_facts')
        .select('decision_seq')
        .distinct()
        .where('ref', 'in', refs.slice(at, at + IN_MAX))
        .where('decision_seq', '>', page.after_seq)
        .orderBy('decision_seq')
        .limit(page.limit),
    )
    for (const row of rows) seqs.add(row.decision_seq)
  }
  return [...seqs].sort((a, b) => a - b).slice(0, page.limit)
}

const usedStatement = refsStatement()((k, p, isListed) =>
  k
    .selectFrom('decision_facts')
    .select('ref')
    .distinct()
    .where('tenant_id', '=', p.tenant_id)
    .where(isListed),
)

/** Returns the refs that a decision used. */
export const listUsedAmong = async (db: TenantDb, refs: readonly number[]): Promise<Set<number>> =>
  new Set((await usedStatement.all(db, refs, {})).map(({ ref }) => ref))

/** Rows with these seqs, ascending. Pass at most a page of seqs. */
export const listBySeqs = (db: TenantDb, seqs: readonly number[]) =>
  db.all(from(db, 'decisions').select(COLUMNS).where('seq', 'in', seqs).orderBy('seq'))

/** Replaces the sealed document. */
export const updateSealed = (
  tx: Tx,
  seq: number,
  change: { sealed: Uint8Array; secret_no: number },
) => tx.run(update(tx, 'decisions').set(change).where('seq', '=', seq))

/** Removes the session label, so that a filter by session no longer finds the decision. */
export const clearSession = (tx: Tx, seq: number) =>
  tx.run(update(tx, 'decisions').set({ session_label: null }).where('seq', '=', seq))

export async function unbindFacts(
  tx: Tx,
  decision_seq: number,
  refs: readonly number[],
): Promise<void> {
  for (let at = 0; at < refs.length; at += IN_MAX)
    await tx.run(
      update(tx, 'decision_facts')
        .set({ bound: 0 })
        .where('decision_seq', '=', decision_seq)
        .where('ref', 'in', refs.slice(at, at + IN_MAX)),
    )
}

/** Returns the refs that a later version supersedes. */
export async function listSuperseded(db: TenantDb, refs: readonly number[]): Promise<number[]> {
  const superseded: number[] = []
  for (let at = 0; at < refs.length; at += IN_MAX) {
    const rows = await db.all(
      from(db, 'validity')
        .select('ref')
        .where('ref', 'in', refs.slice(at, at + IN_MAX))
        .where('until_seq', 'is', null)
        .where('superseded_by', 'is not', null),
    )
    for (const row of rows) superseded.push(row.ref)
  }
  return superseded
}

/** The log entry at this position. */
export async function findLoggedRecord(db: TenantDb, seq: number) {
  const row = await db.first(from(db, 'breadcrumbs').select('record').where('seq', '=', seq))
  if (!row) return undefined
  // Only `appendCrumb` writes it; entries of other events have no digest.
  return JSON.parse(row.record) as { subject: string; payload: { record_digest?: string } }
}

/** The index of uses for one decision and these refs: `bound` by ref. */
export async function listUses(db: TenantDb, decision_seq: number, refs: readonly number[]) {
  const uses = new Map<number, boolean>()
  for (let at = 0; at < refs.length; at += IN_MAX) {
    const rows = await db.all(
      from(db, 'decision_facts')
        .select(['ref', 'bound'])
        .where('ref', 'in', refs.slice(at, at + IN_MAX))
        .where('decision_seq', '=', decision_seq),
    )
    for (const { ref, bound } of rows) uses.set(ref, bound === 1)
  }
  return uses
}

/** A decision of one of the stores that used the ref. */
export const findUseInStores = (db: TenantDb, ref: number, stores: readonly string[]) =>
  db.first(
    from(db, 'decision_facts')
      .innerJoin('decisions', (join) =>
        join
          .onRef('decisions.tenant_id', '=', 'decision_facts.tenant_id')
          .onRef('decisions.seq', '=', 'decision_facts.decision_seq'),
      )
      .select('decisions.store_id')
      .where('decision_facts.ref', '=', ref)
      .where('decisions.store_id', 'in', stores)
      .limit(1),
  )

/** A memory of one of the stores that the decision used. */
export const findFactInStores = (db: TenantDb, decision_seq: number, stores: readonly string[]) =>
  db.first(
    from(db, 'decision_facts')
      .innerJoin('facts', (join) =>
        join
          .onRef('facts.tenant_id', '=', 'decision_facts.tenant_id')
          .onRef('facts.ref', '=', 'decision_facts.ref'),
      )
      .select('facts.store_id')
      .where('decision_facts.decision_seq', '=', decision_seq)
      .where('facts.store_id', 'in', stores)
      .limit(1),
  )

/** Sizes in bytes of the sealed documents of a page of decisions, ascending by seq. */
export const listSizes = (db: TenantDb, seqs: readonly number[]) =>
  db.all(
    from(db, 'decisions')
      .select((e) => ['seq', e.fn<number>('length', ['sealed']).as('bytes')])
      .where('seq', 'in', seqs)
      .orderBy('seq'),
  )

/** Revisions by seq of those decisions that exist here. */
export async function findRevisions(
  db: TenantDb,
  seqs: readonly number[],
): Promise<Map<number, number>> {
  const rows = await db.all(
    from(db, 'decisions')
      .select((e) => [
        'seq',
        e.fn<Uint8Array>('substr', ['sealed', e.lit(1), e.lit(REVISION_BYTES)]).as('start'),
      ])
      .where('seq', 'in', seqs),
  )
  return new Map(rows.map(({ seq, start }) => [seq, readRevision(start)]))
}

/** Distinct refs, ascending, that the decision with this seq named. */
export async function listUsedRefs(db: TenantDb, decision_seq: number): Promise<number[]> {
  const rows = await db.all(
    from(db, 'decision_facts')
      .select('ref')
      .where('decision_seq', '=', decision_seq)
      .orderBy('ref'),
  )
  return rows.map(({ ref }) => ref)
}
