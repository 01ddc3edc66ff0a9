// POST /v1/landing/issue: proposed, computed, signed; or waiting for a person.

import type { landing as contract } from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import { answerWaiting, proposeRecord } from '../records/index.ts'
import { CERTIFICATE_ID, documentOf, landingRegistry } from './landing-registry.ts'
import { normalizeLanding } from './normal-request.ts'

export const issue: Handler<typeof contract.issue> = async (call, { body }) => {
  const { record } = await proposeRecord(call, landingRegistry, normalizeLanding(body))
  // A retry may find it decided.
  if (record.document !== null) return documentOf(record)
  return answerWaiting(call.kernel, call.tenant_id, record, CERTIFICATE_ID)
}
