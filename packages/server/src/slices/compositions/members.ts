// Examines the members of a composition: their claims, their records and their licences.

import { COMPOSITION_LICENSES_BYTES_MAX, COMPOSITION_SIGNED_BYTES_MAX } from '@custos/contract'
import {
  artifactContent,
  type CompositionMember,
  compositionVerdict,
  conflictText,
  isObject,
  type JsonObject,
  type LicenseTerms,
  type LicenseVerdict,
  MEMBER_STANDING,
  type MemberSnapshot,
  NO_LICENSE,
  NOT_SPDX,
  type ProposedMember,
  sortMembers,
} from '@custos/proof'
import { jsonByteLength } from '../../platform/bytes.ts'
import { yieldBetweenChunks } from '../../platform/yield-between-chunks.ts'
import {
  findByContent,
  findByName,
  findRecord,
  type OpenRecord,
  type TenantRecords,
} from '../records/index.ts'
import { ALTERNATIVES_MAX, isSameLicense, licenseTerms } from './license-terms.ts'

interface ClaimedMember {
  readonly ref_id: string
  readonly license: string
  readonly certified: boolean
}

/** `members`: sorted, each once. `reasons`: why it is refused; empty: it is not. */
export async function examineMembers(tenant: TenantRecords, claims: readonly ClaimedMember[]) {
  const reasons: string[] = []
  const members: CompositionMember[] = []
  const findMember = memberLookup(tenant)
  const pace = yieldBetweenChunks()
  const sorted = sortMembers(dropDuplicates(claims, reasons))
  // If a member's licences are unread, the verdict's reasons are meaningless and are omitted.
  let unread = false
  let left = COMPOSITION_LICENSES_BYTES_MAX
  for (const claim of sorted) {
    const lookup = await findMember(claim.ref_id)
    reasons.push(...findContradictions(claim, lookup))
    left -= jsonByteLength(lookup.found?.licenses ?? [])
    if (left < 0) return overLimit([...reasons, TOO_MANY_LICENSES])
    const { member, fault } = withTerms({ ...claim, found: lookup.found })
    if (fault !== null) {
      reasons.push(fault)
      unread = true
    }
    members.push(member)
    await pace()
  }
  if (jsonByteLength(members) > COMPOSITION_SIGNED_BYTES_MAX)
    return overLimit([...reasons, TOO_LARGE])
  const license_verdict = compositionVerdict(members)
  if (jsonByteLength([members, license_verdict]) > COMPOSITION_SIGNED_BYTES_MAX)
    reasons.push(TOO_LARGE)
  if (!unread) reasons.push(...license_verdict.reasons.map((conflict) => conflictText(conflict)))
  return { members, license_verdict, reasons }
}

const TOO_MANY_LICENSES = `the licences that the members found state have more than \
${COMPOSITION_LICENSES_BYTES_MAX} bytes`
const TOO_LARGE = `the members and their licences would be more than \
${COMPOSITION_SIGNED_BYTES_MAX} bytes in the signed record`

const overLimit = (reasons: readonly string[]) => ({
  members: [],
  license_verdict: compositionVerdict([]),
  reasons,
})

/** A member with its licences in the form that the rules evaluate. */
function withTerms(member: ProposedMember): { member: CompositionMember; fault: string | null } {
  const read = [member.license, ...(member.found?.licenses ?? [])].map(licenseTerms)
  const [license_terms = [], ...found_terms] = read.map((terms): LicenseTerms => terms ?? [])
  const fault = read.includes(null) ? tooMany(member) : null
  return { member: { ...member, license_terms, found_terms }, fault }
}

/** The rules' verdict on the members as they were proposed. */
export const verdictOf = (members: readonly ProposedMember[]): LicenseVerdict =>
  compositionVerdict(members.map((member) => withTerms(member).member))

/** A reason for each member that has changed since it was proposed. */
export function findChanges(
  proposed: readonly ProposedMember[],
  members: readonly CompositionMember[],
): string[] {
  return proposed.flatMap(({ ref_id, found }, i) =>
    JSON.stringify(found) === JSON.stringify(members[i]?.found ?? null)
      ? []
      : [`${quoted(ref_id)} is not what it was when this was proposed: propose it again`],
  )
}

/** Merges repeated claims. Different claims for one member are a reason for refusal. */
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
  readonly found: MemberSnapshot | null
  /** The licence that the member's own record states. `null` if it states none. */
  readonly license: string | null
}

const ABSENT: MemberLookup = { found: null, license: null }
const KINDS = ['artifact', 'landing', 'corpus', 'composition'] as const

const RECORD_ID = /^[0-9a-f]{32}$/

/** Opens records that several members refer to only once. */
function memberLookup(tenant: TenantRecords): (ref_id: string) => Promise<MemberLookup> {
  const statedBy = statedLicenses(tenant)
  return async (ref_id) => {
    const hit = (await findById(tenant, ref_id)) ?? (await findNamed(tenant, ref_id))
    if (hit === null) return ABSENT
    const { kind, record } = hit
    const { license, licenses } = await statedBy(kind, record)
    const { record_id: id, status } = record.row
    return { found: { kind, id, status, licenses }, license }
  }
}

async function findById(
  { kernel, tenant_id }: TenantRecords,
  record_id: string,
): Promise<{ readonly kind: (typeof KINDS)[number]; readonly record: OpenRecord } | null> {
  if (!RECORD_ID.test(record_id)) return null
  for (const kind of KINDS) {
    const record = await findRecord(kernel, tenant_id, { kind, record_id })
    if (record) return { kind, record }
  }
  return null
}

