// An off-boarded tenant: the log is whole, the certificate verifies, and nothing else is left.

import { verifyTenantErasure } from '@custos/proof'
import { findDestruction } from '../../platform/db/destructions.sql.ts'
import { countRows } from '../../platform/db/tenant-tables.sql.ts'
import { removedTables } from '../../slices/offboarding/index.ts'
import { checkCertificates } from './check-certificates.ts'
import { checkLog } from './check-log.ts'
import type { Check, Found } from './finding.ts'

/** Instead of all other checks: without its keys nothing can be opened to be looked at. */
export async function* checkDestroyed(check: Check): AsyncGenerator<Found> {
  yield* checkLog(check)
  yield* checkCertificates(check)
  const { db, keys } = check
  const { tenant_id } = db
  const row = await findDestruction(db, tenant_id)
  if (!row || row.record === null) {
    const what = 'its keys are destroyed and it has no certificate: start the service once'
    yield { kind: 'certificate', id: tenant_id, what }
    return
  }
  const verdict = await verifyTenantErasure(JSON.parse(row.record), keys)
  if (!verdict.valid)
    yield { kind: 'certificate', id: tenant_id, what: `does not verify: ${verdict.reason}` }
  // Until the job has ended there may be rows.
  if (row.removed_us === null) return
  for (const table of removedTables())
    if ((await countRows(db, table, 1)) > 0)
      yield { kind: 'certificate', id: table.name, what: 'rows of a destroyed tenant are here' }
}
