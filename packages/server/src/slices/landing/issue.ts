// POST /v1/landing/issue: proposed, computed, signed; or waiting for a person.

import type { landing as contract } from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import { propose, waitingAnswer } from '../records/index.ts'
import { CERTIFICATE_ID, landingRegistry } from './landing-registry.ts'
import { normalLanding } from './normal-request.ts'
import { documentOf } from './show-landing.ts'

export const issue: Handler<typeof contract.issue> = async (call, { body }) => {
  const { record } = await propose(call, landingRegistry, normalLanding(body))
  // A retry may find it decided.
  if (record.document !== null) return documentOf(record)
  return waitingAnswer(call.kernel, call.tenant_id, record, CERTIFICATE_ID)
}
