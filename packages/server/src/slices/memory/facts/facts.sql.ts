// SQL of facts, each joined with its current validity, and of tombstones.

import type { Builder } from '../../../platform/db/builder.ts'
import {
  firstItems,
  insertRowsStatement,
  lateralByRef,
  refsStatement,
  runInBatches,
  statementPerCount,
  unnestRefs,
} from '../../../platform/db/bulk-statements.ts'
import type { Row } from '../../../platform/db/schema/tables.ts'
import { statement } from '../../../platform/db/statement.ts'
import { from, type TenantDb, type Tx } from '../../../platform/db/tenant-db.ts'
import type { StorePart } from '../../../platform/namespace.ts'
import { isUnexpired } from '../stores/expiries.sql.ts'

/** `facts.state`; a fact in state ERASING is hidden from every read. */
export const LIVE = 0
export const ERASING = 1

/** Statements are prepared for each number of refs up to this one. */
export const REFS_AT_ONCE = 32

/** A fact's row without its sealed document, and its current validity. */
export interface FactHead extends Omit<Row<'facts'>, 'sealed'> {
  readonly from_seq: number
  readonly valid_from_us: number
  readonly valid_until_us: number | null
  readonly predecessor: number | null
  readonly superseded_by: number | null
}

export interface FactRow extends FactHead {
  readonly sealed: Uint8Array
}

const HEAD_COLUMNS = [
  'facts.ref',
  'facts.store_id',
  'facts.namespace',
  'facts.written_seq',
  'facts.written_us',
  'facts.token_count',
  'facts.state',
  'facts.sealed_seq',
  'facts.space_mark',
  'validity.from_seq',
  'validity.valid_from_us',
  'validity.valid_until_us',
  'validity.predecessor',
  'validity.superseded_by',
] as const

export const FACT_COLUMNS = [...HEAD_COLUMNS, 'facts.sealed'] as const

/** Facts, each with its current validity version. */
export const currentFacts = (k: Builder, tenant_id: string) =>
  k
    .selectFrom('facts')
    .innerJoin('validity', (join) =>
      join
        .onRef('validity.tenant_id', '=', 'facts.tenant_id')
        .onRef('validity.ref', '=', 'facts.ref')
        .on('validity.until_seq', 'is', null),
    )
    .where('facts.tenant_id', '=', tenant_id)

export const insertFactRows = insertRowsStatement<Row<'facts'>>((k, rows, tenant_id) =>
  k.insertInto('facts').values(
    rows.map((row) => ({
      tenant_id,
      ref: row.ref,
      store_id: row.store_id,
      namespace: row.namespace,
      written_seq: row.written_seq,
      written_us: row.written_us,
      token_count: row.token_count,
      state: row.state,
      sealed_seq: row.sealed_seq,
      space_mark: row.space_mark,
      sealed: row.sealed,
    })),
  ),
)

const factStatement = statement<{ ref: number }>()((k, p) =>
  currentFacts(k, p.tenant_id).select(FACT_COLUMNS).where('facts.ref', '=', p.ref),
)

/** Returns the fact in any state. */
export const findFact = (db: TenantDb, ref: number): Promise<FactRow | undefined> =>
  db.firstOf(factStatement, { ref })

const factsStatement = statementPerCount((count) =>
  statement<{ refs: readonly number[] }>()(
    (k, p) =>
      currentFacts(k, p.tenant_id)
        .select(FACT_COLUMNS)
        .where('facts.ref', 'in', firstItems(p.refs, count)),
    (k, p) =>
      lateralByRef(k, unnestRefs(p.refs), (ref) =>
        currentFacts(k, p.tenant_id).select(FACT_COLUMNS).where('facts.ref', '=', ref),
      ),
  ),
)

const headsStatement = statementPerCount((count) =>
  statement<{ refs: readonly number[] }>()(
    (k, p) =>
      currentFacts(k, p.tenant_id)
        .select(HEAD_COLUMNS)
        .where('facts.ref', 'in', firstItems(p.refs, count)),
    (k, p) =>
      lateralByRef(k, unnestRefs(p.refs), (ref) =>
        currentFacts(k, p.tenant_id).select(HEAD_COLUMNS).where('facts.ref', '=', ref),
      ),
  ),
)

