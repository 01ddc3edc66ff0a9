// Provenance corpora: the sources of a training set, their licences and their Merkle tree.
import { canonicalBytes, canonicalize, type Json, type JsonObject } from '../core/canonical.ts'
import { type Sha256, sha256 } from '../core/digest.ts'
import { toHex, utf8 } from '../core/encoding.ts'
import { isCount, isObject, isText } from '../core/shape.ts'
import { addCheck, type VerdictDraft } from '../core/verdict.ts'
import { appendLeaf, EMPTY_FRONTIER, frontierRoot, leafHash } from '../log/merkle.ts'
import { absentOr, checkShape, listOf, objectWith } from './document-shape.ts'
import type { RecordMembers, RecordRules } from './registry-record.ts'

/**
 * One source in normal form: `license`, `lawful_basis`, `content_hash` (SHA-256 in lower-case hex)
 * and `record_count` if they are given, and any other members of the caller.
 */
export type CorpusSource = JsonObject & { readonly id: string }

/** The corpus that a caller registers, in normal form. */
export type CorpusContent = {
  readonly name: string
  /** The sources in the caller's order, with unique ids; never empty. */
  readonly sources: readonly CorpusSource[]
  readonly attestations: JsonObject
  readonly processing: readonly Json[]
  readonly metadata: JsonObject
}

/** Values derived from the sources and the statements about them. */
export type CorpusDerived = {
  readonly source_count: number
  readonly sources_digest: string
  readonly merkle_root: string
  readonly corpus_hash: string
}

/**
 * The proposed form of a corpus: root and digest replace the sources, so that ten thousand sources
 * are hashed once and not for every digest of the proposal.
 */
export type CorpusRequest = Omit<CorpusContent, 'sources'> & Omit<CorpusDerived, 'corpus_hash'>

export type CorpusDocument = RecordMembers &
  CorpusContent &
  CorpusDerived & { readonly corpus_id: string; readonly clearance: 'cleared' }

/** Makes the proposed form of a corpus. */
export function corpusRequest(corpus: CorpusContent, derived: CorpusDerived): CorpusRequest {
  const { name, attestations, processing, metadata } = corpus
  const { source_count, sources_digest, merkle_root } = derived
  return { name, attestations, processing, metadata, source_count, sources_digest, merkle_root }
}

/** The RFC 6962 leaf hash of a source: SHA-256(0x00 ‖ RFC 8785 bytes of the source). */
export function sourceLeaf(source: JsonObject, hash: Sha256 = sha256): Uint8Array {
  return leafHash(canonicalBytes(source), hash)
}

/** The input of the digests. It is not validated, because a verifier reads it from a document. */
export type CorpusParts = {
  readonly sources: readonly JsonObject[]
} & { readonly [member in 'name' | 'processing' | 'attestations']: Json }

/** Computes the digests of a corpus; see `derivation`. */
export function deriveCorpus(parts: CorpusParts, hash: Sha256 = sha256): CorpusDerived {
  return runToEnd(derivation(parts, hash))
}

/**
 * - `merkle_root`: hex RFC 6962 tree hash over the leaves of the sources, in the order given
 * - `sources_digest`: hex SHA-256 of the RFC 8785 bytes of the list of sources
 * - `corpus_hash`: hex SHA-256 of the RFC 8785 bytes of
 *   `{name, sources, processing, attestations, merkle_root}`. `metadata` is not part of the
 *   identity of a corpus; the id and the signature cover it.
 *
 * Yields between steps, so that a server can do other work.
 */
export function* derivation(
  { name, sources, processing, attestations }: CorpusParts,
  hash: Sha256 = sha256,
): Generator<void, CorpusDerived> {
  const texts: string[] = []
  let frontier = EMPTY_FRONTIER
  for (const source of sources) {
    const text = canonicalize(source)
    texts.push(text)
    frontier = appendLeaf(frontier, leafHash(utf8(text), hash), { hash })
    if (frontier.size % STEP_LEAVES === 0) yield
  }
  const merkle_root = toHex(frontierRoot(frontier, hash))
  const list = `[${texts.join(',')}]`
  const sources_digest = toHex(hash(utf8(list)))
  yield
  // RFC 8785 sorts `sources` last of the five names, so its canonical text can be appended.
  const before = canonicalize({ attestations, merkle_root, name, processing }).slice(0, -1)
  const corpus_hash = toHex(hash(utf8(`${before},"sources":${list}}`)))
  return { source_count: sources.length, sources_digest, merkle_root, corpus_hash }
}

/** Number of leaves that are hashed in one step. */
export const STEP_LEAVES = 500

