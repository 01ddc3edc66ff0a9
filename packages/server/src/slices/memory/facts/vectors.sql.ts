// SQL of vectors: facts with and without a vector of an embedding space, and replacing a vector.

import { statement } from '../../../platform/db/statement.ts'
import { from, type TenantDb, type Tx } from '../../../platform/db/tenant-db.ts'
import { currentFacts, FACT_COLUMNS, type FactRow, LIVE } from './facts.sql.ts'

interface SpacePage {
  readonly mark: number
  readonly after: number
  readonly limit: number
}

const ofSpaceStatement = statement<SpacePage & { store_id: string }>()((k, p) =>
  currentFacts(k, p.tenant_id)
    .select(FACT_COLUMNS)
    .where('facts.store_id', '=', p.store_id)
    .where('facts.space_mark', '=', p.mark)
    .where('facts.ref', '>', p.after)
    .orderBy('facts.ref')
    .limit(p.limit),
)

/** Facts of a store in any state with a vector of the space and ref > `after`, ascending. */
export const listFactsOfSpace = (
  db: TenantDb,
  store_id: string,
  page: SpacePage,
): Promise<FactRow[]> => db.allOf(ofSpaceStatement, { store_id, ...page })

const otherSpaceStatement = statement<SpacePage & { store_id: string }>()((k, p) =>
  currentFacts(k, p.tenant_id)
    .select(FACT_COLUMNS)
    .where('facts.store_id', '=', p.store_id)
    .where('facts.state', '=', LIVE)
    .where((e) => e.or([e('facts.space_mark', 'is', null), e('facts.space_mark', '<>', p.mark)]))
    .where('facts.ref', '>', p.after)
    .orderBy('facts.ref')
    .limit(p.limit),
)

/** Live facts of a store without a vector of the space and with ref > `after`, ascending. */
export const listFactsToEmbed = (
  db: TenantDb,
  store_id: string,
  page: SpacePage,
): Promise<FactRow[]> => db.allOf(otherSpaceStatement, { store_id, ...page })

/** A live fact without a vector of the space, written or embedded after log position `seq`. */
export const findFactToEmbed = (
  db: TenantDb,
  store_id: string,
  { mark, seq }: { mark: number; seq: number },
) =>
  db.first(
    from(db, 'facts')
      .select('ref')
      .where('store_id', '=', store_id)
      .where('sealed_seq', '>', seq)
      .where('state', '=', LIVE)
      .where((e) => e.or([e('space_mark', 'is', null), e('space_mark', '<>', mark)]))
      .limit(1),
  )

/** Counts live facts of a store without a vector of the space. Reads every row of the store. */
export const countFactsToEmbed = (db: TenantDb, store_id: string, mark: number) =>
  from(db, 'facts')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('store_id', '=', store_id)
    .where('state', '=', LIVE)
    .where((e) => e.or([e('space_mark', 'is', null), e('space_mark', '<>', mark)]))

interface ResealedRow {
  readonly ref: number
  /** `sealed_seq` of the row when it was opened. A row that has changed since is not updated. */
  readonly before_seq: number
  readonly sealed_seq: number
  readonly space_mark: number
  readonly sealed: Uint8Array
}

const resealStatement = statement<ResealedRow>()((k, p) =>
  k
    .updateTable('facts')
    .set({ sealed: p.sealed, sealed_seq: p.sealed_seq, space_mark: p.space_mark })
    .where('tenant_id', '=', p.tenant_id)
    .where('ref', '=', p.ref)
    .where('state', '=', LIVE)
    .where('sealed_seq', '=', p.before_seq),
)

/** Replaces the sealed document of a live, unchanged fact. Returns 1, or 0 if there is none. */
export const updateSealed = (tx: Tx, row: ResealedRow): Promise<number> =>
  tx.runOf(resealStatement, row)
