// Compositions: their operations, the handlers, and the registry for approvals.

import {
  COMPOSITION_LICENSES_BYTES_MAX,
  type compositions,
  type compositions as contract,
} from '@custos/contract'
import type { CompositionRequest } from '@custos/proof'
import type { Handler, HandlersOf } from '../../platform/kernel/call.ts'
import {
  answerProposal,
  checksOf,
  claimedAuthority,
  findEarlierAnswer,
  loadRecord,
  proposeRecord,
  recordedAuthority,
  recordRefusal,
  registryHandlers,
  rejection,
  statusOf,
  unsignedReason,
  verifyDocument,
} from '../records/index.ts'
import {
  compositionRegistry,
  compositionView,
  documentOf,
  requestOf,
  tierReason,
} from './composition-registry.ts'
import { examineMembers } from './members.ts'

/** POST /v1/compositions: examines members and licences, compares the tier, then proposes. */
const compose: Handler<typeof contract.compose> = async (call, { body }) => {
  // A retry gets the first answer, whatever the registries contain now.
  const before = await findEarlierAnswer(call, compositionRegistry)
  if (before) return answerProposal(call, before, compositionView)
  const claimed = body.members.map(({ license }) => Buffer.byteLength(license))
  if (claimed.reduce((sum, bytes) => sum + bytes, 0) > COMPOSITION_LICENSES_BYTES_MAX)
    throw rejection([
      `the licences have more than ${COMPOSITION_LICENSES_BYTES_MAX} bytes together`,
    ])
  const { members, reasons } = await examineMembers(call, body.members)
  if (reasons.length > 0) throw rejection(reasons)

  const { max_trust_tier } = call.principal
  const request: CompositionRequest = {
    composition_kind: body.composition_kind,
    members: members.map(({ license_terms, found_terms, ...member }) => member),
    target_ref: body.target_ref,
    authority: recordedAuthority(claimedAuthority(body.authority), max_trust_tier),
    required_trust_tier: body.required_trust_tier ?? 'verified',
  }
  const reason = tierReason(request)
  if (reason !== undefined) {
    const { row } = await recordRefusal(call, compositionRegistry, request, {
      code: 'tier',
      reason,
    })
    throw rejection([reason], { composition_id: row.record_id })
  }

  const record = await proposeRecord(call, compositionRegistry, request)
  return answerProposal(call, record, compositionView)
}

/** GET /v1/compositions/{composition_id}/verify: by the rules that an offline verifier uses. */
const verify: Handler<typeof contract.verify> = async (call, { params }) => {
  const record = await loadRecord(call, compositionRegistry, params.composition_id)
  const status = statusOf(record.row)
  const { composition_kind, members, target_ref, authority } = requestOf(record)
  const verdict = await verifyDocument(call.kernel, compositionRegistry, record)
  const unsigned = { signature: false, members_consistent: false, licenses_compatible: false }
  return {
    passed: verdict?.valid ?? false,
    checks: verdict === null ? unsigned : checksOf(verdict),
    attestation: {
      kind: composition_kind,
      members: members.map(({ ref_id }) => ref_id),
      target: target_ref,
      by: authority.human_principal,
      licenses: members.map(({ license }) => license),
    },
    status,
    unverified_members: members.filter(({ found }) => found === null).map(({ ref_id }) => ref_id),
    not_checked: [...(verdict?.not_checked ?? [])],
    reason: verdict
      ? (verdict.reason ?? null)
      : unsignedReason(record, `it is ${status}: nothing is signed`),
  }
}

/** GET /v1/compositions/{composition_id}/artifact: what the members are composed to. */
const artifact: Handler<typeof contract.artifact> = async (call, { params }) => {
  const record = await loadRecord(call, compositionRegistry, params.composition_id)
  const status = statusOf(record.row)
  const document = documentOf(record)
  return {
    artifact_ref: document?.target_ref ?? null,
    composition_id: record.row.record_id,
    members: document === null ? null : [...document.member_ids],
    kind: document?.composition_kind ?? null,
    status,
  }
}

export { compositionRegistry } from './composition-registry.ts'

export const compositionsHandlers = {
  ...registryHandlers(compositionRegistry, compositionView),
  compose,
  verify,
  artifact,
} satisfies HandlersOf<typeof compositions>
