// Whether a composition can stand: its members as claimed and as found, then their licences.

import { COMPOSITION_LICENSES_BYTES_MAX, COMPOSITION_SIGNED_BYTES_MAX } from '@custos/contract'
import {
  type CompositionMember,
  compositionVerdict,
  conflictText,
  type FoundMember,
  type LicenseTerms,
  type LicenseVerdict,
  MEMBER_STANDING,
  type ProposedMember,
  sortMembers,
} from '@custos/proof'
import { makePacer } from '../../platform/pacer.ts'
import { findByName, findRecord, type OpenRecord } from '../records/index.ts'
import { ALTERNATIVES_MAX, isSameLicense, licenseTerms } from './license-terms.ts'
import { statedLicenses, type TenantRegistries } from './stated-licenses.ts'

export interface ClaimedMember {
  readonly ref_id: string
  readonly license: string
  readonly certified: boolean
}

export interface MemberExamination {
  /** Sorted, each once. */
  readonly members: readonly CompositionMember[]
  readonly license_verdict: LicenseVerdict
  /** Empty: nothing is in the way. */
  readonly reasons: readonly string[]
}

export async function examineMembers(
  where: TenantRegistries,
  claims: readonly ClaimedMember[],
): Promise<MemberExamination> {
  const reasons: string[] = []
  const members: CompositionMember[] = []
  const lookUp = memberLookup(where)
  const pace = makePacer()
  const sorted = sortMembers(dropDuplicates(claims, reasons))
  let left = COMPOSITION_LICENSES_BYTES_MAX
  for (const claim of sorted) {
    const looked = await lookUp(claim.ref_id)
    reasons.push(...findContradictions(claim, looked))
    left -= bytesOf(looked.found?.licenses ?? [])
    if (left < 0) return overLimit([...reasons, TOO_MANY_LICENSES])
    const { member, fault } = withTerms({ ...claim, found: looked.found })
    if (fault !== null) reasons.push(fault)
    members.push(member)
    await pace()
  }
  if (bytesOf(members) > COMPOSITION_SIGNED_BYTES_MAX) return overLimit([...reasons, TOO_LARGE])
  const license_verdict = compositionVerdict(members)
  if (bytesOf([members, license_verdict]) > COMPOSITION_SIGNED_BYTES_MAX) reasons.push(TOO_LARGE)
  if (reasons.length === 0)
    reasons.push(...license_verdict.reasons.map((conflict) => conflictText(conflict)))
  return { members, license_verdict, reasons }
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

const TOO_MANY_LICENSES = `the licences that the members found state have more than \
${COMPOSITION_LICENSES_BYTES_MAX} bytes`
const TOO_LARGE = `the members and their licences would be more than \
${COMPOSITION_SIGNED_BYTES_MAX} bytes in the signed record`

const overLimit = (reasons: readonly string[]): MemberExamination => ({
  members: [],
  license_verdict: compositionVerdict([]),
  reasons,
})

/** A member with its licences in the form that the rules read. */
function withTerms(member: ProposedMember): { member: CompositionMember; fault: string | null } {
  const read = [member.license, ...(member.found?.licenses ?? [])].map(licenseTerms)
  const [license_terms = [], ...found_terms] = read.map((terms): LicenseTerms => terms ?? [])
  const fault = read.includes(null) ? tooMany(member) : null
  return { member: { ...member, license_terms, found_terms }, fault }
}

/** What the rules say of members as they were proposed. */
export const verdictOf = (members: readonly ProposedMember[]): LicenseVerdict =>
  compositionVerdict(members.map((member) => withTerms(member).member))

/** What has become of the members since they were proposed. */
export function findChanges(
  proposed: readonly ProposedMember[],
  members: readonly CompositionMember[],
): string[] {
  return proposed.flatMap(({ ref_id, found }, i) =>
    isSameFound(found, members[i]?.found ?? null)
      ? []
      : [`${quoted(ref_id)} is not what it was when this was proposed: propose it anew`],
  )
}

type Found = ProposedMember['found']

const isSameFound = (a: Found, b: Found): boolean => JSON.stringify(a) === JSON.stringify(b)

/** Without those that are listed again with the same claims. */
function dropDuplicates(claims: readonly ClaimedMember[], reasons: string[]): ClaimedMember[] {
  const once = new Map<string, ClaimedMember>()
  for (const { ref_id, license, certified } of claims) {
    const known = once.get(ref_id)
    if (known === undefined) once.set(ref_id, { ref_id, license, certified })
    else if (known.license !== license || known.certified !== certified)
      reasons.push(`${quoted(ref_id)} is listed twice with different claims`)
  }
  return [...once.values()]
}

function findContradictions(claim: ClaimedMember, { found, license }: MemberLookup): string[] {
  const name = quoted(claim.ref_id)
  if (!claim.certified) return [`${name} is not certified`]
  const reasons: string[] = []
  if (found !== null && !isStanding(found)) {
    const { kind, status } = found
    reasons.push(`${name} is claimed to be certified, but the ${kind} found is ${status}`)
  }
  if (license !== null && !isSameLicense(license, claim.license)) {
    const claimed = quoted(claim.license)
    reasons.push(`${name} is claimed to be under ${claimed}, but is registered under another`)
  }
  return reasons
}

const tooMany = ({ ref_id }: ProposedMember): string =>
  `the licence of ${quoted(ref_id)} has more than ${ALTERNATIVES_MAX} alternatives`

const quoted = (text: string): string => JSON.stringify(text)

interface MemberLookup {
  readonly found: FoundMember | null
  /** The licence that its own record states; null where it states none. */
  readonly license: string | null
}

const ABSENT: MemberLookup = { found: null, license: null }
const KINDS = ['artifact', 'landing', 'corpus', 'composition'] as const
type MemberKind = (typeof KINDS)[number]

interface MemberRecord {
  readonly kind: MemberKind
  readonly record: OpenRecord
}

const RECORD_ID = /^[0-9a-f]{32}$/

/** Looks one member after the other up. */
function memberLookup(where: TenantRegistries): (ref_id: string) => Promise<MemberLookup> {
  const statedBy = statedLicenses(where)
  return async (ref_id) => {
    const hit = (await byId(where, ref_id)) ?? (await byName(where, ref_id))
    if (hit === null) return ABSENT
    const { kind, record } = hit
    const { license, licenses } = await statedBy(kind, record)
    const { record_id: id, status } = record.row
    return { found: { kind, id, status, licenses }, license }
  }
}

async function byId(
  { kernel, tenant_id }: TenantRegistries,
  record_id: string,
): Promise<MemberRecord | null> {
  if (!RECORD_ID.test(record_id)) return null
  for (const kind of KINDS) {
    const record = await findRecord(kernel, tenant_id, { kind, record_id })
    if (record) return { kind, record }
  }
  return null
}

/** An artifact by its artifact_ref, or else a composition by its target_ref. */
async function byName(
  { kernel, tenant_id }: TenantRegistries,
  name: string,
): Promise<MemberRecord | null> {
  for (const kind of ['artifact', 'composition'] as const) {
    const named = await findByName(kernel, tenant_id, { kind, name })
    // Many may have the name: the newest of those that do not wait is meant.
    const record = named.find(({ document }) => document !== null) ?? named[0]
    if (record) return { kind, record }
  }
  return null
}

/** Whether a record that was found vouches for itself. */
const isStanding = ({ kind, status }: FoundMember): boolean => MEMBER_STANDING[kind] === status
