// The registry of compositions: what of one is proposed, evaluated, signed.

import { TRUST_TIERS } from '@custos/contract'
import {
  type CompositionRequest,
  compositionContent,
  membersDigest,
  type ProposedMember,
} from '@custos/proof'
import { Refusal } from '../../platform/refusal.ts'
import type { AdmittedProposal, Registry } from '../records/index.ts'
import { examineMembers, findChanges, verdictOf } from './members.ts'

export const COMPOSITION_ID = 'composition_id'
const OPERATION = 'composition.govern'

export function rejected(reasons: readonly string[], more: object = {}): Refusal {
  return new Refusal('rejected', undefined, { detail: { status: 'rejected', reasons, ...more } })
}

const TIERS: readonly string[] = TRUST_TIERS
const rankOf = (tier: string): number => TIERS.indexOf(tier)

/**
 * Undefined: the tier is enough.
 * @param ceiling of the credential that asked; null: none was set
 */
export function tierReason(
  { authority, required_trust_tier }: Pick<CompositionRequest, 'authority' | 'required_trust_tier'>,
  ceiling: string | null,
): string | undefined {
  const { claimed_tier } = authority
  const held = Math.min(rankOf(claimed_tier ?? 'untrusted'), rankOf(ceiling ?? 'root'))
  if (held >= rankOf(required_trust_tier)) return undefined
  const claimed = claimed_tier === null ? 'none is claimed' : `${claimed_tier} is claimed`
  return `the trust tier is ${TIERS[held]} (${claimed}), and ${required_trust_tier} is required`
}

/** Everything again, as it is now; refuses where it no longer stands. */
async function fields(proposed: AdmittedProposal<CompositionRequest>) {
  const { request, ceiling } = proposed
  const { members, license_verdict, reasons } = await examineMembers(proposed, request.members)
  const tier = tierReason(request, ceiling)
  const changes = findChanges(request.members, members)
  const all = [...changes, ...reasons, ...(tier === undefined ? [] : [tier])]
  if (all.length > 0) throw rejected(all)
  return {
    ...request,
    members,
    member_ids: members.map(({ ref_id }) => ref_id),
    members_digest: membersDigest(members),
    license_verdict,
  }
}

/** What policies read: docs/registries/compositions.md shows rules over it. */
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
    ...{ ref_id, license, verified: found !== null },
    kind: found?.kind ?? 'none',
  }))
  return {
    action: OPERATION,
    ...{ kind, target, unverified_members, unjudged, ...tiers, ...counts },
    members: request.members.map(({ ref_id }) => ref_id),
    licenses: [...new Set(request.members.flatMap(licensesOf))],
    params: { kind, target, ...tiers, ...counts, members },
  }
}

/** As claimed, and as the record found states them. */
const licensesOf = ({ license, found }: ProposedMember): string[] => [
  license,
  ...(found?.licenses ?? []),
]

export const compositionRegistry: Registry<CompositionRequest> = {
  kind: 'composition',
  id_field: COMPOSITION_ID,
  schema_version: 'comp/1',
  standing: 'governed',
  waits: true,
  not_found: 'composition_not_found',
  operation: () => OPERATION,
  context,
  // Members cannot be redacted: what they are would be lost.
  names: { kind: 'composition_kind', target: 'target_ref', members: 'member_ids' },
  content: compositionContent,
  // An artifact of this artifact_ref takes the licences along.
  name: ({ target_ref }) => target_ref,
  fields,
  denial: ({ policy_id, name, reason }, composition_id) =>
    policy_id === ''
      ? rejected([reason], { composition_id })
      : rejected([`denied by the policy ${JSON.stringify(name)}: ${reason}`], {
          ...{ composition_id, policy_id, name, reason },
        }),
}