/** Returns facts in any state, unordered. */
export const findFacts = (db: TenantDb, refs: readonly number[]): Promise<FactRow[]> =>
  byRefs(refs, (some) => db.allOf(factsStatement(some.length), { refs: some }))

/** Returns rows of facts in any state, without their sealed documents, unordered. */
export const findFactHeads = (db: TenantDb, refs: readonly number[]): Promise<FactHead[]> =>
  byRefs(refs, (some) => db.allOf(headsStatement(some.length), { refs: some }))

const byRefs = async <T>(
  refs: readonly number[],
  query: (some: readonly number[]) => Promise<T[]>,
): Promise<T[]> => (await runInBatches(refs, REFS_AT_ONCE, query)).flat()

interface PageStatementQuery {
  readonly store_id: string
  readonly after: number
  readonly limit: number
}

/** Prepares the page statements of one order: for a whole store, its root, and a namespace. */
function pageStatements(newest: boolean) {
  const pageOf = (k: Builder, p: PageStatementQuery & { tenant_id: string }) =>
    currentFacts(k, p.tenant_id)
      .select(FACT_COLUMNS)
      .where('facts.store_id', '=', p.store_id)
      .where('facts.ref', newest ? '<' : '>', p.after)
      .orderBy('facts.ref', newest ? 'desc' : 'asc')
      .limit(p.limit)
  return {
    store: statement<PageStatementQuery>()(pageOf),
    root: statement<PageStatementQuery>()((k, p) =>
      pageOf(k, p).where('facts.namespace', 'is', null),
    ),
    namespace: statement<PageStatementQuery & { namespace: string }>()((k, p) =>
      pageOf(k, p).where('facts.namespace', '=', p.namespace),
    ),
  }
}

const OLDEST_FIRST = pageStatements(false)
const NEWEST_FIRST = pageStatements(true)

/** Facts in any state with ref > `after`, ascending; newest first: ref < `after`, descending. */
export function listFactsAfter(
  db: TenantDb,
  { store_id, namespace }: StorePart,
  { newest, ...page }: { after: number; limit: number; newest?: boolean },
): Promise<FactRow[]> {
  const statements = newest ? NEWEST_FIRST : OLDEST_FIRST
  if (namespace === undefined) return db.allOf(statements.store, { store_id, ...page })
  if (namespace === null) return db.allOf(statements.root, { store_id, ...page })
  return db.allOf(statements.namespace, { store_id, namespace, ...page })
}

/** A cursor over the facts of a store, ordered by the log position of their seal, then by ref. */
export interface SealPlace {
  readonly sealed_seq: number
  readonly ref: number
}

/** The cursor before all facts that were written or embedded after log position `seq`. */
export const placeAfter = (seq: number): SealPlace => ({
  sealed_seq: seq,
  ref: Number.MAX_SAFE_INTEGER,
})

// With an order by ref alone, the engine would read the whole store to find nothing new.
export const sinceStatement = statement<SealPlace & Omit<PageStatementQuery, 'after'>>()(
  (k, p) =>
    currentFacts(k, p.tenant_id)
      .select(FACT_COLUMNS)
      .where('facts.store_id', '=', p.store_id)
      // Implied by the next condition; the engine can use an index only for this one.
      .where('facts.sealed_seq', '>=', p.sealed_seq)
      .where((e) => e.or([e('facts.sealed_seq', '>', p.sealed_seq), e('facts.ref', '>', p.ref)]))
      .orderBy('facts.sealed_seq')
      .orderBy('facts.ref')
      .limit(p.limit),
  (k, p) =>
    lateralByRef(
      k,
      k
        .selectFrom('facts')
        .select('ref')
        .where('tenant_id', '=', p.tenant_id)
        .where('store_id', '=', p.store_id)
        .where('sealed_seq', '>=', p.sealed_seq)
        .where((e) => e.or([e('sealed_seq', '>', p.sealed_seq), e('ref', '>', p.ref)]))
        .orderBy('sealed_seq')
        .orderBy('ref')
        .limit(p.limit)
        .as('wanted'),
      (ref) => currentFacts(k, p.tenant_id).select(FACT_COLUMNS).where('facts.ref', '=', ref),
    )
      .orderBy('found.sealed_seq')
      .orderBy('found.ref'),
)

