// Manifests of bulk erasures: one signed list of all their certificates, and its verification.
import type { JsonObject } from '../core/canonical.ts'
import { type Sha256, sha256 } from '../core/digest.ts'
import { toBase64, toHex } from '../core/encoding.ts'
import type { PublishedKey } from '../core/keys.ts'
import {
  findMismatch,
  isCount,
  isObject,
  isText,
  isTextList,
  optional,
  orNull,
} from '../core/shape.ts'
import { signedBytes, tryBytes } from '../core/signature.ts'
import {
  addCheck,
  checkSignature,
  finishVerdict,
  malformedVerdict,
  startVerdict,
  type Verdict,
  type VerdictDraft,
} from '../core/verdict.ts'
import { appendLeaf, EMPTY_FRONTIER, type Frontier, frontierRoot, leafHash } from '../log/merkle.ts'
import { certificateBytes, verifyCertificate } from './certificate.ts'

/**
 * `erased`: a certificate states the erasure. `held`: a legal hold prevented it. `absent`: neither
 * the thing nor a certificate of it existed any more.
 */
export type ManifestOutcome = 'erased' | 'held' | 'absent'

/** One item to be erased: a memory, the text of a decision, or the text of another record. */
export type ManifestEntry = {
  readonly fact_ref?: number
  readonly decision_id?: string
  /** Kind and id of a record that is neither a memory nor a decision. */
  readonly subject_kind?: string
  readonly subject_id?: string
  readonly outcome: ManifestOutcome
  /** Null unless `erased`. */
  readonly certificate_id: string | null
  /** Hex SHA-256 of the certificate's signed bytes; null unless `erased`. */
  readonly certificate_digest: string | null
}

/** Counts of the items that were found at the time of the request. */
export type ManifestCounts = {
  readonly facts: number
  readonly superseded_facts: number
  readonly decisions_using: number
  readonly decisions_naming: number
  readonly held: number
  /** Number of other records whose texts match; absent in version 1. */
  readonly texts?: number
}

/** The signed members of a manifest; no word of the search is in it. Times are RFC 3339. */
export type ErasureManifest = {
  readonly record_kind: 'erasure_manifest'
  readonly request_id: string
  readonly tenant_id: string
  readonly kind: 'erase'
  readonly status: 'done' | 'done_with_holds'
  /** HMAC of the search under a salt of the tenant; reveals only whether a search is repeated. */
  readonly find_label: string
  /** Hex SHA-256 of the refs and decision ids found at the time of the request. */
  readonly found_digest: string
  readonly found: ManifestCounts
  /** Number of entries found later: by searching again, or as versions of found memories. */
  readonly found_later: number
  /** Whether later writes were searched, because the search text was available until the end. */
  readonly searched_again: boolean
  readonly not_searched: readonly string[]
  readonly received_at: string
  readonly due_at: string
  readonly started_at: string
  readonly completed_at: string
  /** Origin of the log to which the positions refer. */
  readonly origin: string
  /** Log position up to which the first search saw everything; -1 if the log was empty. */
  readonly log_seq: number
  /** Log position up to which the last search saw everything. */
  readonly searched_to_seq: number
  /** Number of entries that have a certificate. */
  readonly certificates: number
  /** Hex root (RFC 6962, 2.1) over the signed bytes of the certificates, in the entries' order. */
  readonly certificates_root: string
  /** Memories by ref, decisions by id, other records by kind and id; each ascending. */
  readonly entries: readonly ManifestEntry[]
}

/** A manifest as the API returns it; signature and key are base64. */
export type SignedManifest = ErasureManifest & {
  readonly signature: string
  readonly public_key: string
  readonly key_id: string
}

const KIND = 'erasure_manifest'

/**
 * The message of a manifest's signature, in version 2 of the domain if `found` counts `texts`,
 * otherwise in version 1. Throws ProofError `not_canonical`.
 */
export const manifestBytes = (manifest: ErasureManifest | JsonObject): Uint8Array =>
  signedBytes(KIND, manifest, countsTexts(manifest) ? 2 : 1)

function countsTexts({ found }: ErasureManifest | JsonObject): boolean {
  return isObject(found) && found['texts'] !== undefined
}

/** Computes the Merkle root of certificates, which are added in the order of the entries. */
export class CertificatesRoot {
  #frontier: Frontier = EMPTY_FRONTIER
  readonly #hash: Sha256

