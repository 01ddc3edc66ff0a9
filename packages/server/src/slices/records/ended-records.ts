// How records and approval requests end without a decision: expired, withdrawn, or their texts
// erased; and how requests of data subjects reach those texts.

import { isObject, type JsonObject, RECORD_KINDS, type RecordKind } from '@custos/proof'
import { listServedIds } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { REDACTED_TEXT, type TextSource, textSource } from '../../platform/kernel/text-source.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { type ApprovalContent, approvalColumn, contextOf } from './approval-request.ts'
import {
  type ApprovalRow,
  findApproval,
  findOverdueTenants,
  listAllApprovals,
  listOverdue,
  updateExpired,
  updateRedactedApproval,
} from './approvals.sql.ts'
import { kindOf, type RecordContent, recordColumn } from './open-record.ts'
import { appendRecordEvent } from './record-events.ts'
import {
  findRow,
  listRowsOfKind,
  type RecordRow,
  updateRedactedRecord,
  updateStatus,
} from './records.sql.ts'
import { documentDigest } from './sign-record.ts'

/** Returns false if the request was decided meanwhile or is not overdue. */
export async function expireRequest(
  kernel: Kernel,
  tenant_id: string,
  approval: ApprovalRow,
): Promise<boolean> {
  if (approval.state !== 'pending' || approval.expires_us > kernel.clock.now()) return false
  return kernel.db.transact(tenant_id, (tx) => expire(tx, approval, tx.now()))
}

/** Withdraws the request of a record that lost its purpose, in the unit of work that ends it. */
export async function withdrawRequest(
  tx: Tx,
  kind: RecordKind,
  record_id: string,
  reason: string,
): Promise<void> {
  const row = await findRow(tx, kind, record_id)
  if (row?.status !== 'waiting_hitl' || row.request_id === null) return
  const { request_id, proposal_digest } = row
  const request = { request_id, kind, record_id, proposal_digest }
  await expire(tx, request, Number.MAX_SAFE_INTEGER, reason)
}

async function expire(
  tx: Tx,
  request: Pick<ApprovalRow, 'request_id' | 'kind' | 'record_id' | 'proposal_digest'>,
  due_us: number,
  reason: string | null = null,
): Promise<boolean> {
  const { request_id, record_id, proposal_digest } = request
  const kind = kindOf(request)
  if (!(await updateExpired(tx, request_id, due_us))) return false
  const row = await findRow(tx, kind, record_id)
  const change = { record_id, from: 'waiting_hitl', to: 'expired', live: 0 } as const
  if (!row || !(await updateStatus(tx, change)))
    throw new Error('an approval request has no waiting record')
  await appendCrumb(tx, {
    event_type: 'approval.expired',
    subject: request_id,
    payload: { record_kind: kind, record_id, proposal_digest },
  })
  const event = { kind, row, document: null, evaluation_id: null, reason }
  await appendRecordEvent(tx, { ...event, status: 'expired' })
  return true
}

/** The most requests of one tenant that expire before the next tenant is served. */
const BATCH = 100

/** Expires overdue requests in every tenant, oldest first, each in its own unit of work. */
export async function expireApprovals(kernel: Kernel, stopping?: AbortSignal): Promise<void> {
  let tenants = await kernel.db.read(PLATFORM, listServedIds)
  while (tenants.length > 0) {
    const overdue = await findOverdueTenants(kernel.db, tenants, kernel.clock.now())
    const unfinished: string[] = []
    for (const tenant_id of overdue) {
      if (stopping?.aborted) return
      if (await expireBatch(kernel, tenant_id)) unfinished.push(tenant_id)
    }
    tenants = unfinished
  }
}

/** Whether the tenant may have more overdue requests. */
async function expireBatch(kernel: Kernel, tenant_id: string): Promise<boolean> {
  const now_us = kernel.clock.now()
  const rows = await kernel.db.read(tenant_id, (db) => listOverdue(db, now_us, BATCH))
  let expired = 0
  for (const row of rows) {
    try {
      if (await expireRequest(kernel, tenant_id, row)) expired += 1
    } catch (error) {
      // A request that cannot be expired does not delay the others.
      const reason = error instanceof Error ? error.name : 'unknown'
      kernel.logger.error('approval.expiry_failed', { request_id: row.request_id, reason })
    }
  }
  return rows.length === BATCH && expired > 0
}

const REDACT: Readonly<
  Record<RecordKind, (request: JsonObject, document: JsonObject | null) => JsonObject>
> = {
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
