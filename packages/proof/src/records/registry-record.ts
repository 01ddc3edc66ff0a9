// Registry records: the members that all kinds share, and how ids follow from proposals.
import { canonicalBytes, type JsonObject } from '../core/canonical.ts'
import { blake2b128, sha256 } from '../core/digest.ts'
import { toBase64, toHex } from '../core/encoding.ts'
import { type PublishedKey, toMicroseconds } from '../core/keys.ts'
import { findMismatch, isCount, isObject, isText, orNull } from '../core/shape.ts'
import { signedBytes } from '../core/signature.ts'
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

export const RECORD_KINDS = [
  'landing',
  'artifact',
  'world_type',
  'action',
  'corpus',
  'composition',
  'agent_action',
] as const
export type RecordKind = (typeof RECORD_KINDS)[number]

/**
 * The request of a caller, fixed before any policy is evaluated. `request` is in normal form.
 * `nonce` is 16 random bytes in hex, so that digest and id reveal nothing about the request.
 */
export type Proposal = {
  readonly tenant_id: string
  readonly kind: RecordKind
  readonly request: JsonObject
  readonly created_at: string
  readonly nonce: string
}

/** Hex SHA-256 of the RFC 8785 bytes of a proposal. An approval is bound to this digest. */
export function proposalDigest(proposal: Proposal): string {
  return toHex(sha256(canonicalBytes(proposal)))
}

/** The id of the proposed record: hex BLAKE2b-128 of the RFC 8785 bytes of the proposal. */
export function recordId(proposal: Proposal): string {
  return toHex(blake2b128(canonicalBytes(proposal)))
}

/** The approval of a record that had to wait, as the record contains it. */
export type ApprovalMember = {
  readonly request_id: string
  readonly approver: string
  /** The id of an enrolled approver who signed; null if only a name was given. */
  readonly approver_id: string | null
  /** Id of the API key that sent the decision. */
  readonly decided_by: string
  readonly decided_at: string
  readonly reason: string | null
  /** Digest of the approved proposal; equal to the record's own. */
  readonly proposal_digest: string
}

/** Members of every registry record, except its id, whose name depends on the kind. */
export type RecordMembers = {
  readonly schema_version: string
  readonly record_kind: RecordKind
  readonly tenant_id: string
  readonly created_at: string
  /** When the record was signed; later than `created_at` if it had to be approved. */
  readonly issued_at: string
  readonly nonce: string
  readonly proposal_digest: string
  readonly requested_by: string
  /** Number of the policy set under which it was evaluated; 0 if there were no policies. */
  readonly policy_set: number
  readonly evaluation_id: string | null
  readonly approval: ApprovalMember | null
}

/** The rules that are specific to one kind of record. */
export type RecordRules = {
  readonly kind: RecordKind
  /** The name of the member that holds the id. */
  readonly id_field: string
  readonly schema_version: string
  /** The proposed request; null if it cannot be read from the document. */
  requestOf(document: JsonObject): JsonObject | null
  /** Checks derived members; adds to `notChecked` what a document alone cannot show. */
  check(document: JsonObject, findings: VerdictDraft): void
}

const SHAPE = {
  schema_version: isText,
  record_kind: isText,
  tenant_id: isText,
  created_at: isText,
  issued_at: isText,
  nonce: isText,
  proposal_digest: isText,
  requested_by: isText,
  policy_set: isCount,
  evaluation_id: orNull(isText),
  approval: orNull(isObject),
}

const APPROVAL_SHAPE = {
  request_id: isText,
  approver: isText,
  approver_id: orNull(isText),
  decided_by: isText,
  decided_at: isText,
  reason: orNull(isText),
  proposal_digest: isText,
}

/**
 * Verifies a record with the published keys: its signature, that its id and the digest of its
 * proposal follow from the request in it, and the members that its kind derives. Never throws.
 */
