// SQL of facts and tombstones: sealed rows with the interval they hold in.

import { itemParams, itemsOf, perCount } from '../../platform/db/per-count.ts'
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
const FACTS_AT_ONCE = 32

/** A fact's row without what is sealed, and its current validity. */
export interface FactHead extends Omit<NewFactRow, 'sealed'> {
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
  'validity.from_seq',
  'validity.valid_from_us',
  'validity.valid_until_us',
  'validity.predecessor',
  'validity.superseded_by',
] as const

const FACT_COLUMNS = [...HEAD_COLUMNS, 'facts.sealed'] as const

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

const factsStatement = perCount((count) =>
  statement<Record<string, number>>()((k, p) =>
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
      .where('facts.ref', 'in', itemsOf(p, count, 'r')),
  ),
)

const headsStatement = perCount((count) =>
  statement<Record<string, number>>()((k, p) =>
    k
      .selectFrom('facts')
      .innerJoin('validity', (join) =>
        join
          .onRef('validity.tenant_id', '=', 'facts.tenant_id')
          .onRef('validity.ref', '=', 'facts.ref')
          .on('validity.until_seq', 'is', null),
      )
      .select(HEAD_COLUMNS)
      .where('facts.tenant_id', '=', p.tenant_id)
      .where('facts.ref', 'in', itemsOf(p, count, 'r')),
  ),
)

/** Facts in any state, in no order. */
export const findFacts = (db: TenantDb, refs: readonly number[]): Promise<FactRow[]> =>
  byRefs(refs, (some) => db.allOf(factsStatement(some.length), itemParams(some, 'r')))

/** The same without what is sealed. */
export const findFactHeads = (db: TenantDb, refs: readonly number[]): Promise<FactHead[]> =>
  byRefs(refs, (some) => db.allOf(headsStatement(some.length), itemParams(some, 'r')))

async function byRefs<T>(
  refs: readonly number[],
  look: (some: readonly number[]) => Promise<T[]>,
): Promise<T[]> {
  const rows: T[] = []
  for (let at = 0; at < refs.length; at += FACTS_AT_ONCE)
    rows.push(...(await look(refs.slice(at, at + FACTS_AT_ONCE))))
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

const tombstonesStatement = perCount((count) =>
  statement<Record<string, number>>()((k, p) =>
    k
      .selectFrom('tombstones')
      .select(TOMBSTONE_COLUMNS)
      .where('tenant_id', '=', p.tenant_id)
      .where('ref', 'in', itemsOf(p, count, 'r')),
  ),
)

export const findTombstones = (db: TenantDb, refs: readonly number[]): Promise<TombstoneRow[]> =>
  refs.length <= FEW
    ? fewOf(refs, (params) => db.allOf(tombstonesStatement(refs.length), params))
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

const statesStatement = perCount((count) =>
  statement<Record<string, number>>()((k, p) =>
    k
      .selectFrom('facts')
      .select(['ref', 'state'])
      .where('tenant_id', '=', p.tenant_id)
      .where('ref', 'in', itemsOf(p, count, 'r')),
  ),
)

export const findStates = (
  db: TenantDb,
  refs: readonly number[],
): Promise<{ ref: number; state: number }[]> =>
  refs.length <= FEW
    ? fewOf(refs, (params) => db.allOf(statesStatement(refs.length), params))
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

/** Up to here a prepared statement for the exact number beats one compiled for each call. */
const FEW = 8

const fewOf = async <T>(
  refs: readonly number[],
  look: (params: Record<string, number>) => Promise<T[]>,
): Promise<T[]> => (refs.length === 0 ? [] : look(itemParams(refs, 'r')))

async function inChunks<T>(
  refs: readonly number[],
  look: (chunk: number[]) => Promise<T[]>,
): Promise<T[]> {
  const found: T[] = []
  for (let at = 0; at < refs.length; at += IN_MAX)
    found.push(...(await look(refs.slice(at, at + IN_MAX))))
  return found
}
