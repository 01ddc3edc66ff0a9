// Approvals: what an approver signs, the signed record of a decision, and how both are verified.
import type { Json, JsonObject } from '../core/canonical.ts'
import { readBase64, toBase64 } from '../core/encoding.ts'
import { type PublishedKey, toMicroseconds } from '../core/keys.ts'
import { findMismatch, isCount, isObject, isText, orNull } from '../core/shape.ts'
import { signedBytes, verifyEd25519 } from '../core/signature.ts'
import {
  addCheck,
  checkSignature,
  finishVerdict,
  malformedVerdict,
  startVerdict,
  type Verdict,
  type VerdictDraft,
} from '../core/verdict.ts'
import { foldName } from './fold-name.ts'

export const APPROVAL_DECISIONS = ['approve', 'deny'] as const
export type ApprovalDecision = (typeof APPROVAL_DECISIONS)[number]

/** A policy that escalated, and its version at that time. */
export type Escalation = { readonly policy_id: string; readonly version: number }

/**
 * What has to be approved, fixed when the approval request is created. It names the proposal by
 * its digest, so that a signature covers exactly that request, under these policies, until it
 * expires.
 */
export type ApprovalContext = {
  readonly request_id: string
  readonly tenant_id: string
  readonly record_kind: string
  readonly record_id: string
  /** The operation's name at the gate. */
  readonly operation: string
  readonly proposal_digest: string
  readonly policy_set: number
  readonly escalations: readonly Escalation[]
  readonly requested_by: string
  /** The human principal that the request names; null if there is none. */
  readonly principal: string | null
  readonly issued_at: string
  readonly expires_at: string
  readonly nonce: string
}

/** An approver's own signature over the context and the decision. Both members are base64. */
export type Attestation = { readonly signature: string; readonly public_key: string }

/** The signed record of a decision. `signed_bytes`, `signature` and `public_key` are base64. */
export type ApprovalRecord = ApprovalContext & {
  readonly decision: ApprovalDecision
  readonly approver: string
  /** The id of an enrolled approver who signed; null if only a name was given. */
  readonly approver_id: string | null
  /** Id of the API key that sent the decision. */
  readonly decided_by: string
  readonly decided_at: string
  readonly reason: string | null
  readonly attestation: Attestation | null
  readonly signed_bytes: string
  readonly signature: string
  readonly public_key: string
  readonly key_id: string
}

const CONTEXT_SHAPE = {
  request_id: isText,
  tenant_id: isText,
  record_kind: isText,
  record_id: isText,
  operation: isText,
  proposal_digest: isText,
  policy_set: isCount,
  escalations: Array.isArray,
  requested_by: isText,
  principal: orNull(isText),
  issued_at: isText,
  expires_at: isText,
  nonce: isText,
}

const SHAPE = {
  ...CONTEXT_SHAPE,
  decision: isText,
  approver: isText,
  approver_id: orNull(isText),
  decided_by: isText,
  decided_at: isText,
  reason: orNull(isText),
  attestation: orNull(isObject),
}

const ENROLMENT = 'that the approver was enrolled with this key when the decision was made'
const NAME_ONLY = 'the approver: a name as given with the credential of decided_by'

/** Picks the members of the context from a record of a decision or any object that has them. */
export function approvalContext(from: ApprovalContext | JsonObject): JsonObject {
  const members = new Map<string, Json>(Object.entries(from))
  return Object.fromEntries(
    Object.keys(CONTEXT_SHAPE).map((name): [string, Json] => [name, members.get(name) ?? null]),
  )
}

/**
 * The exact message that an approver signs: UTF-8 `custos/attestation/v1`, byte 0x0A, RFC 8785
 * bytes of the context with `decision`. Throws ProofError `not_canonical`.
 */
export function attestationBytes(
  context: ApprovalContext | JsonObject,
  decision: ApprovalDecision,
): Uint8Array {
  return signedBytes('attestation', { ...approvalContext(context), decision })
}

/** The approver who signed, according to the record (unverified); null if only a name was given. */
export function attestedBy(
  approval: JsonObject,
): (Attestation & { readonly approver_id: string }) | null {
  const { approver_id, attestation } = approval
  if (!isText(approver_id) || !isObject(attestation)) return null
  const { signature, public_key } = attestation
  return isText(signature) && isText(public_key) ? { approver_id, signature, public_key } : null
}

/**
 * Verifies the record of a decision: a published key of the service signed it, the decision came in
 * time and not from the requester, and the signature of an approver, if there is one, covers the
 * context rebuilt from the record. Never throws.
 */
export async function verifyApproval(
  approval: unknown,
  keys: readonly PublishedKey[],
): Promise<Verdict> {
  if (!isObject(approval)) return malformedVerdict('approval', 'not an object')
  const misfit = findMismatch(approval, SHAPE)
  if (misfit !== null) return malformedVerdict('approval', misfit)
  const decision = APPROVAL_DECISIONS.find((known) => known === approval['decision'])
  if (decision === undefined) return malformedVerdict('approval', 'decision')
  const messages = tryMessages(approval, decision)
  if (messages === null) return malformedVerdict('approval', 'no canonical form')

  const findings = startVerdict()
  const shown = approval['signed_bytes'] ?? null
  if (shown !== null) {
    const follows = shown === toBase64(messages.record)
    addCheck(findings, 'signed_bytes', follows, 'do not follow from the record')
  }
  const { signature, public_key, key_id } = approval
  const at = String(approval['decided_at'])
  const claim = { message: messages.record, signature, public_key, key_id, purpose: 'record', at }
  await checkSignature(findings, claim, keys)
  checkTime(approval, findings)
  addCheck(findings, 'not_self_approved', isAnother(approval), 'the approver is who asked')
  await checkAttestation(approval, messages.attestation, findings)
  return finishVerdict('approval', findings)
}

/** Whether the approver is neither the requesting key nor its principal, by normalised name. */
function isAnother({ approver, approver_id, requested_by, principal }: JsonObject): boolean {
  const askers = [requested_by, principal].filter(isText).map(foldName)
  const deciders = [approver, approver_id].filter(isText).map(foldName)
  return !deciders.some((name) => name !== '' && askers.includes(name))
}

function tryMessages(approval: JsonObject, decision: ApprovalDecision) {
  try {
    return {
      record: signedBytes('approval', approval),
      attestation: attestationBytes(approval, decision),
    }
  } catch {
    return null
  }
}

function checkTime(
  { issued_at, decided_at, expires_at }: JsonObject,
  findings: VerdictDraft,
): void {
  const [issued, decided, expires] = [issued_at, decided_at, expires_at].map((time) =>
    toMicroseconds(String(time)),
  )
  // Comparisons with an unreadable time (NaN) are false.
  const within = Number(issued) <= Number(decided) && Number(decided) <= Number(expires)
  addCheck(findings, 'decided_in_time', within, 'before it was asked for or after it expired')
}

async function checkAttestation(
  approval: JsonObject,
  message: Uint8Array,
  findings: VerdictDraft,
): Promise<void> {
  if (approval['approver_id'] === null && approval['attestation'] === null) {
    findings.notChecked.push(NAME_ONLY)
    return
  }
  const signer = attestedBy(approval)
  const signature = readBase64(signer?.signature)
  const key = readBase64(signer?.public_key)
  const genuine =
    signature !== null && key !== null && (await verifyEd25519(key, message, signature))
  addCheck(findings, 'attestation', genuine, 'is not a signature over this request and decision')
  findings.notChecked.push(ENROLMENT)
}
