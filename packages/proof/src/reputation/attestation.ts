// Attestations of a score: the signed body in two versions, and the offline verification.
import { blake2b } from '@noble/hashes/blake2.js'
import { canonicalBytes, type JsonObject } from '../core/canonical.ts'
import { readHex, toHex } from '../core/encoding.ts'
import { findKey, type PublishedKey } from '../core/keys.ts'
import { findMismatch, isCount, isObject, isText, optional, orNull } from '../core/shape.ts'
import { tryBytes, verifyEd25519, withoutFields } from '../core/signature.ts'
import {
  addCheck,
  finishVerdict,
  malformedVerdict,
  startVerdict,
  type Verdict,
  type VerdictDraft,
} from '../core/verdict.ts'
import { isAgentKey, keyOfDid } from './identity.ts'
import { chainOf, resolveRotations } from './rotation.ts'
import { BANDS, bandOf, rationaleOf } from './scoring.ts'

export const ATTESTATION_SCHEMAS = ['cgr.attestation.v1', 'cgr.attestation.v2'] as const
/** The only version that is still issued. */
export const ATTESTATION_SCHEMA = 'cgr.attestation.v2'
/** The purpose of the key that signs attestations; it signs nothing else. */
export const ATTESTATION_PURPOSE = 'cgr_attestation'

/** The signed members of version 2. Version 1 has no `subject_key` and no `subject_did`. */
export type CgrAttestationBody = {
  readonly agent_handle: string
  /** The current key, and the did:key of the first key of its chain; null without a key. */
  readonly subject_key: string | null
  readonly subject_did: string | null
  readonly dimension: string
  /** The band of the score. */
  readonly tier: string
  readonly cgr_score: number
  readonly confidence: number
  readonly n_resolved: number
  readonly capability_tier: number | null
  /** Time of the score in RFC 3339. */
  readonly as_of: string
  readonly rationale: string
  readonly schema: string
  readonly issuer: string
  /** The issuer's public key in hex. */
  readonly issuer_key_id: string
}

/** `signature` is hex; `evidence_ref` is the log entry that records the issue. */
export type CgrAttestation = CgrAttestationBody & {
  readonly signature: string
  readonly evidence_ref: string | null
}

const ENVELOPE: ReadonlySet<string> = new Set(['signature', 'evidence_ref'])

const SHAPE = {
  agent_handle: isText,
  dimension: isText,
  tier: (value: unknown) => BANDS.some((band) => band === value),
  cgr_score: isShare,
  confidence: (value: unknown) => typeof value === 'number' && value > 0,
  n_resolved: isCount,
  capability_tier: orNull(isShare),
  as_of: isText,
  rationale: isText,
  schema: (value: unknown) => ATTESTATION_SCHEMAS.some((schema) => schema === value),
  issuer: isText,
  issuer_key_id: isAgentKey,
  signature: isText,
  evidence_ref: optional(isText),
}
const SUBJECT_SHAPE = {
  subject_key: orNull(isAgentKey),
  subject_did: orNull((value) => keyOfDid(value) !== null),
}

function isShare(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value <= 1
}

/**
 * The message of an attestation: RFC 8785 bytes of everything but `signature` and `evidence_ref`.
 * A public format fixes the message, so it has no domain, and its key signs nothing else.
 * Throws ProofError `not_canonical`.
 */
export function cgrAttestationBytes(attestation: CgrAttestationBody | JsonObject): Uint8Array {
  return canonicalBytes(withoutFields({ ...attestation }, ENVELOPE))
}

/** The fingerprint in the log: hex BLAKE2b-256 of the message. */
export function cgrAttestationFingerprint(attestation: CgrAttestationBody | JsonObject): string {
  return toHex(blake2b(cgrAttestationBytes(attestation), { dkLen: 32 }))
}

/**
 * Verifies an attestation: a key published for attestations at that time signed it, and band and
 * rationale follow from its numbers. With `rotations`, the links of the subject's keys, also that
 * the chain leads from the did to the key. It does not show whether the score follows from the
 * evidence. Never throws.
 */
export async function verifyCgrAttestation(
  attestation: unknown,
  keys: readonly PublishedKey[],
  rotations?: unknown,
): Promise<Verdict> {
  if (!isObject(attestation)) return malformedVerdict('attestation', 'not an object')
  const misfit = findAttestationMisfit(attestation)
  if (misfit !== null) return malformedVerdict('attestation', misfit)
  const message = tryBytes(() => cgrAttestationBytes(attestation))
  if (message === null) return malformedVerdict('attestation', 'no canonical form')

  const findings = startVerdict()
  await checkIssuer(attestation, message, { keys, findings })
  const [score, resolved] = [Number(attestation['cgr_score']), Number(attestation['n_resolved'])]
  const band = attestation['tier'] === bandOf(score, resolved)
  addCheck(findings, 'band', band, 'does not follow from the score')
  const rationale = attestation['rationale'] === rationaleOf(score, resolved)
  addCheck(findings, 'rationale', rationale, 'does not follow from the score')
  await checkSubject(attestation, findings, rotations)
  findings.notChecked.push('that the score follows from the evidence: recompute it from the log')
  return finishVerdict('attestation', findings)
}

function findAttestationMisfit(attestation: JsonObject): string | null {
  const misfit = findMismatch(attestation, SHAPE)
  if (misfit !== null) return misfit
  if (attestation['schema'] === ATTESTATION_SCHEMA) return findMismatch(attestation, SUBJECT_SHAPE)
  return Object.keys(SUBJECT_SHAPE).find((name) => Object.hasOwn(attestation, name)) ?? null
}

async function checkIssuer(
  attestation: JsonObject,
  message: Uint8Array,
  { keys, findings }: { readonly keys: readonly PublishedKey[]; readonly findings: VerdictDraft },
): Promise<void> {
  const public_key = String(attestation['issuer_key_id'])
  const [key, signature] = [readHex(public_key), readHex(attestation['signature'])]
  const signed =
    key !== null && signature !== null && (await verifyEd25519(key, message, signature))
  addCheck(findings, 'signature', signed, 'does not match the attestation')
  const at = String(attestation['as_of'])
  const found = findKey(keys, { public_key, purpose: ATTESTATION_PURPOSE, at })
  addCheck(findings, 'key_known', !isText(found), isText(found) ? found : undefined)
  if (signed && !isText(found)) findings.validWith.push(found.key_id)
}

const SUCCESSION = 'that subject_key follows the key of subject_did: needs the links between them'

async function checkSubject(
  attestation: JsonObject,
  findings: VerdictDraft,
  rotations: unknown,
): Promise<void> {
  const { subject_key, subject_did, as_of } = attestation
  const [key, did] = [subject_key ?? null, subject_did ?? null]
  if (key === null && did === null) return
  const anchor = keyOfDid(did)
  if (!isText(key) || anchor === null) {
    addCheck(findings, 'subject', false, 'a key without its did, or a did without its key')
    return
  }
  if (!Array.isArray(rotations)) {
    if (key === anchor) addCheck(findings, 'subject', true)
    else findings.notChecked.push(SUCCESSION)
    return
  }
  const chain = chainOf(await resolveRotations(rotations, String(as_of)), anchor)
  const follows = chain.anchor === anchor && chain.current === key
  addCheck(findings, 'subject', follows, 'no chain of links leads from the did to the key')
}
