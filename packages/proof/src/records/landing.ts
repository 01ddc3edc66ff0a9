// Landing certificates: an artifact and its base model, its data, authority and permitted actions.
import { canonicalize, type JsonObject } from '../core/canonical.ts'
import { isObject, isText, isTextList, orNull } from '../core/shape.ts'
import { addCheck, type VerdictDraft } from '../core/verdict.ts'
import { manifestDigest } from './artifact.ts'
import { absentOr, checkShape, exactObject, objectWith } from './document-shape.ts'
import type { RecordMembers, RecordRules } from './registry-record.ts'

/** The version of the checks below. Another set of checks needs another version. */
export const HARNESS_VERSION = 'landing/1'
export const LANDING_CHECKS = ['artifact_integrity', 'data_provenance', 'authority'] as const
export type LandingCheck = (typeof LANDING_CHECKS)[number]
export type CheckResult = 'pass' | 'fail' | 'not_checked'

/** Data provenance in normal form: digests are lower-case hex, null members are absent. */
export type LandingProvenance = JsonObject & { readonly merkle_root: string }

/**
 * The comparison of the sent layers with their digests: `match` if each layer hashed to its digest,
 * `differ` if a hash or the number of layers is different. The bytes are not stored.
 */
export type LayerBytes = 'not_sent' | 'match' | 'differ'

/** The request for a landing certificate, in normal form. */
export type LandingRequest = {
  readonly artifact_ref: string
  readonly base_model_ref: string
  readonly kind: string
  /** SHA-256 of the layers in their order, in lower-case hex. */
  readonly layer_hashes: readonly string[]
  readonly layer_bytes: LayerBytes
  readonly data_provenance: LandingProvenance
  readonly authority: {
    readonly delegation_ref: string | null
    readonly human_principal: string | null
    readonly trust_tier: string | null
  }
  /** The conformance that the caller claims. It is recorded and never trusted. */
  readonly claimed_conformance: JsonObject
  readonly permitted_actions: readonly string[]
}

export type LandingAuthority = {
  readonly delegation_ref: string | null
  readonly human_principal: string | null
  readonly claimed_tier: string | null
  readonly trust_tier: string
}

/** The tenant's records that agree with the request; null if there is none. */
export type LandingEvidence = {
  readonly artifact_id: string | null
  readonly corpus_id: string | null
  readonly layer_bytes: LayerBytes
}

export type LandingConformance = {
  readonly harness_version: string
  readonly result: CheckResult
  readonly per_policy: { readonly [check in LandingCheck]: CheckResult }
  readonly evidence: LandingEvidence
}

export type LandingDocument = RecordMembers & {
  readonly certificate_id: string
  /** Equal to `schema_version`. */
  readonly version: string
  readonly artifact: {
    readonly artifact_ref: string
    readonly base_model_ref: string
    readonly kind: string
    readonly layer_hashes: readonly string[]
    readonly manifest_digest: string
  }
  readonly data_provenance: LandingProvenance
  readonly authority: LandingAuthority
  readonly conformance: LandingConformance
  readonly claimed_conformance: JsonObject
  readonly permitted_actions: readonly string[]
  /** The claims that were not checked when the certificate was signed. */
  readonly not_checked: readonly string[]
}

/** The checks that failed. */
export type LandingFaults = { readonly [check in LandingCheck]?: boolean }

/**
 * Computes the conformance from the evidence. A check passes only if something was found that
 * agrees, and the result is `fail` if any check fails. An authority is judged by its own claims, so
 * the result is `pass` only if something else agreed: a record of the tenant, or sent bytes.
 * @param authority null if none was given
 */
export function landingConformance(
  evidence: LandingEvidence,
  authority: LandingAuthority | null,
  faults: LandingFaults = {},
): LandingConformance {
  const judge = (check: LandingCheck, seen: boolean): CheckResult => {
    if (faults[check]) return 'fail'
    return seen ? 'pass' : 'not_checked'
  }
  const { artifact_id, corpus_id, layer_bytes } = evidence
  const differs = layer_bytes === 'differ'
  const seen = artifact_id !== null || layer_bytes === 'match'
  const sound = authority === null || authorityReasons(authority).length === 0
  const per_policy = {
    artifact_integrity: differs ? 'fail' : judge('artifact_integrity', seen),
    data_provenance: judge('data_provenance', corpus_id !== null),
    authority: sound ? judge('authority', authority !== null) : 'fail',
  } as const
  const result = resultOf(per_policy)
  return { harness_version: HARNESS_VERSION, result, per_policy, evidence }
}

function resultOf(per_policy: LandingConformance['per_policy']): CheckResult {
  if (Object.values(per_policy).includes('fail')) return 'fail'
  const { artifact_integrity, data_provenance } = per_policy
  return [artifact_integrity, data_provenance].includes('pass') ? 'pass' : 'not_checked'
}

