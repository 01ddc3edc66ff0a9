// SQL of disclosures: which provider or tool was first sent a memory, in which step and when.

import { insertRowsStatement } from '../../../platform/db/bulk-statements.ts'
import type { Tables } from '../../../platform/db/schema/tables.ts'
import { from, type TenantDb } from '../../../platform/db/tenant-db.ts'

type DisclosureRow = Omit<Tables['disclosures'], 'tenant_id'>

const IN_MAX = 500

/** The first one of a memory and recipient stays. */
export const insertDisclosures = insertRowsStatement<DisclosureRow>((k, rows, tenant_id) =>
  k
    .insertInto('disclosures')
    .values(
      rows.map(({ ref, recipient_id, kind, step_id, sent_us }) => ({
        tenant_id,
        ref,
        recipient_id,
        kind,
        step_id,
        sent_us,
      })),
    )
    .onConflict((conflict) => conflict.doNothing()),
)

/** Of each memory the oldest first. */
export async function listDisclosures(
  db: TenantDb,
  refs: readonly number[],
): Promise<DisclosureRow[]> {
  const found: DisclosureRow[] = []
  for (let at = 0; at < refs.length; at += IN_MAX)
    found.push(
      ...(await db.all(
        from(db, 'disclosures')
          .select(['ref', 'recipient_id', 'kind', 'step_id', 'sent_us'])
          .where('ref', 'in', refs.slice(at, at + IN_MAX))
          .orderBy('sent_us')
          .orderBy('recipient_id'),
      )),
    )
  return found
}
