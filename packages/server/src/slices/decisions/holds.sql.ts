// SQL of legal holds: which stores a decision belongs to, or has used memories of.

import { from, type TenantDb } from '../../platform/db/tenant-db.ts'

/** A decision of one of the stores that used the ref. */
export const findUseWithin = (db: TenantDb, ref: number, stores: readonly string[]) =>
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
export const findUsedWithin = (db: TenantDb, decision_seq: number, stores: readonly string[]) =>
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
