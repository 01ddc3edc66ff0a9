// Signs records under the domain of their kind, and verifies them before they are stored.

import assert from 'node:assert/strict'
import {
  type ApprovalMember,
  type JsonObject,
  type Proposal,
  proposalDigest,
  recordId,
  type SignedKind,
  signedBytes,
  type Verdict,
  verifyEnvelope,
} from '@custos/proof'
import { sha256 } from '../../platform/bytes.ts'
import { formatTime } from '../../platform/clock.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import type { AdmittedProposal, RecordEffect, Registry } from './registry.ts'

/** The id and the digest that are derived from a proposal as it was stored. */
export function deriveIds(stored: {
  readonly tenant_id: string
  readonly kind: Proposal['kind']
  readonly request: JsonObject
  readonly created_us: number
  readonly nonce: string
}): { record_id: string; proposal_digest: string } {
  const { tenant_id, kind, request, created_us, nonce } = stored
  const created_at = formatTime(created_us)
  const proposal: Proposal = { tenant_id, kind, request, created_at, nonce }
  return { record_id: recordId(proposal), proposal_digest: proposalDigest(proposal) }
}

interface RecordSigning<Q extends JsonObject> {
  readonly registry: Registry<Q>
  readonly proposal: AdmittedProposal<Q>
  readonly requested_by: string
  readonly policy_set: number
  readonly evaluation_id: string | null
  readonly approval: ApprovalMember | null
  readonly issued_us: number
}

/** Returns the signed document and its effect. Throws the refusals of the registry. */
export async function signRecord<Q extends JsonObject>(
  signing: RecordSigning<Q>,
): Promise<{ document: JsonObject; effect: RecordEffect | null }> {
  const { registry, proposal, approval } = signing
  const { kernel, tenant_id, record_id, created_us, nonce, proposal_digest } = proposal
  const { document: fields, effect = null } = await registry.fields(proposal)
  const document: JsonObject = {
    ...fields,
    schema_version: registry.schema_version,
    record_kind: registry.kind,
    tenant_id,
    [registry.id_field]: record_id,
    created_at: formatTime(created_us),
    issued_at: formatTime(signing.issued_us),
    nonce,
    proposal_digest,
    requested_by: signing.requested_by,
    policy_set: signing.policy_set,
    evaluation_id: signing.evaluation_id,
    approval: approval === null ? null : { ...approval },
  }
  return { document: await signDocument(kernel, registry.kind, document), effect }
}

/** Signs a document and verifies it before it leaves this function. */
export async function signDocument(
  kernel: Kernel,
  kind: SignedKind,
  document: JsonObject,
): Promise<JsonObject> {
  const signer = kernel.keyring.signer('record')
  const signed: JsonObject = {
    ...document,
    signature: signer.sign(signedBytes(kind, document)).toString('base64'),
    public_key: signer.public_key.toString('base64'),
    key_id: signer.key_id,
  }
  const verdict = await verifySignedDocument(kernel, kind, signed)
  assert(verdict.valid, `a ${kind} record that does not verify was made: ${verdict.reason}`)
  return signed
}

/** Verifies a document against the currently published keys. */
export const verifySignedDocument = (
  kernel: Kernel,
  kind: SignedKind,
  document: JsonObject,
): Promise<Verdict> =>
  verifyEnvelope(
    { type: 'record', kind, record: document },
    { keys: kernel.keyring.publishedKeys() },
  )

/** The SHA-256 of the signed bytes in lowercase hex, which the log carries about a record. */
export const documentDigest = (kind: SignedKind, document: JsonObject): string =>
  Buffer.from(sha256(signedBytes(kind, document))).toString('hex')
