// Compositions: members that are used together, the verdict on their licences, and the authority.
import { canonicalBytes, canonicalize, type Json, type JsonObject } from '../core/canonical.ts'
import { sha256 } from '../core/digest.ts'
import { toHex } from '../core/encoding.ts'
import { isObject, isText, isTextList, orNull } from '../core/shape.ts'
import { addCheck, type VerdictDraft } from '../core/verdict.ts'
import { checkShape, exactObject, isAnything, isBoolean, listOf } from './document-shape.ts'
import {
  type LicensedMember,
  type LicenseTerms,
  type LicenseVerdict,
  licenseVerdict,
} from './licenses/license-verdict.ts'
import type { RecordMembers, RecordRules } from './registry-record.ts'

/** A member's state in the tenant's registries when the composition was proposed. */
export type MemberSnapshot = {
  readonly kind: 'artifact' | 'landing' | 'corpus' | 'composition'
  readonly id: string
  readonly status: string
  /** The licences that its record and the records it refers to state; may be empty. */
  readonly licenses: readonly string[]
}

/** The status that a record of each kind must have to count as verified. */
export const MEMBER_STANDING: Readonly<Record<MemberSnapshot['kind'], string>> = {
  artifact: 'certified',
  landing: 'issued',
  corpus: 'sealed',
  composition: 'governed',
}

/** A member with the caller's claims, and with what was found in the registries. */
export type ProposedMember = {
  readonly ref_id: string
  readonly license: string
  readonly certified: boolean
  /** The registered member; null if only the caller states it. */
  readonly found: MemberSnapshot | null
}

/** Trust tiers in ascending order. */
const TIERS = ['untrusted', 'basic', 'verified', 'trusted', 'release', 'root'] as const
export type CompositionTier = (typeof TIERS)[number]

export type CompositionAuthority = {
  readonly delegation_ref: string | null
  readonly human_principal: string | null
  /** The tier that the caller claims; null if no claim was made. */
  readonly claimed_tier: CompositionTier | null
  /** The effective tier: the claimed one, limited by the credential. */
  readonly trust_tier: CompositionTier
}

/** The request for a composition, in normal form. */
export type CompositionRequest = {
  readonly composition_kind: string
  /** The members, sorted by `ref_id`, without duplicates. */
  readonly members: readonly ProposedMember[]
  readonly target_ref: string
  readonly authority: CompositionAuthority
  readonly required_trust_tier: CompositionTier
}

export type CompositionMember = ProposedMember & {
  /** The licence in disjunctive form. */
  readonly license_terms: LicenseTerms
  /** The terms of each of `found.licenses`, which apply in addition. */
  readonly found_terms: readonly LicenseTerms[]
}

export type CompositionDocument = RecordMembers & {
  readonly composition_id: string
  readonly composition_kind: string
  readonly members: readonly CompositionMember[]
  /** Ids of the members, sorted. */
  readonly member_ids: readonly string[]
  readonly members_digest: string
  readonly license_verdict: LicenseVerdict
  readonly target_ref: string
  readonly authority: CompositionAuthority
  readonly required_trust_tier: CompositionTier
}

/** Orders by UTF-16 code units, as JCS does. */
const byRefId = (a: { ref_id: string }, b: { ref_id: string }): number =>
  a.ref_id < b.ref_id ? -1 : Number(a.ref_id > b.ref_id)

/** Returns the members in a new array, sorted by `ref_id`. */
export function sortMembers<M extends { readonly ref_id: string }>(members: readonly M[]): M[] {
  return [...members].sort(byRefId)
}

/** A text that is equal for equal requests. */
export function compositionContent(request: CompositionRequest): string {
  return canonicalize({ ...request, members: sortMembers(request.members) })
}

/** Hex SHA-256 of the RFC 8785 bytes of the members in the document. */
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

/** The verdict on all licences of all members. */
export const compositionVerdict = (
  members: readonly Pick<CompositionMember, 'ref_id' | 'license_terms' | 'found_terms'>[],
): LicenseVerdict =>
  licenseVerdict(
    members.flatMap(({ ref_id, license_terms, found_terms }) =>
      [license_terms, ...found_terms].map((terms): LicensedMember => {
        return { ref_id, license_terms: terms }
      }),
    ),
  )

const TERMS = listOf(isTextList)
const FOUND = exactObject({ kind: isText, id: isText, status: isText, licenses: isTextList })
const MEMBER = exactObject({
  ...{ ref_id: isText, license: isText, certified: isBoolean, found: orNull(FOUND) },
  ...{ license_terms: TERMS, found_terms: listOf(TERMS) },
})
const TEXT_OR_NULL = orNull(isText)