/** Runs all steps of a generator and returns its result. */
export function runToEnd<T>(steps: Generator<void, T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** Attestations that every corpus needs, after Article 10 of Regulation (EU) 2024/1689. */
export const REQUIRED_ATTESTATIONS = ['representativeness', 'bias_examination'] as const

/**
 * The reasons why a corpus cannot be cleared: a source with neither licence nor lawful basis, a
 * missing attestation, two sources with one id. Empty if it can be cleared.
 */
export function clearanceReasons(
  sources: readonly JsonObject[],
  attestations: JsonObject,
): readonly string[] {
  const none = sources.length === 0 ? ['there are no sources'] : []
  return [...none, ...sourceReasons(sources), ...attestationReasons(attestations)]
}

// Names sources by position: their ids are texts of the caller, which refusals do not repeat.
function sourceReasons(sources: readonly JsonObject[]): string[] {
  const positions = new Map<Json, number>()
  const reasons: string[] = []
  for (const [i, source] of sources.entries()) {
    const { id = null } = source
    const first = positions.get(id)
    if (first === undefined) positions.set(id, i)
    else reasons.push(`sources[${i}] has the id of sources[${first}]`)
    if (!hasGround(source)) reasons.push(`sources[${i}] has neither license nor lawful_basis`)
  }
  return reasons
}

const hasGround = ({ license, lawful_basis }: JsonObject): boolean =>
  isStated(license) || isStated(lawful_basis)

const isStated = (value: Json | undefined): boolean => isText(value) && value.trim() !== ''

function attestationReasons(attestations: JsonObject): string[] {
  return REQUIRED_ATTESTATIONS.filter((name) => !isAttested(ownMember(attestations, name))).map(
    (name) => `attestations have no ${name}`,
  )
}

const ownMember = (object: JsonObject, name: string): Json | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined

/** Whether a statement is given: not absent, null, false, 0, blank, or an empty list or object. */
function isAttested(value: Json | undefined): boolean {
  if (isText(value)) return value.trim() !== ''
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
  return Boolean(value)
}

function requestOf(document: JsonObject): JsonObject | null {
  const { name = null, attestations = null, processing = null, metadata = null } = document
  const { source_count = null, sources_digest = null, merkle_root = null } = document
  return { name, attestations, processing, metadata, source_count, sources_digest, merkle_root }
}

/** The parts of a document. What cannot be read becomes null or an empty list. */
export function corpusPartsOf(document: JsonObject): CorpusParts {
  const { name = null, sources, processing = null, attestations = null } = document
  const listed = Array.isArray(sources) && sources.every(isObject) ? sources : []
  return { name, sources: listed, processing, attestations }
}

const NOT_CHECKED = [
  'the licences and lawful bases: stated by the registrant of the corpus',
  'the attestations: stated, not examined',
  'the contents of the sources: compare their bytes with content_hash',
]

const DIGEST = /^[0-9a-f]{64}$/
const isDigest = (value: unknown): boolean => isText(value) && DIGEST.test(value)

/** Sources may have further members. */
const SHAPE = {
  corpus_id: isText,
  name: isText,
  sources: listOf(
    objectWith({
      id: isText,
      license: absentOr(isText),
      lawful_basis: absentOr(isText),
      content_hash: absentOr(isDigest),
      record_count: absentOr(isCount),
    }),
  ),
  attestations: isObject,
  processing: Array.isArray,
  metadata: isObject,
  source_count: isCount,
  sources_digest: isDigest,
  merkle_root: isDigest,
  corpus_hash: isDigest,
  clearance: isText,
}

/** The rules with a custom derivation of digests, for a server that derives them in steps. */
export function corpusRulesWith(derive: (parts: CorpusParts) => CorpusDerived): RecordRules {
  return {
    kind: 'corpus',
    id_field: 'corpus_id',
    schema_version: 'customs/1',
    requestOf,
    check: (document, findings) => checkCorpus(document, findings, derive),
  }
}

function checkCorpus(
  document: JsonObject,
  findings: VerdictDraft,
  derive: (parts: CorpusParts) => CorpusDerived,
): void {
  checkShape(document, SHAPE, findings)
  const parts = corpusPartsOf(document)
  const derived = derive(parts)
  const follows = (name: string, member: keyof CorpusDerived, detail: string) =>
    addCheck(findings, name, document[member] === derived[member], detail)
  follows('merkle_consistent', 'merkle_root', 'merkle_root is not the root over the sources')
  follows('sources_consistent', 'sources_digest', 'sources_digest does not follow from the sources')
  follows('source_count', 'source_count', 'is not the number of sources')
  follows('hash_consistent', 'corpus_hash', 'corpus_hash does not follow from the record')
  const { attestations } = parts
  const [reason] = clearanceReasons(parts.sources, isObject(attestations) ? attestations : {})
  const cleared = document['clearance'] === 'cleared' && reason === undefined
  addCheck(findings, 'cleared', cleared, reason ?? 'clearance is not cleared')
  findings.notChecked.push(...NOT_CHECKED)
}

export const corpusRules: RecordRules = corpusRulesWith((parts) => deriveCorpus(parts))
