// SQL of validity: when a fact holds, as versions that are only ever added to.

import { rowsInsert } from '../../platform/db/insert-rows.ts'
import { statement } from '../../platform/db/statement.ts'
import type { Tables } from '../../platform/db/tables.ts'
import { from, type TenantDb, type Tx, update } from '../../platform/db/tenant-db.ts'

export type ValidityRow = Omit<Tables['validity'], 'tenant_id'>

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

export const insertValidities = rowsInsert<ValidityRow>((k, rows, tenant_id) =>
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

/** The version that holds on record now. */
export const findCurrent = (db: TenantDb, ref: number): Promise<ValidityRow | undefined> =>
  db.firstOf(currentStatement, { ref })

const atStatement = statement<{ ref: number; seq: number }>()((k, p) =>
  k
    .selectFrom('validity')
    .select(COLUMNS)
    .where('tenant_id', '=', p.tenant_id)
    .where('ref', '=', p.ref)
    .where('from_seq', '<=', p.seq)
    .orderBy('from_seq', 'desc')
    .limit(1),
)

/** The newest version on record at log position `seq`. */
export const findVersionAt = (
  db: TenantDb,
  ref: number,
  seq: number,
): Promise<ValidityRow | undefined> => db.firstOf(atStatement, { ref, seq })

const closeStatement = statement<{ ref: number; from_seq: number; until_seq: number }>()((k, p) =>
  k
    .updateTable('validity')
    .set({ until_seq: p.until_seq })
    .where('tenant_id', '=', p.tenant_id)
    .where('ref', '=', p.ref)
    .where('from_seq', '=', p.from_seq),
)

/** The one change a version ever sees: it stops being the current one. */
export const closeVersion = (tx: Tx, version: ValidityRow, until_seq: number) =>
  tx.runOf(closeStatement, { ref: version.ref, from_seq: version.from_seq, until_seq })

/** A version born at this same log position has never been on record: it is set right in place. */
export const amendVersion = (tx: Tx, { ref, from_seq, ...values }: ValidityRow) =>
  tx.run(update(tx, 'validity').set(values).where('ref', '=', ref).where('from_seq', '=', from_seq))

/** The first version of the fact that says it ends at `valid_until_us`. */
export const findFirstWithEnd = (db: TenantDb, ref: number, valid_until_us: number) =>
  db.first(
    from(db, 'validity')
      .select('superseded_by')
      .where('ref', '=', ref)
      .where('valid_until_us', '=', valid_until_us)
      .orderBy('from_seq')
      .limit(1),
  )

/** When the fact began to hold; versions outlive their fact. */
export const findBeginning = async (db: TenantDb, ref: number): Promise<number | undefined> => {
  const query = from(db, 'validity').select('valid_from_us').where('ref', '=', ref).limit(1)
  return (await db.first(query))?.valid_from_us
}

export interface KnownPage {
  readonly seq: number
  readonly after: { readonly from_seq: number; readonly ref: number }
  readonly limit: number
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

/** Versions of a store that were on record at log position `seq`, in pages. */
export const listKnown = (
  db: TenantDb,
  store_id: string,
  { seq, after, limit }: KnownPage,
): Promise<ValidityRow[]> =>
  db.allOf(knownStatement, {
    store_id,
    seq,
    after_seq: after.from_seq,
    after_ref: after.ref,
    limit,
  })

/** Versions on record at `seq` that held at `at_us`, by ref, from `after` on. */
export const listStateAt = (
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
