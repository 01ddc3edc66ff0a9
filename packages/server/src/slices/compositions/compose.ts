// POST /v1/compositions: members and licences examined, the tier compared, then proposed.

import { COMPOSITION_LICENSES_BYTES_MAX, type compositions as contract } from '@custos/contract'
import type { CompositionRequest } from '@custos/proof'
import type { Call, Handler } from '../../platform/call.ts'
import {
  answerWaiting,
  claimedAuthority,
  findEarlierAnswer,
  type OpenRecord,
  proposeRecord,
  recordedAuthority,
  recordRefusal,
} from '../records/index.ts'
import {
  COMPOSITION_ID,
  compositionRegistry,
  rejected,
  tierReason,
} from './composition-registry.ts'
import { examineMembers } from './members.ts'
import { showComposition } from './show-composition.ts'

export const compose: Handler<typeof contract.compose> = async (call, { body }) => {
  // A retry is told of the first request, whatever the registries say by now.
  const before = await findEarlierAnswer(call, compositionRegistry)
  if (before) return answer(call, before)
  const claimed = body.members.map(({ license }) => Buffer.byteLength(license))
  if (claimed.reduce((sum, bytes) => sum + bytes, 0) > COMPOSITION_LICENSES_BYTES_MAX)
    throw rejected([`the licences have more than ${COMPOSITION_LICENSES_BYTES_MAX} bytes together`])
  const { members, reasons } = await examineMembers(call, body.members)
  if (reasons.length > 0) throw rejected(reasons)

  const ceiling = call.principal.max_trust_tier ?? null
  const request: CompositionRequest = {
    composition_kind: body.composition_kind,
    members: members.map(({ license_terms, found_terms, ...member }) => member),
    target_ref: body.target_ref,
    authority: recordedAuthority(claimedAuthority(body.authority), ceiling),
    required_trust_tier: body.required_trust_tier ?? 'verified',
  }
  const reason = tierReason(request, ceiling)
  if (reason !== undefined) {
    const { row } = await recordRefusal(call, compositionRegistry, request, {
      code: 'tier',
      reason,
    })
    throw rejected([reason], { composition_id: row.record_id })
  }

  const { record } = await proposeRecord(call, compositionRegistry, request)
  return answer(call, record)
}

const answer = (call: Call, record: OpenRecord) =>
  record.row.status === 'waiting_hitl'
    ? answerWaiting(call.kernel, call.tenant_id, record, COMPOSITION_ID)
    : showComposition(record, call.tenant_id)