/** Returns facts of a store in any state after the cursor, in cursor order. */
export const listFactsSince = (
  db: TenantDb,
  store_id: string,
  { sealed_seq, ref }: SealPlace,
  limit: number,
): Promise<FactRow[]> => db.allOf(sinceStatement, { store_id, sealed_seq, ref, limit })

/** Finds the live, unexpired fact at `offset`, ordered by ref or newest first. */
export function findRefAtOffset(
  db: TenantDb,
  { store_id, namespace }: StorePart,
  { offset, at_us, newest }: { offset: number; at_us: number; newest?: boolean },
): Promise<{ ref: number } | undefined> {
  const live = from(db, 'facts')
    .select('ref')
    .where('store_id', '=', store_id)
    .where('state', '=', LIVE)
    .where(isUnexpired(db, 'facts', { store_id, at_us }))
    .orderBy('ref', newest ? 'desc' : 'asc')
    .limit(1)
    .offset(offset)
  if (namespace === undefined) return db.first(live)
  return db.first(live.where('namespace', namespace === null ? 'is' : '=', namespace))
}

/** Refs of a store in any state with ref > `after`, ascending. */
export async function listRefsOfStore(
  db: TenantDb,
  store_id: string,
  after: number,
  limit: number,
): Promise<number[]> {
  const rows = await db.all(
    from(db, 'facts')
      .select('ref')
      .where('store_id', '=', store_id)
      .where('ref', '>', after)
      .orderBy('ref')
      .limit(limit),
  )
  return rows.map(({ ref }) => ref)
}

const updateStatesStatement = refsStatement<{ before: number; after: number }>()((k, p, isListed) =>
  k
    .updateTable('facts')
    .set({ state: p.after })
    .where('tenant_id', '=', p.tenant_id)
    .where(isListed)
    .where('state', '=', p.before)
    .returning('ref'),
)

/** Changes the state of the facts that are in state `before`; returns the refs it changed. */
export const updateStates = async (
  tx: Tx,
  refs: readonly number[],
  change: { before: number; after: number },
): Promise<number[]> => (await updateStatesStatement.all(tx, refs, change)).map(({ ref }) => ref)

const deleteStatement = refsStatement()((k, p, isListed) =>
  k.deleteFrom('facts').where('tenant_id', '=', p.tenant_id).where(isListed),
)

export const deleteFacts = (tx: Tx, refs: readonly number[]) => deleteStatement.run(tx, refs, {})

/** Keeps the existing tombstone of a ref that has one. */
export const insertTombstones = insertRowsStatement<Row<'tombstones'>>((k, rows, tenant_id) =>
  k
    .insertInto('tombstones')
    .values(
      rows.map((row) => ({
        tenant_id,
        ref: row.ref,
        store_id: row.store_id,
        written_seq: row.written_seq,
        erased_seq: row.erased_seq,
        erased_us: row.erased_us,
        certificate_id: row.certificate_id,
      })),
    )
    .onConflict((conflict) => conflict.doNothing()),
)

const certificateStatement = statement<{ ref: number; certificate_id: string }>()((k, p) =>
  k
    .updateTable('tombstones')
    .set({ certificate_id: p.certificate_id })
    .where('tenant_id', '=', p.tenant_id)
    .where('ref', '=', p.ref),
)

export const updateTombstoneCertificate = (tx: Tx, ref: number, certificate_id: string) =>
  tx.runOf(certificateStatement, { ref, certificate_id })

