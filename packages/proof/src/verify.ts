// The offline verifier: one entry point for everything that can be verified.
import { canonicalBytes, type JsonObject } from './core/canonical.ts'
import { sha256 } from './core/digest.ts'
import { toBase64, toHex } from './core/encoding.ts'
import { type PublishedKey, readKeys } from './core/keys.ts'
import { isCount, isObject, isText } from './core/shape.ts'
import { SIGNED_KINDS, type SignedKind, signedBytes } from './core/signature.ts'
import {
  addCheck,
  checkSignature,
  finishVerdict,
  malformedVerdict,
  startVerdict,
  type Verdict,
} from './core/verdict.ts'
import { verifyCertificate } from './documents/certificate.ts'
import { CONFORMANCE_KIND, verifyConformanceResult } from './documents/conformance-result.ts'
import { verifyDecision } from './documents/decision.ts'
import { verifyManifest } from './documents/manifest.ts'
import { verifyMemory } from './documents/provenance.ts'
import { TENANT_ERASURE_KIND, verifyTenantErasure } from './documents/tenant-erasure.ts'
import { TENANT_MOVE_KIND, verifyTenantMove } from './documents/tenant-move.ts'
import { type Envelope, isEnvelope } from './envelope.ts'
import {
  type LogContext,
  verifyBreadcrumbList,
  verifyEpoch,
  verifyEpochConsistency,
  verifyInclusionProof,
} from './log/log-proof.ts'
import { verifyApproval } from './records/approval.ts'
import { verifyCorpusProof } from './records/corpus-proof.ts'
import { verifyRegistryRecord } from './records/registry-record.ts'
import { rulesOf } from './records/rules.ts'
import { verifyCgrAttestation } from './reputation/attestation.ts'
import { isStatementKind, verifyStatement } from './reputation/identity.ts'
import { verifyReceipt } from './reputation/receipt.ts'

/**
 * Verifies a typed envelope with the published keys. The input is untrusted and never makes it
 * throw: unreadable input is invalid, with the reason. Rejects only if the platform has no Ed25519.
 */
export async function verifyEnvelope(envelope: unknown, context: LogContext): Promise<Verdict> {
  if (!isEnvelope(envelope)) return malformedVerdict('unknown', 'not an envelope of a known type')
  const trusted = { ...context, keys: readKeys(context.keys) }
  if (envelope.type === 'list') return verifyList(envelope.items, trusted)
  return verifyOne(envelope, trusted)
}

function verifyOne(
  envelope: Exclude<Envelope, { type: 'list' }>,
  context: LogContext,
): Promise<Verdict> | Verdict {
  switch (envelope.type) {
    case 'breadcrumbs':
      return verifyBreadcrumbList(envelope.breadcrumbs, context)
    case 'epoch':
      return verifyEpoch(envelope.epoch, context)
    case 'proof':
      return verifyInclusionProof(envelope.proof, context)
    case 'consistency':
      return verifyEpochConsistency(envelope, context)
    case 'certificate':
      return verifyCertificate(envelope.certificate, context.keys)
    case 'erasure_manifest':
      return verifyManifest(envelope.manifest, context.keys, listOf(envelope.certificates))
    case 'decision':
      return verifyDecision(envelope.decision, context.keys)
    case 'memory':
      return verifyMemory(envelope.memory, context.keys)
    case 'receipt':
      return verifyReceipt(envelope.receipt, context.keys)
    case 'corpus_proof':
      return verifyCorpusProof(envelope.proof, envelope.corpus)
    case 'attestation':
      return verifyCgrAttestation(envelope.attestation, context.keys, envelope.rotations)
    case 'record':
      return verifyRecord(envelope.kind, envelope.record, context)
  }
}

// A value that is not a list counts as a list of one item.
function listOf(certificates: unknown): readonly unknown[] | undefined {
  if (certificates === undefined) return undefined
  return Array.isArray(certificates) ? certificates : [certificates]
}

// One check for each item, so that the result of a page of a thousand items stays readable.
async function verifyList(items: readonly unknown[], context: LogContext): Promise<Verdict> {
  const findings = startVerdict()
  for (const [i, item] of items.entries()) {
    if (!isEnvelope(item) || item.type === 'list') {
      addCheck(findings, `items[${i}]`, false, 'not a record of a known type')
      continue
    }
    const verdict = await verifyOne(item, context)
    addCheck(findings, `items[${i}] ${verdict.type}`, verdict.valid, verdict.reason)
    addNew(findings.notChecked, verdict.not_checked)
    addNew(findings.validWith, verdict.valid_with)
  }
  return finishVerdict('list', findings)
}

