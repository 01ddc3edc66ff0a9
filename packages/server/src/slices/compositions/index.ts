// Compositions: their operations, the handlers, and the registry for approvals.

import {
  COMPOSITION_LICENSES_BYTES_MAX,
  type Composition,
  type compositions,
  type compositions as contract,
  LISTED_COMPOSITION_BYTES_MAX,
  TRUST_TIERS,
} from '@custos/contract'
import {
  type CompositionDocument,
  type CompositionRequest,
  compositionContent,
  type LicenseVerdict,
  membersDigest,
  type ProposedMember,
} from '@custos/proof'
import type { Handler, HandlersOf } from '../../platform/kernel/call.ts'
import {
  type AdmittedProposal,
  answerProposal,
  checksOf,
  claimedAuthority,
  findEarlierAnswer,
  isDocumentLarger,
  loadRecord,
  type OpenRecord,
  proposeRecord,
  type Registry,
  type RegistryFields,
  recordedAuthority,
  recordRefusal,
  registryHandlers,
  rejection,
  showRow,
  statusOf,
  unsignedReason,
  verifyDocument,
} from '../records/index.ts'
import { examineMembers, findChanges, verdictOf } from './members.ts'

const OPERATION = 'compositions.compose'

const TIERS: readonly string[] = TRUST_TIERS
const rankOf = (tier: string): number => TIERS.indexOf(tier)

/** Returns why the trust tier is too low, or undefined if it is high enough. */
function tierReason({ authority, required_trust_tier }: CompositionRequest): string | undefined {
  const { claimed_tier, trust_tier } = authority
  if (rankOf(trust_tier) >= rankOf(required_trust_tier)) return undefined
  const claimed = claimed_tier === null ? 'none is claimed' : `${claimed_tier} is claimed`
  return `the trust tier is ${trust_tier} (${claimed}), and ${required_trust_tier} is required`
}

/** Examines the members again in their current state. Refuses what no longer holds. */
async function fields(proposal: AdmittedProposal<CompositionRequest>): Promise<RegistryFields> {
  const { request } = proposal
  const { members, license_verdict, reasons } = await examineMembers(proposal, request.members)
  const tier = tierReason(request)
  const changes = findChanges(request.members, members)
  const all = [...changes, ...reasons, ...(tier === undefined ? [] : [tier])]
  if (all.length > 0) throw rejection(all)
  return {
    document: {
      ...request,
      members,
      member_ids: members.map(({ ref_id }) => ref_id),
      members_digest: membersDigest(members),
      license_verdict,
    },
  }
}

/** The policy context. docs/registries/compositions.md has example rules over it. */
function context(request: CompositionRequest) {
  const { composition_kind: kind, target_ref: target, authority, required_trust_tier } = request
  const tiers = { trust_tier: authority.trust_tier, required_trust_tier }
  const unverified = request.members.filter(({ found }) => found === null)
  const unverified_members = unverified.map(({ ref_id }) => ref_id)
  const unjudged = verdictOf(request.members).reported.map(({ license }) => license)
  const counts = {
    unverified_count: unverified_members.length,
    unjudged_count: unjudged.length,
  }
  const members = request.members.map(({ ref_id, license, found }) => ({
    ref_id,
    license,
    verified: found !== null,
    kind: found?.kind ?? 'none',
  }))
  return {
    action: OPERATION,
    kind,
    target,
    unverified_members,
    unjudged,
    ...tiers,
    ...counts,
    members: request.members.map(({ ref_id }) => ref_id),
    licenses: [...new Set(request.members.flatMap(licensesOf))],
    params: { kind, target, ...tiers, ...counts, members },
  }
}

/** The claimed licence and those that the member's record states. */
const licensesOf = ({ license, found }: ProposedMember): string[] => [
  license,
  ...(found?.licenses ?? []),
]

