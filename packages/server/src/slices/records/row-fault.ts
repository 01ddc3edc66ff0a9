// Whether a row says what was signed: nobody reads a status that the record does not bear out.

import { isObject, type JsonObject } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import type { RecordRow } from './records.sql.ts'

/**
 * The first column that differs from the document; null: none does.
 * @param standing the status of a record of its kind that stands
 */
export function rowFault(row: RecordRow, document: JsonObject, standing: string): string | null {
  const approval = document['approval'] ?? null
  const { version = null } = document
  const said: Readonly<Record<string, readonly [unknown, unknown]>> = {
    proposal_digest: [row.proposal_digest, document['proposal_digest']],
    requested_by: [row.requested_by, document['requested_by']],
    policy_set: [row.policy_set, document['policy_set']],
    created_at: [formatTime(row.created_us), document['created_at']],
    request_id: [row.request_id, isObject(approval) ? approval['request_id'] : null],
    version: [typeof version === 'number' ? row.version : version, version],
  }
  for (const [column, [here, signed]] of Object.entries(said)) if (here !== signed) return column
  const certified = row.kind === 'artifact' && row.status === 'certified'
  if (row.status !== standing && !certified) return 'status'
  return certified === (row.linked_id !== null) ? null : 'certificate_id'
}
