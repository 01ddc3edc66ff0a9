// SQL of facts and tombstones: sealed rows with the interval they hold in.

import { statement } from '../../platform/db/statement.ts'
import type { Tables } from '../../platform/db/tables.ts'
import {
  deleteFrom,
  from,
  insertInto,
  type TenantDb,
  type Tx,
  update,
} from '../../platform/db/tenant-db.ts'

type Row<T extends keyof Tables> = Omit<Tables[T], 'tenant_id'>
export type NewFactRow = Row<'facts'>
export type TombstoneRow = Row<'tombstones'>

/** `facts.state`: hidden from every read while its erasure is under way. */
export const LIVE = 0
export const ERASING = 1

const IN_MAX = 500

/** A fact and its current validity. */
export interface FactRow extends NewFactRow {
  readonly from_seq: number
  readonly valid_from_us: number
  readonly valid_until_us: number | null
  readonly predecessor: number | null
  readonly superseded_by: number | null
}

const FACT_COLUMNS = [
  'facts.ref',
  'facts.store_id',
  'facts.namespace',
  'facts.written_seq',
  'facts.written_us',
  'facts.token_count',
  'facts.state',
  'facts.sealed',
  'validity.from_seq',
  'validity.valid_from_us',
  'validity.valid_until_us',
  'validity.predecessor',
  'validity.superseded_by',
] as const

const insertFactStatement = statement<NewFactRow>()((k, p) =>
  k.insertInto('facts').values({
    tenant_id: p.tenant_id,
    ref: p.ref,
    store_id: p.store_id,
    namespace: p.namespace,
    written_seq: p.written_seq,
    written_us: p.written_us,
    token_count: p.token_count,
    state: p.state,
    sealed: p.sealed,
  }),
)

export const insertFact = (tx: Tx, row: NewFactRow) => tx.runOf(insertFactStatement, row)

const factStatement = statement<{ ref: number }>()((k, p) =>
  k
    .selectFrom('facts')
    .innerJoin('validity', (join) =>
      join
        .onRef('validity.tenant_id', '=', 'facts.tenant_id')
        .onRef('validity.ref', '=', 'facts.ref')
        .on('validity.until_seq', 'is', null),
    )
    .select(FACT_COLUMNS)
    .where('facts.tenant_id', '=', p.tenant_id)
    .where('facts.ref', '=', p.ref),
)

/** The fact in any state. */
export const findFact = (db: TenantDb, ref: number): Promise<FactRow | undefined> =>
  db.firstOf(factStatement, { ref })

export async function findFacts(db: TenantDb, refs: readonly number[]): Promise<FactRow[]> {
  const rows: FactRow[] = []
  for (const ref of refs) {
    const row = await findFact(db, ref)
    if (row) rows.push(row)
  }
  return rows
}

const pageStatement = statement<{ store_id: string; after: number; limit: number }>()((k, p) =>
  k
    .selectFrom('facts')
    .innerJoin('validity', (join) =>
      join
        .onRef('validity.tenant_id', '=', 'facts.tenant_id')
        .onRef('validity.ref', '=', 'facts.ref')
        .on('validity.until_seq', 'is', null),
    )
    .select(FACT_COLUMNS)
    .where('facts.tenant_id', '=', p.tenant_id)
    .where('facts.store_id', '=', p.store_id)
    .where('facts.ref', '>', p.after)
    .orderBy('facts.ref')
    .limit(p.limit),
)

/** Facts of a store in any state with ref > `after`, ascending. */
export const listFactsAfter = (
  db: TenantDb,
  store_id: string,
  { after, limit }: { after: number; limit: number },
): Promise<FactRow[]> => db.allOf(pageStatement, { store_id, after, limit })

const sinceStatement = statement<{
  store_id: string
  seq: number
  after: number
  limit: number
}>()((k, p) =>
  k
    .selectFrom('facts')
    .innerJoin('validity', (join) =>
      join
        .onRef('validity.tenant_id', '=', 'facts.tenant_id')
        .onRef('validity.ref', '=', 'facts.ref')
        .on('validity.until_seq', 'is', null),
    )
    .select(FACT_COLUMNS)
    .where('facts.tenant_id', '=', p.tenant_id)
    .where('facts.store_id', '=', p.store_id)
    .where('facts.written_seq', '>', p.seq)
    .where('facts.ref', '>', p.after)
    .orderBy('facts.ref')
    .limit(p.limit),
)

