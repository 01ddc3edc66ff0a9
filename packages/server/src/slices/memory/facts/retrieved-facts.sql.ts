// SQL of facts that have been retrieved: one row per fact, deleted with the fact.

import {
  firstItems,
  lateralByRef,
  refsStatement,
  runInBatches,
  statementPerCount,
  unnestRefs,
} from '../../../platform/db/bulk-statements.ts'
import { statement } from '../../../platform/db/statement.ts'
import type { TenantDb, Tx } from '../../../platform/db/tenant-db.ts'

const REFS_AT_ONCE = 32
const COLUMNS = ['tenant_id', 'store_id', 'ref'] as const

const insertStatement = statementPerCount((count) =>
  statement<{ readonly store_id: string; readonly refs: readonly number[] }>()(
    (k, p) =>
      k
        .insertInto('retrieved_facts')
        .columns(COLUMNS)
        .expression(
          k
            .selectFrom('facts')
            .select(COLUMNS)
            .where('tenant_id', '=', p.tenant_id)
            .where('store_id', '=', p.store_id)
            .where('ref', 'in', firstItems(p.refs, count)),
        )
        .onConflict((conflict) => conflict.doNothing()),
    (k, p) =>
      k
        .insertInto('retrieved_facts')
        .columns(COLUMNS)
        .expression(
          lateralByRef(k, unnestRefs(p.refs), (ref) =>
            k
              .selectFrom('facts')
              .select(COLUMNS)
              .where('tenant_id', '=', p.tenant_id)
              .where('store_id', '=', p.store_id)
              .where('ref', '=', ref),
          ),
        )
        .onConflict((conflict) => conflict.doNothing()),
  ),
)

/** Records the refs that are facts of the store at present; an erased fact gets no row. */
export const insertRetrievedFacts = (tx: Tx, store_id: string, refs: readonly number[]) =>
  runInBatches(refs, REFS_AT_ONCE, (some) =>
    tx.runOf(insertStatement(some.length), { store_id, refs: some }),
  )

const deleteStatement = refsStatement<{ store_id: string }>()((k, p, isListed) =>
  k
    .deleteFrom('retrieved_facts')
    .where('tenant_id', '=', p.tenant_id)
    .where('store_id', '=', p.store_id)
    .where(isListed),
)

export const deleteRetrievedFacts = (tx: Tx, store_id: string, refs: readonly number[]) =>
  deleteStatement.run(tx, refs, { store_id })

const pageStatement = statement<{ store_id: string; after: number; limit: number }>()((k, p) =>
  k
    .selectFrom('retrieved_facts')
    .select('ref')
    .where('tenant_id', '=', p.tenant_id)
    .where('store_id', '=', p.store_id)
    .where('ref', '>', p.after)
    .orderBy('ref')
    .limit(p.limit),
)

/** Refs of a store that have been retrieved, with ref > `after`, ascending. */
export async function listRetrievedFacts(
  db: TenantDb,
  store_id: string,
  page: { after: number; limit: number },
): Promise<number[]> {
  const rows = await db.allOf(pageStatement, { store_id, ...page })
  return rows.map(({ ref }) => ref)
}