const SHAPE = {
  ...{ composition_id: isText, composition_kind: isText, target_ref: isText },
  ...{ members: listOf(MEMBER), member_ids: isTextList, members_digest: isText },
  license_verdict: isAnything,
  authority: exactObject({
    ...{ delegation_ref: TEXT_OR_NULL, human_principal: TEXT_OR_NULL },
    ...{ claimed_tier: TEXT_OR_NULL, trust_tier: isText },
  }),
  required_trust_tier: isText,
}

function check(document: JsonObject, findings: VerdictDraft): void {
  const { members, authority, required_trust_tier } = document
  checkShape(document, SHAPE, findings)
  const listed = Array.isArray(members) ? members.filter(isObject) : []
  checkListed(document, listed, findings)
  const certified = listed.every((member) => member['certified'] === true)
  addCheck(findings, 'members_certified', certified, 'a member is not certified')
  const doubtful = listed.find((member) => !isStanding(member))
  const where = `${doubtful?.['ref_id']} was not found in a state that vouches for it`
  addCheck(findings, 'members_standing', doubtful === undefined, where)
  checkLicenses(document, listed, findings)
  const { claimed_tier = null, trust_tier } = isObject(authority) ? authority : {}
  const [tier, required] = [rankOf(trust_tier), rankOf(required_trust_tier)]
  // The effective tier must not be above the claimed one.
  const claimed = rankOf(claimed_tier ?? 'untrusted')
  const enough = required >= 0 && tier >= required && tier <= claimed
  addCheck(findings, 'tier_sufficient', enough, 'the tier is below the required one, or unclaimed')
  findings.notChecked.push(...notCheckedOf(listed))
}

function checkListed(
  { members, member_ids, members_digest }: JsonObject,
  listed: readonly JsonObject[],
  findings: VerdictDraft,
): void {
  const ids = listed.map(({ ref_id }) => (isText(ref_id) ? ref_id : ''))
  const sorted = sortMembers(ids.map((ref_id) => ({ ref_id }))).map(({ ref_id }) => ref_id)
  const shown = isTextList(member_ids) ? member_ids : []
  const same = shown.length === ids.length && shown.every((id, i) => id === sorted[i])
  const listedOnce = ids.length > 0 && new Set(ids).size === ids.length && ids.every(Boolean)
  const digest = Array.isArray(members) && members_digest === membersDigest(members)
  const what = digest ? 'member_ids are not those of the members' : 'members_digest does not follow'
  addCheck(findings, 'members_consistent', same && listedOnce && digest, what)
}

/** Whether a member was not found, or has the required status and terms for each licence. */
function isStanding({ found = null, found_terms }: JsonObject): boolean {
  const terms = Array.isArray(found_terms) ? found_terms.length : 0
  if (found === null) return terms === 0
  if (!isObject(found)) return false
  const { kind, status, licenses } = found
  const standing = Object.entries(MEMBER_STANDING).some(([k, s]) => k === kind && s === status)
  return standing && isTextList(licenses) && licenses.length === terms
}

function notCheckedOf(listed: readonly JsonObject[]): string[] {
  const silent = listed.filter(({ found }) => isObject(found) && !hasItems(found['licenses']))
  const names = silent.map(({ ref_id }) => JSON.stringify(ref_id)).join(', ')
  return [
    'the members themselves: verify their own records; of those with found null the caller vouches',
    'license_terms and found_terms: read with the SPDX list when the composition was signed',
    'authority: the tier is what the credential allowed at the time',
    ...(silent.length === 0 ? [] : [`license of ${names}: their records state none to compare`]),
  ]
}

const hasItems = (value: unknown): boolean => Array.isArray(value) && value.length > 0

function checkLicenses(
  document: JsonObject,
  members: readonly JsonObject[],
  findings: VerdictDraft,
): void {
  const verdict = compositionVerdict(members.map(licensedOf))
  const { license_verdict = null } = document
  const follows = canonicalize(license_verdict) === canonicalize(verdict)
  const what = follows ? verdict.detail : 'license_verdict does not follow from the members'
  addCheck(findings, 'licenses_compatible', follows && verdict.compatible, what)
}

function licensedOf({ ref_id, license_terms, found_terms }: JsonObject) {
  const found = Array.isArray(found_terms) ? found_terms : []
  return {
    ref_id: String(ref_id),
    license_terms: termsOf(license_terms),
    found_terms: found.map(termsOf),
  }
}

const termsOf = (value: unknown): LicenseTerms =>
  Array.isArray(value) ? value.filter(isTextList) : []

export const compositionRules: RecordRules = {
  kind: 'composition',
  id_field: 'composition_id',
  schema_version: 'comp/1',
  requestOf,
  check,
}