  constructor(hash: Sha256 = sha256) {
    this.#hash = hash
  }

  get count(): number {
    return this.#frontier.size
  }

  /** @param bytes the signed bytes of a certificate */
  add(bytes: Uint8Array): void {
    const leaf = leafHash(bytes, this.#hash)
    this.#frontier = appendLeaf(this.#frontier, leaf, { hash: this.#hash })
  }

  hex(): string {
    return toHex(frontierRoot(this.#frontier, this.#hash))
  }
}

const isSeq = (value: unknown): boolean => isCount(value) || value === -1

const isFound = (value: unknown): boolean => isObject(value) && findMismatch(value, FOUND) === null

const FOUND = {
  facts: isCount,
  superseded_facts: isCount,
  decisions_using: isCount,
  decisions_naming: isCount,
  held: isCount,
  texts: optional(isCount),
}

const SHAPE = {
  record_kind: (value: unknown) => value === KIND,
  request_id: isText,
  tenant_id: isText,
  kind: isText,
  status: isText,
  find_label: isText,
  found_digest: isText,
  found: isFound,
  found_later: isCount,
  searched_again: (value: unknown) => typeof value === 'boolean',
  not_searched: isTextList,
  received_at: isText,
  due_at: isText,
  started_at: isText,
  completed_at: isText,
  origin: isText,
  log_seq: isSeq,
  searched_to_seq: isSeq,
  certificates: isCount,
  certificates_root: isText,
  entries: Array.isArray,
}

const ENTRY = {
  outcome: (value: unknown) => value === 'erased' || value === 'held' || value === 'absent',
  certificate_id: orNull(isText),
  certificate_digest: orNull(isText),
}

function isEntry(value: unknown): value is ManifestEntry {
  if (!isObject(value) || findMismatch(value, ENTRY) !== null) return false
  const { fact_ref, decision_id, subject_kind, subject_id } = value
  const named = [isCount(fact_ref), isText(decision_id), isText(subject_kind)].filter(Boolean)
  const certified = value['outcome'] === 'erased'
  return (
    named.length === 1 &&
    isText(subject_kind) === isText(subject_id) &&
    isText(value['certificate_id']) === certified &&
    isText(value['certificate_digest']) === certified
  )
}

/**
 * Verifies a manifest: its signature, and the order and counts of its entries. If certificates are
 * given, each entry has exactly one that verifies, names the subject and has the digest of the
 * entry, none is left over, and the root follows from them. It proves who stated this and when, not
 * that the search found everything. Never throws.
 */
export async function verifyManifest(
  manifest: unknown,
  keys: readonly PublishedKey[],
  certificates?: readonly unknown[],
): Promise<Verdict> {
  if (!isObject(manifest)) return malformedVerdict(KIND, 'not an object')
  const misfit = findMismatch(manifest, SHAPE)
  if (misfit !== null) return malformedVerdict(KIND, misfit)
  const { entries } = manifest
  if (!Array.isArray(entries) || !entries.every(isEntry)) return malformedVerdict(KIND, 'entries')
  const message = tryBytes(() => manifestBytes(manifest))
  if (message === null) return malformedVerdict(KIND, 'no canonical form')

  const findings = startVerdict()
  const shown = manifest['signed_bytes'] ?? null
  if (shown !== null)
    addCheck(findings, 'signed_bytes', shown === toBase64(message), 'do not follow from the record')
  const { signature, public_key, key_id } = manifest
  const claim = { message, signature, public_key, key_id, purpose: 'erasure' }
  await checkSignature(findings, { ...claim, at: String(manifest['completed_at']) }, keys)
  checkEntries(findings, manifest, entries)
  const given = certificates ?? (manifest['certificates'] === 0 ? [] : undefined)
  if (given) await checkCertificates(findings, { manifest, entries, given, keys })
  else findings.notChecked.push('the certificates that the manifest lists: they were not given')
  findings.notChecked.push('whether the search has found everything: the manifest says what it did')
  return finishVerdict(KIND, findings)
}

function checkEntries(
  findings: VerdictDraft,
  manifest: JsonObject,
  entries: readonly ManifestEntry[],
): void {
  const sorted = entries.every((entry, i) => {
    const before = entries[i - 1]
    return before === undefined || comesBefore(before, entry)
  })
  const known = countsTexts(manifest) || entries.every((entry) => entry.subject_kind === undefined)
  addCheck(findings, 'entries', sorted && known, 'not in order, or one is there twice')
  const certified = entries.filter(({ certificate_id }) => certificate_id !== null).length
  addCheck(findings, 'counts', certified === manifest['certificates'], 'differ from the entries')
  const { found, found_later } = manifest
  const { facts, decisions_naming, texts = 0 } = isObject(found) ? found : {}
  const all = Number(facts) + Number(decisions_naming) + Number(texts) + Number(found_later)
  addCheck(findings, 'found', all === entries.length, 'differs from the number of entries')
  const held = entries.some(({ outcome }) => outcome === 'held')
  const status = held ? 'done_with_holds' : 'done'
  addCheck(findings, 'status', manifest['status'] === status, 'does not follow from the entries')
}

function comesBefore(a: ManifestEntry, b: ManifestEntry): boolean {
  const [rankA, rankB] = [rankOf(a), rankOf(b)]
  if (rankA !== rankB) return rankA < rankB
  if (a.fact_ref !== undefined) return a.fact_ref < (b.fact_ref ?? -1)
  return nameOf(a) < nameOf(b)
}

const rankOf = ({ fact_ref, decision_id }: ManifestEntry): number =>
  fact_ref !== undefined ? 1 : decision_id !== undefined ? 2 : 3

const nameOf = ({ decision_id, subject_kind, subject_id }: ManifestEntry): string =>
  decision_id ?? `${subject_kind}/${subject_id}`

async function checkCertificates(
  findings: VerdictDraft,
  {
    manifest,
    entries,
    given,
    keys,
  }: {
    readonly manifest: JsonObject
    readonly entries: readonly ManifestEntry[]
    readonly given: readonly unknown[]
    readonly keys: readonly PublishedKey[]
  },
): Promise<void> {
  const byId = new Map<string, JsonObject>()
  for (const one of given)
    if (isObject(one) && isText(one['certificate_id'])) byId.set(one['certificate_id'], one)
  const wanted = entries.filter(({ certificate_id }) => certificate_id !== null)
  const missing = wanted.find(({ certificate_id }) => !byId.has(certificate_id ?? ''))
  addCheck(findings, 'all_given', missing === undefined, `without ${missing?.certificate_id}`)
  const none = 'there are more than the manifest lists, or one twice'
  addCheck(findings, 'none_extra', given.length <= wanted.length, none)

  const root = new CertificatesRoot()
  let wrong: string | undefined
  for (const entry of wanted) {
    const certificate = byId.get(entry.certificate_id ?? '')
    const bytes = certificate && tryBytes(() => certificateBytes(certificate))
    if (!certificate || !bytes) continue
    root.add(bytes)
    wrong ??= differs(manifest, entry, certificate, bytes)
    if (wrong !== undefined) continue
    const { valid, reason } = await verifyCertificate(certificate, keys)
    if (!valid) wrong = `${entry.certificate_id}: ${reason}`
  }
  addCheck(findings, 'certificates', wrong === undefined, wrong)
  const follows = root.hex() === manifest['certificates_root']
  addCheck(findings, 'certificates_root', follows, 'does not follow from the certificates')
}

function differs(
  manifest: JsonObject,
  entry: ManifestEntry,
  certificate: JsonObject,
  bytes: Uint8Array,
): string | undefined {
  const { tenant_id, outcome } = certificate
  const name = entry.certificate_id
  if (entry.certificate_digest !== toHex(sha256(bytes))) return `${name} has another digest`
  if (tenant_id !== manifest['tenant_id']) return `${name} is of another tenant`
  if (!isAbout(certificate, entry)) return `${name} is about something else`
  return outcome === 'nothing_found' ? `${name} says that nothing was found` : undefined
}

function isAbout(certificate: JsonObject, entry: ManifestEntry): boolean {
  const { fact_ref, decision_id, subject_kind, subject_id } = certificate
  if (entry.fact_ref !== undefined) return fact_ref === entry.fact_ref
  return (
    fact_ref === null &&
    decision_id === entry.decision_id &&
    subject_kind === entry.subject_kind &&
    subject_id === entry.subject_id
  )
}