/** The reasons why an authority is not valid; empty if it is valid. */
export function authorityReasons(authority: LandingAuthority): readonly string[] {
  const { delegation_ref, human_principal, claimed_tier, trust_tier } = authority
  const reasons: string[] = []
  if (!isStated(delegation_ref)) reasons.push('authority has no delegation_ref')
  if (!isStated(human_principal)) reasons.push('authority has no human_principal')
  if ((claimed_tier ?? 'untrusted') !== trust_tier)
    reasons.push(`the credential may claim ${trust_tier} at most, not ${claimed_tier}`)
  return reasons
}

const isStated = (value: unknown): boolean => isText(value) && value.trim() !== ''

/**
 * The reasons against a claimed conformance: it states a failure itself, or a pass where the check
 * failed. A claimed check is any text or boolean: `fail` and false fail, `pass` and true pass.
 */
export function claimReasons(
  claimed: JsonObject,
  per_policy: LandingConformance['per_policy'],
): readonly string[] {
  const { result, per_policy: each } = claimed
  const reasons = result === 'fail' ? ['conformance claims the result fail'] : []
  for (const [name, claim] of isObject(each) ? Object.entries(each) : []) {
    const computed = LANDING_CHECKS.find((check) => check === name)
    const found = computed === undefined ? undefined : per_policy[computed]
    if (claim === 'fail' || claim === false)
      reasons.push(`conformance claims that ${computed ?? 'a check'} fails`)
    else if ((claim === 'pass' || claim === true) && found === 'fail')
      reasons.push(`conformance claims that ${computed} passes: it was found to fail`)
  }
  return reasons
}

/** The parts of a certificate that only the caller states, in a fixed order. */
export function landingNotChecked(
  { artifact_id, corpus_id, layer_bytes }: LandingEvidence,
  provenance: JsonObject,
): readonly string[] {
  const looked = corpus_id === null ? ROOT_ALONE : LOOKED_UP
  const given = Object.keys(provenance).filter((name) => !looked.has(name))
  return [
    ...(artifact_id === null ? ['artifact: none of this content is registered here'] : []),
    ...(layer_bytes === 'not_sent' ? ['layer_hashes: no bytes of the layers were sent'] : []),
    'base_model_ref: a name as given',
    ...(corpus_id === null ? ['data_provenance: no corpus was found here that agrees'] : []),
    ...given.sort().map((name) => `data_provenance.${name}: as given`),
    'authority.delegation_ref: a document outside this service',
    'authority.human_principal: a name as given',
    'claimed_conformance: as the caller claims it, beside what was computed',
    'permitted_actions: as asked for, whatever the world model says of them',
  ]
}

const ROOT_ALONE: ReadonlySet<string> = new Set(['merkle_root'])
const LOOKED_UP: ReadonlySet<string> = new Set([
  'merkle_root',
  'corpus_hash',
  'corpus_id',
  'sources',
])

/** The answers of a certificate to the five questions about an artifact. */
export type LandingReconstruction = {
  readonly what: string
  readonly from_where: string
  readonly under_whom: string
  readonly cleared_how: string
  readonly may_do: readonly string[]
}

export function reconstructLanding(document: JsonObject): LandingReconstruction {
  const { artifact, data_provenance, authority, conformance } = objectsOf(document)
  const { permitted_actions } = document
  return {
    what: `${artifact['artifact_ref']} on ${artifact['base_model_ref']}`,
    from_where: String(data_provenance['corpus_hash'] ?? data_provenance['merkle_root']),
    under_whom: `${authority['human_principal']} @ ${authority['trust_tier']}`,
    cleared_how: String(conformance['result']),
    may_do: isTextList(permitted_actions) ? permitted_actions : [],
  }
}

function objectsOf(document: JsonObject) {
  const object = (member: unknown): JsonObject => (isObject(member) ? member : {})
  return {
    artifact: object(document['artifact']),
    data_provenance: object(document['data_provenance']),
    authority: object(document['authority']),
    conformance: object(document['conformance']),
    claimed: object(document['claimed_conformance']),
  }
}

function requestOf(document: JsonObject): JsonObject | null {
  const { artifact, authority, conformance } = objectsOf(document)
  const { artifact_ref = null, base_model_ref = null, kind = null, layer_hashes = null } = artifact
  const { data_provenance = null, claimed_conformance = null, permitted_actions = null } = document
  const { delegation_ref = null, human_principal = null, claimed_tier = null } = authority
  const { layer_bytes = null } = evidenceOf(conformance)
  return {
    artifact_ref,
    base_model_ref,
    kind,
    layer_hashes,
    layer_bytes,
    data_provenance,
    authority: { delegation_ref, human_principal, trust_tier: claimed_tier },
    claimed_conformance,
    permitted_actions,
  }
}

const evidenceOf = ({ evidence }: JsonObject): JsonObject => (isObject(evidence) ? evidence : {})

const DIGEST = /^[0-9a-f]{64}$/
const isDigest = (value: unknown): boolean => isText(value) && DIGEST.test(value)
const textOrNull = (value: unknown): string | null => (isText(value) ? value : null)

