// An artifact becomes certified: a conditional change of status, and its entry on the log.

import type { Tx } from '../../platform/db/tenant-db.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { moveRecord } from './records.sql.ts'

/** False: it is not a registered artifact (any more). */
export async function certifyArtifact(
  tx: Tx,
  artifact_id: string,
  certificate_id: string,
): Promise<boolean> {
  const change = { from: 'registered', to: 'certified', live: 1 } as const
  const linked_id = certificate_id
  if (!(await moveRecord(tx, { ...change, record_id: artifact_id }, { linked_id }))) return false
  const payload = { certificate_id }
  await appendCrumb(tx, { event_type: 'artifact.certified', subject: artifact_id, payload })
  return true
}
