// POST /v1/landing/conformance: the checks of a certificate, and nothing kept of them.

import type { landing as contract } from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import { claimedAuthority, recordedAuthority } from '../records/index.ts'
import { checkConformance } from './conformance.ts'
import { normalizeSubject } from './normal-request.ts'

export const conformance: Handler<typeof contract.conformance> = async (call, { body }) => {
  const { kernel, tenant_id, principal } = call
  const { artifact_ref, base_model_ref = null, kind = null, authority = null } = body
  const { conformance, reasons, not_checked } = await checkConformance(kernel, tenant_id, {
    ...{ artifact_ref, base_model_ref, kind },
    ...normalizeSubject(body),
    authority:
      authority === null
        ? null
        : recordedAuthority(claimedAuthority(authority), principal.max_trust_tier),
  })
  const { harness_version, result, per_policy, evidence } = conformance
  return {
    ...{ harness_version, result, per_policy, evidence },
    reasons: [...reasons],
    not_checked: [...not_checked],
  }
}
