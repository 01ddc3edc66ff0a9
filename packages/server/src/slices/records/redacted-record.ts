// What remains of records and approval requests whose texts are erased, and how subject requests
// find their texts.

import { isObject, type JsonObject, RECORD_KINDS, type RecordKind } from '@custos/proof'
import { REDACTED_TEXT, type TextSource, textSource } from '../../platform/kernel/text-source.ts'
import { type ApprovalContent, approvalColumn, contextOf } from './approval-request.ts'
import {
  type ApprovalRow,
  findApproval,
  listAllApprovals,
  updateRedactedApproval,
} from './approvals.sql.ts'
import { type RecordContent, recordColumn } from './open-record.ts'
import { findRow, listRowsOfKind, type RecordRow, updateRedactedRecord } from './records.sql.ts'
import { documentDigest } from './sign-record.ts'

/** Returns the ids and digests that a redacted record keeps of its request, by kind. */
type RedactRequest = (request: JsonObject, document: JsonObject | null) => JsonObject

const REDACT: Readonly<Record<RecordKind, RedactRequest>> = {
  artifact: ({ layers }) => ({
    ...ARTIFACT,
    layers: listOf(layers).map(({ digest = '', size = null }) => ({
      media_type: null,
      digest,
      size,
    })),
    metadata: {},
  }),
  landing: ({ layer_hashes = [], authority }) => ({
    ...ARTIFACT,
    layer_hashes,
    data_provenance: {},
    authority: redactAuthority(authority),
    claimed_conformance: {},
    permitted_actions: [],
  }),
  corpus: ({ merkle_root = '', sources_digest = '', source_count = 0 }, document) => ({
    name: REDACTED_TEXT,
    attestations: {},
    processing: [],
    metadata: {},
    merkle_root,
    sources_digest,
    source_count,
    corpus_hash: document?.['corpus_hash'] ?? '',
  }),
  world_type: ({ kind = '' }) => ({ kind, name: REDACTED_TEXT, spec: {} }),
  action: ({ authority, type }) => ({
    action_name: REDACTED_TEXT,
    subject_refs: [],
    params: {},
    authority: redactAuthority(authority),
    type: isObject(type) ? { ...type, subject_type: null } : {},
  }),
  composition: ({ members, authority, required_trust_tier = null }) => ({
    composition_kind: REDACTED_TEXT,
    members: listOf(members).map(({ certified = false }) => ({
      ref_id: REDACTED_TEXT,
      license: REDACTED_TEXT,
      certified,
      found: null,
    })),
    target_ref: REDACTED_TEXT,
    authority: redactAuthority(authority),
    required_trust_tier,
  }),
  // Contains only ids, codes and a salted commitment, and no text.
  agent_action: (request) => request,
}

const ARTIFACT = {
  artifact_ref: REDACTED_TEXT,
  base_model_ref: REDACTED_TEXT,
  kind: REDACTED_TEXT,
} as const

const listOf = (value: unknown): JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : []

const redactAuthority = (authority: JsonObject[string] | undefined): JsonObject =>
  isObject(authority) ? { ...authority, delegation_ref: null, human_principal: null } : {}

/** Removes the nonce, so that nobody can confirm a guess of the request by its digest. */
function redactRecordContent(kind: RecordKind, content: RecordContent): RecordContent {
  const { request, document, approval, evaluation_id, ceiling } = content
  return {
    request: REDACT[kind](request, document),
    nonce: '',
    evaluation_id,
    ceiling,
    principal_label: null,
    document: null,
    approval: approval === null ? null : { ...approval, approver: REDACTED_TEXT, reason: null },
    denied_by: null,
    reason: null,
    signed: document === null ? null : signatureOf(kind, document),
  }
}

const signatureOf = (kind: RecordKind | 'approval', document: JsonObject) => ({
  record_digest: documentDigest(kind, document),
  signature: String(document['signature']),
  public_key: String(document['public_key']),
  key_id: String(document['key_id']),
})

function redactApprovalContent(
  tenant_id: string,
  row: ApprovalRow,
  { record }: ApprovalContent,
): ApprovalContent {
  const operation = REDACTED_TEXT
  return {
    operation,
    context: contextOf(row, tenant_id, { operation, principal: null }),
    reasons: [],
    record: null,
    signed: record === null ? null : signatureOf('approval', record),
  }
}

const RECORDS_AT_ONCE = 10

const recordSource = (kind: RecordKind): TextSource =>
  textSource<RecordRow, RecordContent>({
    kind,
    batch: RECORDS_AT_ONCE,
    list: (db, after, limit) => listRowsOfKind(db, kind, { after: after?.record_id ?? '', limit }),
    find: (db, id) => findRow(db, kind, id),
    idOf: ({ record_id }) => record_id,
    createdUs: ({ created_us }) => created_us,
    open: (kernel, tenant_id, rows) => recordColumn.openAll(kernel, tenant_id, rows),
    show: ({ request, document, approval, denied_by, reason }, { status }) => ({
      status,
      request,
      document,
      approval,
      denied_by,
      reason,
    }),
    redact: async (kernel, tenant_id, { row, content }) => [
      await recordColumn.sealRedacted(kernel, tenant_id, row, redactRecordContent(kind, content)),
    ],
    update: (tx, { record_id }, [sealed]) => updateRedactedRecord(tx, record_id, sealed),
  })

const approvalSource = textSource<ApprovalRow, ApprovalContent>({
  kind: 'approval',
  list: (db, after, limit) => listAllApprovals(db, after?.request_id ?? '', limit),
  find: findApproval,
  idOf: ({ request_id }) => request_id,
  createdUs: ({ issued_us }) => issued_us,
  open: (kernel, tenant_id, rows) => approvalColumn.openAll(kernel, tenant_id, rows),
  show: (content, { state }) => ({ state, ...content }),
  redact: async (kernel, tenant_id, { row, content }) => {
    const left = redactApprovalContent(tenant_id, row, content)
    return [await approvalColumn.sealRedacted(kernel, tenant_id, row, left)]
  },
  update: (tx, { request_id }, [sealed]) => updateRedactedApproval(tx, request_id, sealed),
})

/** The text sources of all registries and of approval requests. */
export const recordTextSources: readonly TextSource[] = [
  ...RECORD_KINDS.map(recordSource),
  approvalSource,
]
