// SQL of validity: the period in which each fact is valid, as an append-only list of versions.

import { sql } from 'kysely'
import { insertRowsStatement, refsStatement } from '../../../platform/db/bulk-statements.ts'
import type { Row } from '../../../platform/db/schema/tables.ts'
import { statement } from '../../../platform/db/statement.ts'
import { from, type TenantDb, type Tx, update } from '../../../platform/db/tenant-db.ts'

export type ValidityRow = Row<'validity'>

const COLUMNS = [
  'store_id',
  'ref',
  'from_seq',
  'until_seq',
  'valid_from_us',
  'valid_until_us',
  'predecessor',
  'superseded_by',
] as const

const SIDES = sql<{ side: number }>`(select 0 as side union all select 1)`.as<'sides'>(sql`sides`)
const LINK = sql<
  number | null
>`case sides.side when 0 then validity.predecessor else validity.superseded_by end`

export const insertValidities = insertRowsStatement<ValidityRow>((k, rows, tenant_id) =>
  k.insertInto('validity').values(
    rows.map((row) => ({
      tenant_id,
      store_id: row.store_id,
      ref: row.ref,
      from_seq: row.from_seq,
      until_seq: row.until_seq,
      valid_from_us: row.valid_from_us,
      valid_until_us: row.valid_until_us,
      predecessor: row.predecessor,
      superseded_by: row.superseded_by,
    })),
  ),
)

export const insertValidity = (tx: Tx, row: ValidityRow) => insertValidities(tx, [row])

const currentStatement = statement<{ ref: number }>()((k, p) =>
  k
    .selectFrom('validity')
    .select(COLUMNS)
    .where('tenant_id', '=', p.tenant_id)
    .where('ref', '=', p.ref)
    .where('until_seq', 'is', null),
)

/** The current validity version of the fact. */
export const findCurrentValidity = (db: TenantDb, ref: number): Promise<ValidityRow | undefined> =>
  db.firstOf(currentStatement, { ref })

const currentsStatement = refsStatement()((k, p, isListed) =>
  k
    .selectFrom('validity')
    .select(COLUMNS)
    .where('tenant_id', '=', p.tenant_id)
    .where(isListed)
    .where('until_seq', 'is', null),
)

/** The current validity versions of the facts, unordered. */
export const listCurrentValidities = (db: TenantDb, refs: readonly number[]) =>
  currentsStatement.all(db, refs, {})

const closeStatement = statement<{ ref: number; from_seq: number; until_seq: number }>()((k, p) =>
  k
    .updateTable('validity')
    .set({ until_seq: p.until_seq })
    .where('tenant_id', '=', p.tenant_id)
    .where('ref', '=', p.ref)
    .where('from_seq', '=', p.from_seq),
)

/** Ends the version as the current one. A recorded version is changed in no other way. */
export const closeVersion = (tx: Tx, version: ValidityRow, until_seq: number) =>
  tx.runOf(closeStatement, { ref: version.ref, from_seq: version.from_seq, until_seq })

/** Changes in place a version of the same log position, which is not yet on record. */
export const amendVersion = (tx: Tx, { ref, from_seq, ...values }: ValidityRow) =>
  tx.run(update(tx, 'validity').set(values).where('ref', '=', ref).where('from_seq', '=', from_seq))

/** The first version of the fact that ends at `valid_until_us`. */
export const findVersionEndingAt = (db: TenantDb, ref: number, valid_until_us: number) =>
  db.first(
    from(db, 'validity')
      .select('superseded_by')
      .where('ref', '=', ref)
      .where('valid_until_us', '=', valid_until_us)
      .orderBy('from_seq')
      .limit(1),
  )

/** When the fact began to be valid. Versions are kept after their fact is erased. */
export const findValidFrom = async (db: TenantDb, ref: number): Promise<number | undefined> => {
  const query = from(db, 'validity').select('valid_from_us').where('ref', '=', ref).limit(1)
  return (await db.first(query))?.valid_from_us
}

/**
 * The engine reads rows on demand, so the limit ends the walk. PostgreSQL allows only one recursive
 * term, so each row is joined with two `side`s to follow both of its links.
 */
