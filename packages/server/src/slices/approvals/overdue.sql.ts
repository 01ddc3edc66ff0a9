// SQL of requests whose time is over: which tenants have any.

import type { Database } from '../../platform/db/database.ts'
import { firstOfEach } from '../../platform/db/first-of-each.ts'
import { statement } from '../../platform/db/statement.ts'

const overdueStatement = statement<{ now_us: number }>()((k, p) =>
  k
    .selectFrom('approvals')
    .select('request_id')
    .where('tenant_id', '=', p.tenant_id)
    .where('state', '=', 'pending')
    .where('expires_us', '<=', p.now_us)
    .orderBy('expires_us')
    .limit((e) => e.lit(1)),
)

/** Those of `tenants` that have a request to expire. */
export async function findOverdueTenants(
  db: Database,
  tenants: readonly string[],
  now_us: number,
): Promise<string[]> {
  const asked = tenants.map((tenant_id) => ({ tenant_id, params: { now_us } }))
  return [...(await firstOfEach(db, overdueStatement, asked)).keys()]
}