function addNew(list: string[], more: readonly string[]): void {
  for (const text of more) if (!list.includes(text)) list.push(text)
}

/** Verifies a record that is signed under the domain of its kind. */
async function verifyRecord(kind: unknown, value: unknown, context: LogContext): Promise<Verdict> {
  const rules = rulesOf(kind)
  if (rules) return verifyRegistryRecord(rules, value, context.keys)
  if (kind === 'approval') return verifyApproval(value, context.keys)
  if (isStatementKind(kind)) return verifyStatement(kind, value)
  if (!isSignedKind(kind)) return malformedVerdict('record', 'kind')
  // Certificates have their own rules about unsigned members.
  if (kind === 'erasure') return verifyCertificate(value, context.keys)
  if (kind === 'erasure_manifest') return verifyManifest(value, context.keys)
  if (kind === TENANT_ERASURE_KIND) return verifyTenantErasure(value, context.keys)
  if (kind === TENANT_MOVE_KIND) return verifyTenantMove(value, context.keys)
  if (kind === CONFORMANCE_KIND) return verifyConformanceResult(value, context.keys)
  if (kind === 'report') return verifyReport(value, context.keys)
  if (!isObject(value)) return malformedVerdict('record', 'not an object')
  const findings = startVerdict()
  let message: Uint8Array
  try {
    message = signedBytes(kind, value)
  } catch {
    return malformedVerdict('record', 'no canonical form')
  }
  const shown = value['signed_bytes'] ?? null
  if (shown !== null) {
    addCheck(findings, 'signed_bytes', shown === toBase64(message), 'do not follow from the record')
  }
  const at = value['issued_at'] ?? value['created_at']
  const { signature, public_key, key_id } = value
  const claim = { message, signature, public_key, key_id, purpose: kind }
  await checkSignature(findings, isText(at) ? { ...claim, at } : claim, context.keys)
  return finishVerdict('record', findings)
}

/** The current report version. Reports of version 1 have no `report_version`. */
export const REPORT_VERSION = 2

const isSection = (section: unknown): boolean =>
  isObject(section) &&
  Array.isArray(section['evidence']) &&
  section['evidence'].every(isText) &&
  isText(section['detail']) &&
  isObject(section['figures']) &&
  Object.values(section['figures']).every(isCount)

/**
 * The signed bytes of a report, in the domain of its version: `custos/report/v1` if it names none.
 * Throws ProofError `not_canonical` if the report has no canonical form.
 */
export const reportBytes = (report: JsonObject): Uint8Array =>
  signedBytes('report', report, report['report_version'] === undefined ? 1 : REPORT_VERSION)

/** Verifies a report, which contains the SHA-256 of its content, as the audit log does too. */
export async function verifyReport(
  value: unknown,
  keys: readonly PublishedKey[],
): Promise<Verdict> {
  if (!isObject(value)) return malformedVerdict('record', 'not an object')
  const { report_version, headline, sections } = value
  if (report_version !== undefined && report_version !== REPORT_VERSION)
    return malformedVerdict('record', 'report_version')
  const findings = startVerdict()
  let message: Uint8Array
  try {
    message = reportBytes(value)
  } catch {
    return malformedVerdict('record', 'no canonical form')
  }
  const shown = value['signed_bytes'] ?? null
  if (shown !== null)
    addCheck(findings, 'signed_bytes', shown === toBase64(message), 'do not follow from the record')
  if (report_version !== undefined) {
    const shaped = isText(headline) && Array.isArray(sections) && sections.every(isSection)
    addCheck(findings, 'sections', shaped, 'are not those of a report of this version')
  }
  const { content, content_hash, created_at, signature, public_key, key_id } = value
  const follows = isObject(content) && content_hash === toHex(sha256(canonicalBytes(content)))
  addCheck(findings, 'content_hash', follows, 'does not follow from the content')
  findings.notChecked.push('what the report counts: see the entries of the log that it names')
  // The record key, which also signs records of registries, signs reports.
  const claim = { message, signature, public_key, key_id, purpose: 'record' }
  await checkSignature(findings, isText(created_at) ? { ...claim, at: created_at } : claim, keys)
  return finishVerdict('record', findings)
}

function isSignedKind(kind: unknown): kind is SignedKind {
  return SIGNED_KINDS.some((known) => known === kind)
}
