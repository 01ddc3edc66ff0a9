// SQL of the check of stored decisions.

import { from, type TenantDb } from '../../platform/db/tenant-db.ts'

const IN_MAX = 500

/** What the index of uses says of one decision and these refs. */
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
