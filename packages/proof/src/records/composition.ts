// Compositions: members taken together, what their licences allow, and who stands for it.
import { canonicalBytes, canonicalize, type Json, type JsonObject } from '../canonical.ts'
import { sha256 } from '../digest.ts'
import { toHex } from '../encoding.ts'
import { isObject, isText, isTextList } from '../shape.ts'
import { type Findings, record } from '../verdict.ts'
import {
  type LicensedMember,
  type LicenseTerms,
  type LicenseVerdict,
  licenseVerdict,
} from './license-verdict.ts'
import type { RecordMembers, RecordRules } from './registry-record.ts'

/** What a member was found to be in the tenant's registries when the composition was proposed. */
export type FoundMember = {
  readonly kind: 'artifact' | 'landing' | 'corpus' | 'composition'
  readonly id: string
  readonly status: string
}

/** A member as the caller claims it to be, and as it was found. */
export type ProposedMember = {
  readonly ref_id: string
  readonly license: string
  readonly certified: boolean
  /** Null: only the caller says so. */
  readonly found: FoundMember | null
}

/** Ascending. */
const TIERS = ['untrusted', 'basic', 'verified', 'trusted', 'release', 'root'] as const
export type CompositionTier = (typeof TIERS)[number]

export type CompositionAuthority = {
  readonly delegation_ref: string | null
  readonly human_principal: string | null
  /** Null: no claim was made. */
  readonly claimed_tier: CompositionTier | null
  /** The claim within the ceiling of the credential. */
  readonly trust_tier: CompositionTier
}

/** In normal form. */
export type CompositionRequest = {
  readonly composition_kind: string
  /** Sorted by `ref_id`, each once. */
  readonly members: readonly ProposedMember[]
  readonly target_ref: string
  readonly authority: CompositionAuthority
  readonly required_trust_tier: CompositionTier
}

export type CompositionMember = ProposedMember & {
  /** The licence in disjunctive form, with what a found composition brings along. */
  readonly license_terms: LicenseTerms
}

export type CompositionDocument = RecordMembers & {
  readonly composition_id: string
  readonly composition_kind: string
  readonly members: readonly CompositionMember[]
  /** Sorted. */
  readonly member_ids: readonly string[]
  readonly members_digest: string
  readonly license_verdict: LicenseVerdict
  readonly target_ref: string
  readonly authority: CompositionAuthority
  readonly required_trust_tier: CompositionTier
}

/** Compares as JCS sorts: by UTF-16 code units. */
const byRefId = (a: { ref_id: string }, b: { ref_id: string }): number =>
  a.ref_id < b.ref_id ? -1 : Number(a.ref_id > b.ref_id)

/** Sorted copies. */
export function sortMembers<M extends { readonly ref_id: string }>(members: readonly M[]): M[] {
  return [...members].sort(byRefId)
}

/** The text that is the same for the same composition asked for in the same way. */
export function compositionContent(request: CompositionRequest): string {
  return canonicalize({ ...request, members: sortMembers(request.members) })
}

/** Hex SHA-256 of the RFC 8785 bytes of the members as they stand in the document. */
export function membersDigest(members: readonly Json[]): string {
  return toHex(sha256(canonicalBytes(members)))
}

const NAMES: readonly Json[] = TIERS
const rankOf = (tier: Json | undefined): number => NAMES.indexOf(tier ?? null)

function requestOf(document: JsonObject): JsonObject | null {
  const { composition_kind = null, members, target_ref = null, authority = null } = document
  const { required_trust_tier = null } = document
  if (!Array.isArray(members)) return null
  const proposed = members.map(proposedOf)
  return { composition_kind, members: proposed, target_ref, authority, required_trust_tier }
}

function proposedOf(member: unknown): JsonObject {
  if (!isObject(member)) return {}
  const { ref_id = null, license = null, certified = null, found = null } = member
  return { ref_id, license, certified, found }
}

function check(document: JsonObject, findings: Findings): void {
  const { members, member_ids, members_digest, authority, required_trust_tier } = document
  const listed = Array.isArray(members) ? members.filter(isObject) : []
  const ids = listed.map(({ ref_id }) => (isText(ref_id) ? ref_id : ''))
  const sorted = sortMembers(ids.map((ref_id) => ({ ref_id }))).map(({ ref_id }) => ref_id)
  const shown = isTextList(member_ids) ? member_ids : []
  const same = shown.length === ids.length && shown.every((id, i) => id === sorted[i])
  const listedOnce = ids.length > 0 && new Set(ids).size === ids.length && ids.every(Boolean)
  const digest = Array.isArray(members) && members_digest === membersDigest(members)
  const what = digest ? 'member_ids are not those of the members' : 'members_digest does not follow'
  record(findings, 'members_consistent', same && listedOnce && digest, what)
  const certified = listed.every((member) => member['certified'] === true)
  record(findings, 'members_certified', certified, 'a member is not certified')
  checkLicenses(document, listed, findings)
  const { claimed_tier = null, trust_tier } = isObject(authority) ? authority : {}
  const [tier, required] = [rankOf(trust_tier), rankOf(required_trust_tier)]
  // What holds is never above what was claimed.
  const claimed = rankOf(claimed_tier ?? 'untrusted')
  const enough = required >= 0 && tier >= required && tier <= claimed
  record(findings, 'tier_sufficient', enough, 'the tier is below the required one, or unclaimed')
  findings.notChecked.push(
    'the members themselves: verify their own records; of those with found null the caller vouches',
    'license_terms: read from license with the SPDX list when the composition was signed',
    'authority: the tier is what the credential allowed at the time',
  )
}

function checkLicenses(
  document: JsonObject,
  members: readonly JsonObject[],
  findings: Findings,
): void {
  const verdict = licenseVerdict(members.map(licensedOf))
  const { license_verdict = null } = document
  const follows = canonicalize(license_verdict) === canonicalize(verdict)
  const what = follows ? verdict.detail : 'license_verdict does not follow from the members'
  record(findings, 'licenses_compatible', follows && verdict.compatible, what)
}

function licensedOf({ ref_id, license_terms }: JsonObject): LicensedMember {
  const terms = Array.isArray(license_terms) ? license_terms : []
  return { ref_id: String(ref_id), license_terms: terms.filter(isTextList) }
}

export const compositionRules: RecordRules = {
  kind: 'composition',
  id_field: 'composition_id',
  schema_version: 'comp/1',
  requestOf,
  check,
}
