// POST /v1/compositions: members and licences examined, the tier compared, then proposed.

import type { compositions as contract } from '@custos/contract'
import type { CompositionRequest } from '@custos/proof'
import type { Handler } from '../../platform/call.ts'
import {
  claimedAuthority,
  propose,
  recordedAuthority,
  refused,
  waitingAnswer,
} from '../records/index.ts'
import {
  COMPOSITION_ID,
  compositionRegistry,
  rejected,
  tierReason,
} from './composition-registry.ts'
import { examine } from './examine.ts'
import { showComposition } from './show-composition.ts'

export const compose: Handler<typeof contract.compose> = async (call, { body }) => {
  const { members, reasons } = await examine(call, body.members)
  if (reasons.length > 0) throw rejected(reasons)

  const ceiling = call.principal.max_trust_tier ?? null
  const request: CompositionRequest = {
    composition_kind: body.composition_kind,
    members: members.map(({ license_terms, ...member }) => member),
    target_ref: body.target_ref,
    authority: recordedAuthority(claimedAuthority(body.authority), ceiling),
    required_trust_tier: body.required_trust_tier ?? 'verified',
  }
  const reason = tierReason(request, ceiling)
  if (reason !== undefined) {
    const { row } = await refused(call, compositionRegistry, request, { code: 'tier', reason })
    throw rejected([reason], { composition_id: row.record_id })
  }

  const { record } = await propose(call, compositionRegistry, request)
  return record.row.status === 'waiting_hitl'
    ? waitingAnswer(call.kernel, call.tenant_id, record, COMPOSITION_ID)
    : showComposition(record, call.tenant_id)
}