export const compositionRegistry: Registry<CompositionRequest> = {
  kind: 'composition',
  id_field: 'composition_id',
  schema_version: 'comp/1',
  issued_status: 'governed',
  approvable: true,
  not_found: 'composition_not_found',
  operation: () => OPERATION,
  context,
  // Policies cannot redact members, because a composition without them would be meaningless.
  names: { kind: 'composition_kind', target: 'target_ref', members: 'member_ids' },
  content: compositionContent,
  // An artifact with this artifact_ref inherits the licences.
  name: ({ target_ref }) => target_ref,
  fields,
  denial: ({ policy_id, name, reason }, composition_id) =>
    policy_id === ''
      ? rejection([reason], { composition_id })
      : rejection([`denied by the policy ${JSON.stringify(name)}: ${reason}`], {
          composition_id,
          policy_id,
          name,
          reason,
        }),
}

/** The request of a composition record, which only this registry writes. */
const requestOf = ({ request }: OpenRecord): CompositionRequest => request as CompositionRequest

/** The signed document, or `null` if nothing was signed. */
const documentOf = ({ document }: OpenRecord): CompositionDocument | null =>
  document as CompositionDocument | null

function showComposition(record: OpenRecord, tenant_id: string): Composition {
  const { members, ...request } = requestOf(record)
  const verdict = documentOf(record)?.license_verdict ?? null
  return {
    ...request,
    composition_id: record.row.record_id,
    member_count: members.length,
    members: members.map(showMember),
    license_verdict: verdict === null ? null : showVerdict(verdict),
    ...showRow(record, tenant_id),
  }
}

/** Omits large documents: a page of two hundred with as many members each would be too large. */
function showListed(record: OpenRecord, tenant_id: string): Composition {
  const shown = showComposition(record, tenant_id)
  if (!isDocumentLarger(record, LISTED_COMPOSITION_BYTES_MAX)) return shown
  return { ...shown, document: null, license_verdict: null, members: [] }
}

const compositionView = {
  id: 'composition_id',
  listKey: 'compositions',
  show: showComposition,
  showListed,
} as const

const showMember = ({ found, ...member }: ProposedMember) => ({
  ...member,
  found: found === null ? null : { ...found, licenses: [...found.licenses] },
})

const showVerdict = ({ terms, reasons, reported, ...verdict }: LicenseVerdict) => ({
  ...verdict,
  terms: [...terms],
  reasons: reasons.map(({ members, licenses, ...reason }) => ({
    ...reason,
    members: [...members],
    licenses: [...licenses],
  })),
  reported: reported.map(({ members, ...rest }) => ({ ...rest, members: [...members] })),
})

/** POST /v1/compositions: examines members and licences, compares the tier, then proposes. */
const compose: Handler<typeof contract.compose> = async (call, { body }) => {
  // A retry gets the first answer, even if the registries have changed.
  const before = await findEarlierAnswer(call, compositionRegistry)
  if (before) return answerProposal(call, before, compositionView)
  const claimed = body.members.map(({ license }) => Buffer.byteLength(license))
  if (claimed.reduce((sum, bytes) => sum + bytes, 0) > COMPOSITION_LICENSES_BYTES_MAX)
    throw rejection([
      `the licences have more than ${COMPOSITION_LICENSES_BYTES_MAX} bytes together`,
    ])
  const { members, reasons } = await examineMembers(call, body.members)

  const { max_trust_tier } = call.principal
  const request: CompositionRequest = {
    composition_kind: body.composition_kind,
    members: members.map(({ license_terms, found_terms, ...member }) => member),
    target_ref: body.target_ref,
    authority: recordedAuthority(claimedAuthority(body.authority), max_trust_tier),
    required_trust_tier: body.required_trust_tier ?? 'verified',
  }
  const reason = tierReason(request)
  if (reasons.length > 0) throw rejection(reason === undefined ? reasons : [...reasons, reason])
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

export const compositionsHandlers = {
  ...registryHandlers(compositionRegistry, compositionView),
  compose,
  verify,
  artifact,
} satisfies HandlersOf<typeof compositions>