export async function verifyRegistryRecord(
  rules: RecordRules,
  document: unknown,
  keys: readonly PublishedKey[],
): Promise<Verdict> {
  if (!isObject(document)) return malformedVerdict('record', 'not an object')
  const misfit = findMismatch(document, { ...SHAPE, [rules.id_field]: isText })
  if (misfit !== null) return malformedVerdict('record', misfit)
  const findings = startVerdict()
  const message = bytesOf(rules.kind, document)
  if (message === null) return malformedVerdict('record', 'no canonical form')
  const same = document['record_kind'] === rules.kind
  addCheck(findings, 'record_kind', same, 'is not the kind it is judged as')
  const version = document['schema_version'] === rules.schema_version
  addCheck(findings, 'schema_version', version, 'is not one these rules know')
  const shown = document['signed_bytes'] ?? null
  if (shown !== null) {
    addCheck(findings, 'signed_bytes', shown === toBase64(message), 'do not follow from the record')
  }
  const { signature, public_key, key_id } = document
  const at = String(document['issued_at'])
  const claim = { message, signature, public_key, key_id, purpose: 'record', at }
  await checkSignature(findings, claim, keys)
  checkTimes(document, findings)
  checkProposal(rules, document, findings)
  checkApproval(document, findings)
  tryCheck(rules, document, findings)
  return finishVerdict('record', findings)
}

function bytesOf(kind: RecordKind, document: JsonObject): Uint8Array | null {
  try {
    return signedBytes(kind, document)
  } catch {
    return null
  }
}

function checkTimes({ created_at, issued_at }: JsonObject, findings: VerdictDraft): void {
  const [created, issued] = [created_at, issued_at].map((at) => toMicroseconds(String(at)))
  // A comparison with an unreadable time (NaN) is false.
  const ordered = Number(created) <= Number(issued)
  addCheck(findings, 'times', ordered, 'issued before it was asked for, or no times')
}

function checkProposal(rules: RecordRules, document: JsonObject, findings: VerdictDraft): void {
  const request = tryRequest(rules, document)
  if (request === null) {
    addCheck(findings, 'proposal', false, 'the request cannot be read from the record')
    return
  }
  const proposal: Proposal = {
    tenant_id: String(document['tenant_id']),
    kind: rules.kind,
    request,
    created_at: String(document['created_at']),
    nonce: String(document['nonce']),
  }
  const digest = document['proposal_digest'] === proposalDigest(proposal)
  addCheck(findings, 'proposal_digest', digest, 'does not follow from the request')
  const id = document[rules.id_field] === recordId(proposal)
  addCheck(findings, rules.id_field, id, 'does not follow from the request')
}

function checkApproval(document: JsonObject, findings: VerdictDraft): void {
  const { approval } = document
  if (!isObject(approval)) return
  const misfit = findMismatch(approval, APPROVAL_SHAPE)
  const bound = approval['proposal_digest'] === document['proposal_digest']
  const what = misfit === null ? 'is bound to another proposal' : `has no ${misfit}`
  addCheck(findings, 'approval', misfit === null && bound, what)
  const then = approval['decided_at'] === document['issued_at']
  addCheck(findings, 'approved_then', then, 'was decided at another time than it was issued')
  const { approver, approver_id } = approval
  const asker = document['requested_by']
  const self = [approver, approver_id].some((one) => isText(one) && foldName(one) === asker)
  addCheck(findings, 'not_self_approved', !self, 'the approver is the key that asked')
  findings.notChecked.push('the approver: a name as given, or see the approval record')
}

function tryRequest(rules: RecordRules, document: JsonObject): JsonObject | null {
  try {
    return rules.requestOf(document)
  } catch {
    return null
  }
}

// An exception because of a malformed member becomes a failed check.
function tryCheck(rules: RecordRules, document: JsonObject, findings: VerdictDraft): void {
  try {
    rules.check(document, findings)
  } catch {
    addCheck(findings, 'shape', false, 'a member is not of the shape of its kind')
  }
}