/** `conformance` and `not_checked` need only be present here; later they are recomputed. */
const SHAPE = {
  certificate_id: isText,
  version: isText,
  artifact: exactObject({
    artifact_ref: isText,
    base_model_ref: isText,
    kind: isText,
    layer_hashes: isTextList,
    manifest_digest: isText,
  }),
  data_provenance: objectWith({
    merkle_root: isText,
    corpus_hash: absentOr(isDigest),
    corpus_id: absentOr(isText),
    sources: absentOr(isTextList),
  }),
  authority: exactObject({
    delegation_ref: orNull(isText),
    human_principal: orNull(isText),
    claimed_tier: orNull(isText),
    trust_tier: isText,
  }),
  conformance: isObject,
  claimed_conformance: isObject,
  permitted_actions: isTextList,
  not_checked: isTextList,
}

function check(document: JsonObject, findings: VerdictDraft): void {
  checkShape(document, SHAPE, findings)
  const { artifact, data_provenance, claimed } = objectsOf(document)
  const version = document['version'] === document['schema_version']
  addCheck(findings, 'version', version, 'is not that of schema_version')
  checkArtifact(artifact, findings)
  const root = data_provenance['merkle_root']
  addCheck(findings, 'provenance_sealed', isDigest(root), 'data_provenance has no merkle_root')
  const { conformance, authority } = checkConformance(document, findings)
  checkResult(claimed, conformance, findings)
  const [missing] = authorityReasons(authority)
  addCheck(findings, 'authority_present', missing === undefined, missing)
  const provenance = { ...data_provenance, merkle_root: String(root) }
  const expected = canonicalize(landingNotChecked(conformance.evidence, provenance))
  const named = canonicalize(document['not_checked'] ?? null) === expected
  addCheck(findings, 'not_checked', named, 'is not what the certificate leaves unchecked')
  nameUnchecked(document, conformance.evidence, findings)
}

/** A failed check makes the certificate invalid; only passed checks are reported as passed. */
function checkResult(
  claimed: JsonObject,
  { result, per_policy }: LandingConformance,
  findings: VerdictDraft,
): void {
  const [against] = claimReasons(claimed, per_policy)
  const stands = result !== 'fail' && isText(claimed['result']) && against === undefined
  const name = stands && result === 'not_checked' ? 'conformance_not_failed' : 'conformance_pass'
  addCheck(findings, name, stands, against ?? 'a check that it names fails')
}

function checkArtifact(artifact: JsonObject, findings: VerdictDraft): void {
  const { artifact_ref, base_model_ref, kind, layer_hashes, manifest_digest } = artifact
  const hashes = isTextList(layer_hashes) ? layer_hashes : []
  const listed = hashes.length > 0 && hashes.every((hash) => DIGEST.test(hash))
  addCheck(findings, 'layer_hashes', listed, 'are not SHA-256 in lower hex')
  const named = [artifact_ref, base_model_ref, kind].every(isStated)
  const manifest = {
    base_model_ref: String(base_model_ref),
    kind: String(kind),
    layer_hashes: hashes,
  }
  const follows = named && manifest_digest === manifestDigest(manifest)
  addCheck(findings, 'manifest_consistent', follows, 'manifest_digest does not follow')
}

/** Recomputes the conformance from the certificate's evidence and authority, and compares it. */
function checkConformance(document: JsonObject, findings: VerdictDraft) {
  const objects = objectsOf(document)
  const shown = evidenceOf(objects.conformance)
  const evidence: LandingEvidence = {
    artifact_id: textOrNull(shown['artifact_id']),
    corpus_id: textOrNull(shown['corpus_id']),
    layer_bytes: shown['layer_bytes'] === 'match' ? 'match' : 'not_sent',
  }
  const given = objects.authority
  const authority: LandingAuthority = {
    delegation_ref: textOrNull(given['delegation_ref']),
    human_principal: textOrNull(given['human_principal']),
    claimed_tier: textOrNull(given['claimed_tier']),
    trust_tier: String(given['trust_tier']),
  }
  const conformance = landingConformance(evidence, authority)
  const follows = canonicalize(objects.conformance) === canonicalize(conformance)
  addCheck(findings, 'conformance_consistent', follows, 'does not follow from its evidence')
  const named = objects.data_provenance['corpus_id'] ?? evidence.corpus_id
  const same = evidence.corpus_id === null || named === evidence.corpus_id
  addCheck(findings, 'corpus_consistent', same, 'the evidence is another corpus')
  return { conformance, authority }
}

function nameUnchecked(
  document: JsonObject,
  evidence: LandingEvidence,
  findings: VerdictDraft,
): void {
  const { not_checked } = document
  // Pushed one by one, because a list may be longer than an argument list may be.
  if (isTextList(not_checked)) for (const text of not_checked) findings.notChecked.push(text)
  const { artifact_id, corpus_id } = evidence
  if (artifact_id !== null)
    findings.notChecked.push(`the record of artifact ${artifact_id}: verify it as well`)
  if (corpus_id !== null)
    findings.notChecked.push(`the record of corpus ${corpus_id}: verify it as well`)
}

export const landingRules: RecordRules = {
  kind: 'landing',
  id_field: 'certificate_id',
  schema_version: 'lc/1',
  requestOf,
  check,
}
