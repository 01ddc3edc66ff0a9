// Opens records: a row, the request it was proposed with, and the signed document.

import { RECORD_STATUSES, type RecordStatus, type TrustTier } from '@custos/contract'
import {
  type ApprovalMember,
  isObject,
  type JsonObject,
  RECORD_KINDS,
  type RecordKind,
  signedBytes,
} from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { jsonPayload, REDACTED_SECRET, sealedColumn } from '../../platform/kernel/sealed-column.ts'
import type { RecordRow } from './records.sql.ts'
import type { DenyingPolicy } from './registry.ts'

/** The sealed content of a record. */
export type RecordContent = {
  readonly request: JsonObject
  readonly nonce: string
  /** The policies' evaluation of the proposal. */
  readonly evaluation_id: string | null
  /** The highest trust tier that the proposer may claim. `null` means no limit. */
  readonly ceiling: TrustTier | null
  /** The `principalLabel` of the principal as given, before any redaction by policies. */
  readonly principal_label: string | null
  /** The signed document without its signed bytes, which are derived from it. */
  readonly document: JsonObject | null
  /** A person's decision, if one was required. */
  readonly approval: ApprovalMember | null
  readonly denied_by: DenyingPolicy | null
  /** Why the record was not issued, in words for people. */
  readonly reason: string | null
  /**
   * Of a redacted record: the signature over the document that was erased, and its digest on the
   * log. Absent in all others.
   */
  readonly signed?: {
    readonly record_digest: string
    readonly signature: string
    readonly public_key: string
    readonly key_id: string
  } | null
}

export interface OpenRecord {
  readonly row: RecordRow
  /** Whether the texts are erased. If so, the request holds only ids and digests. */
  readonly redacted: boolean
  readonly content: RecordContent
  readonly request: JsonObject
  /** Includes the signed bytes. */
  readonly document: JsonObject | null
  readonly approval: ApprovalMember | null
  readonly reason: string | null
}

export const recordColumn = sealedColumn({
  domain: 'record',
  ids: (tenant_id, { kind, record_id }: Pick<RecordRow, 'kind' | 'record_id'>) => [
    tenant_id,
    kind,
    record_id,
  ],
  payload: jsonPayload<RecordContent>(),
})

export function toOpenRecord(row: RecordRow, content: RecordContent): OpenRecord {
  const { request, document, approval, reason } = content
  const redacted = row.secret_no === REDACTED_SECRET
  const shown = { request, document: addSignedBytes(row, document), approval, reason }
  return { row, redacted, content, ...shown }
}

function addSignedBytes(row: RecordRow, document: JsonObject | null): JsonObject | null {
  if (document === null) return null
  const message = signedBytes(kindOf(row), document)
  return { ...document, signed_bytes: Buffer.from(message).toString('base64') }
}

/** Opens records in the order of `rows`. Refuses if one of them does not open. */
export async function openRecords(
  kernel: Kernel,
  tenant_id: string,
  rows: readonly RecordRow[],
): Promise<OpenRecord[]> {
  const opened = await recordColumn.loadAll(kernel, tenant_id, rows, 'a record')
  return opened.map(({ row, content }) => toOpenRecord(row, content))
}

/** The members of a row that every registry shows. */
export function showRow(record: OpenRecord, tenant_id: string) {
  const { row, redacted, content, document, approval, reason } = record
  const signed: JsonObject | null = document ?? content.signed ?? null
  const text = (member: string): string | null => {
    const value = signed?.[member]
    return typeof value === 'string' ? value : null
  }
  return {
    tenant_id,
    status: statusOf(row),
    redacted,
    document: document === null ? null : { ...document },
    proposal_digest: row.proposal_digest,
    approval_request_id: row.request_id,
    approval: approval === null ? null : { ...approval },
    reason,
    requested_by: row.requested_by,
    signature: text('signature'),
    public_key: text('public_key'),
    signer_public_key: text('public_key'),
    key_id: text('key_id'),
    created_at: formatTime(row.created_us),
  }
}

const BYTES_PER_BASE64_CHAR = 3 / 4

/** Whether the signed bytes exceed `bytes_max`. False without a document. */
export function isDocumentLarger({ document }: OpenRecord, bytes_max: number): boolean {
  const signed = String(document?.['signed_bytes'] ?? '')
  return signed.length * BYTES_PER_BASE64_CHAR > bytes_max
}

/** Throws for a kind that this service does not write. */
export function kindOf({ kind }: { readonly kind: string }): RecordKind {
  const found = RECORD_KINDS.find((known) => known === kind)
  if (found === undefined) throw new Error('a record of an unknown kind')
  return found
}

export function statusOf({ status }: { readonly status: string }): RecordStatus {
  const found = RECORD_STATUSES.find((known) => known === status)
  if (found === undefined) throw new Error('a record of an unknown status')
  return found
}

/**
 * Compares a row with the signed document, so that an altered row is never trusted. Returns the
 * first column that differs, or `null`.
 * @param issued_status the status of an issued record of its kind
 */
export function findRowFault(
  row: RecordRow,
  document: JsonObject,
  issued_status: string,
): string | null {
  const approval = document['approval'] ?? null
  const { version = null } = document
  const pairs: Readonly<Record<string, readonly [unknown, unknown]>> = {
    proposal_digest: [row.proposal_digest, document['proposal_digest']],
    requested_by: [row.requested_by, document['requested_by']],
    policy_set: [row.policy_set, document['policy_set']],
    created_at: [formatTime(row.created_us), document['created_at']],
    request_id: [row.request_id, isObject(approval) ? approval['request_id'] : null],
    version: [typeof version === 'number' ? row.version : version, version],
  }
  for (const [column, [here, signed]] of Object.entries(pairs)) if (here !== signed) return column
  const certified = row.kind === 'artifact' && row.status === 'certified'
  if (row.status !== issued_status && !certified) return 'status'
  return certified === (row.linked_id !== null) ? null : 'certificate_id'
}