/** Facts of a store written after log position `seq`, by ref, from `after` on. */
export const listFactsSince = (
  db: TenantDb,
  store_id: string,
  page: { seq: number; after: number; limit: number },
): Promise<FactRow[]> => db.allOf(sinceStatement, { store_id, ...page })

/** The ref that `offset` live facts of the store stand before or at; undefined past the end. */
export const findRefAtOffset = (db: TenantDb, store_id: string, offset: number) =>
  db.first(
    from(db, 'facts')
      .select('ref')
      .where('store_id', '=', store_id)
      .where('state', '=', LIVE)
      .orderBy('ref')
      .limit(1)
      .offset(offset),
  )

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

/** Sets the state of those `refs` that are facts in state `before`; which these were. */
export async function changeStates(
  tx: Tx,
  refs: readonly number[],
  { before, after }: { before: number; after: number },
): Promise<number[]> {
  const changed: number[] = []
  for (const ref of refs) {
    const rows = await tx.run(
      update(tx, 'facts').set({ state: after }).where('ref', '=', ref).where('state', '=', before),
    )
    if (rows === 1) changed.push(ref)
  }
  return changed
}

export const deleteFact = (tx: Tx, ref: number) =>
  tx.run(deleteFrom(tx, 'facts').where('ref', '=', ref))

export const insertTombstone = (tx: Tx, row: TombstoneRow) =>
  tx.run(insertInto(tx, 'tombstones', row).onConflict((conflict) => conflict.doNothing()))

export const updateTombstoneCertificate = (tx: Tx, ref: number, certificate_id: string) =>
  tx.run(update(tx, 'tombstones').set({ certificate_id }).where('ref', '=', ref))

const TOMBSTONE_COLUMNS = [
  'ref',
  'store_id',
  'written_seq',
  'erased_seq',
  'erased_us',
  'certificate_id',
] as const

const tombstoneStatement = statement<{ ref: number }>()((k, p) =>
  k
    .selectFrom('tombstones')
    .select(TOMBSTONE_COLUMNS)
    .where('tenant_id', '=', p.tenant_id)
    .where('ref', '=', p.ref),
)

export const findTombstones = (db: TenantDb, refs: readonly number[]): Promise<TombstoneRow[]> =>
  refs.length <= FEW
    ? eachOf(refs, (ref) => db.firstOf(tombstoneStatement, { ref }))
    : inChunks(refs, (chunk) =>
        db.all(from(db, 'tombstones').select(TOMBSTONE_COLUMNS).where('ref', 'in', chunk)),
      )

/** Refs erased from a store after log position `seq`. */
export const listErasedSince = (db: TenantDb, store_id: string, seq: number) =>
  db.all(
    from(db, 'tombstones')
      .select('ref')
      .where('store_id', '=', store_id)
      .where('erased_seq', '>', seq),
  )

const stateStatement = statement<{ ref: number }>()((k, p) =>
  k
    .selectFrom('facts')
    .select(['ref', 'state'])
    .where('tenant_id', '=', p.tenant_id)
    .where('ref', '=', p.ref),
)

export const findStates = (
  db: TenantDb,
  refs: readonly number[],
): Promise<{ ref: number; state: number }[]> =>
  refs.length <= FEW
    ? eachOf(refs, (ref) => db.firstOf(stateStatement, { ref }))
    : inChunks(refs, (chunk) =>
        db.all(from(db, 'facts').select(['ref', 'state']).where('ref', 'in', chunk)),
      )

/**
 * The highest ref that a fact of the tenant has or had; 0 for none. Tombstones of refs that only
 * decisions named do not count: such a label can be any number.
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

/** Up to here prepared look-ups one by one beat a query that is compiled for each call. */
const FEW = 8

async function eachOf<T>(
  refs: readonly number[],
  look: (ref: number) => Promise<T | undefined>,
): Promise<T[]> {
  const found: T[] = []
  for (const ref of refs) {
    const row = await look(ref)
    if (row !== undefined) found.push(row)
  }
  return found
}

async function inChunks<T>(
  refs: readonly number[],
  look: (chunk: number[]) => Promise<T[]>,
): Promise<T[]> {
  const found: T[] = []
  for (let at = 0; at < refs.length; at += IN_MAX)
    found.push(...(await look(refs.slice(at, at + IN_MAX))))
  return found
}