/** Finds an artifact by its artifact_ref, or else a composition by its target_ref. */
async function findNamed(
  { kernel, tenant_id }: TenantRecords,
  name: string,
): Promise<{ readonly kind: (typeof KINDS)[number]; readonly record: OpenRecord } | null> {
  for (const kind of ['artifact', 'composition'] as const) {
    const named = await findByName(kernel, tenant_id, { kind, name })
    // Several records may have the name; the newest signed one counts.
    const record = named.find(({ document }) => document !== null) ?? named[0]
    if (record) return { kind, record }
  }
  return null
}

/** Whether the record's status certifies a member of its kind. */
const isStanding = ({ kind, status }: MemberSnapshot): boolean => MEMBER_STANDING[kind] === status

interface StatedLicenses {
  /** The record's own licence, which a claim must equal. `null` if it states none. */
  readonly license: string | null
  /** All licences that apply in addition to a claim; includes `license`. */
  readonly licenses: readonly string[]
}

const NOTHING: StatedLicenses = { license: null, licenses: [] }

/** Reads the licences of many records, and opens a shared record only once. */
function statedLicenses({ kernel, tenant_id }: TenantRecords) {
  const find = (kind: 'artifact' | 'landing' | 'corpus', record_id: unknown) =>
    typeof record_id === 'string' ? findRecord(kernel, tenant_id, { kind, record_id }) : null
  const corpora = memoize(async (record_id: string) =>
    ofCorpus((await find('corpus', record_id))?.document ?? {}),
  )
  // The artifact may come from any of these compositions, so the licences of all of them apply.
  const composed = memoize(async (name: string) => {
    const named = await findByName(kernel, tenant_id, { kind: 'composition', name })
    return named.flatMap(({ document }) => ofComposition(document ?? {}))
  })

  const ofCertificate = async (certificate: OpenRecord | null): Promise<readonly string[]> => {
    const { corpus_id } = evidenceOf(certificate)
    return typeof corpus_id === 'string' ? corpora(corpus_id) : []
  }
  const ofArtifact = async ({ request }: OpenRecord): Promise<StatedLicenses> => {
    const license = licenseOf(request)
    const own = license === null ? [] : [license]
    return { license, licenses: [...own, ...(await composed(String(request['artifact_ref'])))] }
  }
  const ofLanding = async (certificate: OpenRecord): Promise<StatedLicenses> => {
    const artifact =
      (await find('artifact', evidenceOf(certificate)['artifact_id'])) ??
      (await findCertified({ kernel, tenant_id }, certificate))
    const stated = artifact === null ? NOTHING : await ofArtifact(artifact)
    return addLicenses(stated, await ofCertificate(certificate))
  }

  const of = {
    artifact: async (artifact: OpenRecord) =>
      addLicenses(
        await ofArtifact(artifact),
        await ofCertificate(await find('landing', artifact.row.linked_id)),
      ),
    landing: ofLanding,
    corpus: async ({ row }: OpenRecord) => addLicenses(NOTHING, await corpora(row.record_id)),
    composition: async ({ document }: OpenRecord) =>
      addLicenses(NOTHING, ofComposition(document ?? {})),
  }
  return (kind: keyof typeof of, record: OpenRecord): Promise<StatedLicenses> => of[kind](record)
}

function memoize<T>(read: (key: string) => Promise<T>): (key: string) => Promise<T> {
  const known = new Map<string, T>()
  return async (key) => {
    const found = known.get(key) ?? (await read(key))
    known.set(key, found)
    return found
  }
}

const addLicenses = (
  { license, licenses }: StatedLicenses,
  more: readonly string[],
): StatedLicenses => ({
  license,
  licenses: [...new Set([...licenses, ...more])].sort(),
})

/** Finds the artifact of a certificate, if it was registered after the certificate. */
async function findCertified(
  { kernel, tenant_id }: TenantRecords,
  { document }: OpenRecord,
): Promise<OpenRecord | null> {
  const artifact = document?.['artifact']
  if (!isObject(artifact) || !Array.isArray(artifact['layer_hashes'])) return null
  const { artifact_ref, base_model_ref, kind, layer_hashes } = artifact
  const content = artifactContent({
    artifact_ref: String(artifact_ref),
    base_model_ref: String(base_model_ref),
    kind: String(kind),
    layer_hashes: layer_hashes.map(String),
  })
  return findByContent(kernel, tenant_id, { kind: 'artifact', content })
}

function evidenceOf(certificate: OpenRecord | null): JsonObject {
  const conformance = certificate?.document?.['conformance']
  const evidence = isObject(conformance) ? conformance['evidence'] : null
  return isObject(evidence) ? evidence : {}
}

/** The distinct licences of a corpus's sources; NO_LICENSE for a source with a lawful basis. */
function ofCorpus({ sources }: JsonObject): readonly string[] {
  const listed = Array.isArray(sources) ? sources.filter(isObject) : []
  return [...new Set(listed.map(({ license }) => textOf(license) ?? NO_LICENSE))]
}

/** The licences of a composition's verdict, in the caller's spelling. */
function ofComposition({ license_verdict }: JsonObject): string[] {
  const terms = isObject(license_verdict) ? license_verdict['terms'] : undefined
  const texts = Array.isArray(terms) ? terms.filter((term) => typeof term === 'string') : []
  return texts.map((term) => (term.startsWith(NOT_SPDX) ? term.slice(NOT_SPDX.length) : term))
}

const licenseOf = ({ metadata }: JsonObject): string | null =>
  isObject(metadata) ? textOf(metadata['license']) : null

const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : null