const chainStatement = statement<{ ref: number; limit: number }>()((k, p) =>
  k
    .withRecursive('chain(ref)', (walk) =>
      walk
        .selectFrom('validity')
        .select('validity.ref')
        .where('validity.tenant_id', '=', p.tenant_id)
        .where('validity.ref', '=', p.ref)
        .union(
          walk
            .selectFrom('chain')
            .innerJoin('validity', 'validity.ref', 'chain.ref')
            .innerJoin(SIDES, (join) => join.onTrue())
            .select(sql<number>`${LINK}`.as('ref'))
            .where('validity.tenant_id', '=', p.tenant_id)
            .where(LINK, 'is not', null),
        ),
    )
    .selectFrom('chain')
    .select('chain.ref')
    .limit(p.limit),
)

/** Up to `limit` facts of the version chain, nearest to `ref` first, erased ones included. */
export const listChainRefs = async (db: TenantDb, ref: number, limit: number): Promise<number[]> =>
  (await db.allOf(chainStatement, { ref, limit })).map((row) => row.ref)

const lastStatement = refsStatement()((k, p, isListed) =>
  k
    .selectFrom('validity')
    .select(COLUMNS)
    .where('tenant_id', '=', p.tenant_id)
    .where(isListed)
    .orderBy('ref')
    .orderBy('from_seq'),
)

/** The first and the last validity version of each fact, including erased facts. */
export async function listEndVersions(
  db: TenantDb,
  refs: readonly number[],
): Promise<{ first: ValidityRow; last: ValidityRow }[]> {
  const ends = new Map<number, { first: ValidityRow; last: ValidityRow }>()
  for (const row of await lastStatement.all(db, refs, {}))
    ends.set(row.ref, { first: ends.get(row.ref)?.first ?? row, last: row })
  return [...ends.values()]
}

const knownStatement = statement<{
  store_id: string
  seq: number
  after_seq: number
  after_ref: number
  limit: number
}>()((k, p) =>
  k
    .selectFrom('validity')
    .select(COLUMNS)
    .where('tenant_id', '=', p.tenant_id)
    .where('store_id', '=', p.store_id)
    .where('from_seq', '>=', p.after_seq)
    .where('from_seq', '<=', p.seq)
    .where((e) => e.or([e('from_seq', '>', p.after_seq), e('ref', '>', p.after_ref)]))
    .where((e) => e.or([e('until_seq', 'is', null), e('until_seq', '>', p.seq)]))
    .orderBy('from_seq')
    .orderBy('ref')
    .limit(p.limit),
)

/** The cursor of a page of versions, which are ordered by log position, then ref. */
export type VersionCursor = Pick<ValidityRow, 'from_seq' | 'ref'>

/** Versions of a store that were on record at log position `seq`, in pages. */
export const listVersionsOnRecord = (
  db: TenantDb,
  store_id: string,
  { seq, after, limit }: { seq: number; after: VersionCursor; limit: number },
): Promise<ValidityRow[]> =>
  db.allOf(knownStatement, {
    store_id,
    seq,
    after_seq: after.from_seq,
    after_ref: after.ref,
    limit,
  })

/** Versions on record at `seq` and valid at `at_us`, with ref > `after`, ascending. */
export const listVersionsValidAt = (
  db: TenantDb,
  store_id: string,
  at: { seq: number; at_us: number; after: number; limit: number },
): Promise<ValidityRow[]> =>
  db.all(
    from(db, 'validity')
      .select(COLUMNS)
      .where('store_id', '=', store_id)
      .where('ref', '>', at.after)
      .where('from_seq', '<=', at.seq)
      .where((e) => e.or([e('until_seq', 'is', null), e('until_seq', '>', at.seq)]))
      .where('valid_from_us', '<=', at.at_us)
      .where((e) => e.or([e('valid_until_us', 'is', null), e('valid_until_us', '>', at.at_us)]))
      .orderBy('ref')
      .limit(at.limit),
  )

/** The version of the fact that was on record at log position `seq`. */
export const findValidityAt = (
  db: TenantDb,
  ref: number,
  seq: number,
): Promise<ValidityRow | undefined> =>
  db.first(
    from(db, 'validity')
      .select(COLUMNS)
      .where('ref', '=', ref)
      .where('from_seq', '<=', seq)
      .where((e) => e.or([e('until_seq', 'is', null), e('until_seq', '>', seq)])),
  )