const TOMBSTONE_COLUMNS = [
  'ref',
  'store_id',
  'written_seq',
  'erased_seq',
  'erased_us',
  'certificate_id',
] as const

const tombstonesStatement = statementPerCount((count) =>
  statement<{ refs: readonly number[] }>()(
    (k, p) => tombstones(k, p.tenant_id).where('ref', 'in', firstItems(p.refs, count)),
    (k, p) =>
      lateralByRef(k, unnestRefs(p.refs), (ref) =>
        tombstones(k, p.tenant_id).where('ref', '=', ref),
      ),
  ),
)

const tombstones = (k: Builder, tenant_id: string) =>
  k.selectFrom('tombstones').select(TOMBSTONE_COLUMNS).where('tenant_id', '=', tenant_id)

export const findTombstones = (
  db: TenantDb,
  refs: readonly number[],
): Promise<Row<'tombstones'>[]> =>
  byRefs(refs, (some) => db.allOf(tombstonesStatement(some.length), { refs: some }))

/** Refs erased from a store after log position `seq`. */
export const listErasedSince = (db: TenantDb, store_id: string, seq: number) =>
  db.all(
    from(db, 'tombstones')
      .select('ref')
      .where('store_id', '=', store_id)
      .where('erased_seq', '>', seq),
  )

const statesStatement = statementPerCount((count) =>
  statement<{ refs: readonly number[] }>()(
    (k, p) => states(k, p.tenant_id).where('ref', 'in', firstItems(p.refs, count)),
    (k, p) =>
      lateralByRef(k, unnestRefs(p.refs), (ref) => states(k, p.tenant_id).where('ref', '=', ref)),
  ),
)

const states = (k: Builder, tenant_id: string) =>
  k.selectFrom('facts').select(['ref', 'state']).where('tenant_id', '=', tenant_id)

export const findFactStates = (
  db: TenantDb,
  refs: readonly number[],
): Promise<{ ref: number; state: number }[]> =>
  byRefs(refs, (some) => db.allOf(statesStatement(some.length), { refs: some }))

/** Returns whether all these facts are live. Each ref must be passed once. */
export async function areLive(db: TenantDb, refs: readonly number[]): Promise<boolean> {
  const states = await findFactStates(db, refs)
  return states.length === refs.length && states.every(({ state }) => state === LIVE)
}

/**
 * The highest ref that a fact of the tenant has or had; 0 if there is none. Ignores tombstones of
 * refs that were never facts: a decision can label any number a ref, and such a label can be
 * erased.
 */
export async function findHighestRef(db: TenantDb): Promise<number> {
  const fact = await db.first(from(db, 'facts').select((e) => e.fn.max('ref').as('ref')))
  const tombstone = await db.first(
    from(db, 'tombstones')
      .select((e) => e.fn.max('ref').as('ref'))
      .where('written_seq', 'is not', null),
  )
  return Math.max(Number(fact?.ref ?? 0), Number(tombstone?.ref ?? 0))
}

/** Facts of the store whose erasure is under way. */
export async function countErasing(db: TenantDb, store_id: string): Promise<number> {
  const row = await db.first(
    from(db, 'facts')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('store_id', '=', store_id)
      .where((e) => e('state', '=', e.lit(1))),
  )
  return Number(row?.count ?? 0)
}

/** Maximum number of refs in one query of `listRefsWithin`. */
const IN_MAX = 500

/** Returns the refs that are or were facts of one of the stores. Pass at most 1,000 stores. */
export async function listRefsWithin(
  db: TenantDb,
  refs: readonly number[],
  store_ids: readonly string[],
): Promise<number[]> {
  const within: number[] = []
  for (let at = 0; at < refs.length; at += IN_MAX) {
    const chunk = refs.slice(at, at + IN_MAX)
    for (const table of ['facts', 'tombstones'] as const) {
      const found = from(db, table).select('ref').where('ref', 'in', chunk)
      const rows = await db.all(found.where('store_id', 'in', store_ids))
      within.push(...rows.map(({ ref }) => ref))
    }
  }
  return within
}
