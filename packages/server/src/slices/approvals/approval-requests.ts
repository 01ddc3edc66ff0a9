// Lists and shows approval requests, and reads and changes the tenant's approval settings.

import {
  APPROVAL_SECONDS,
  type ApprovalRequest,
  type ApprovalRequestWithContext,
  type ApprovalSettings,
  type approvals as contract,
  limits,
} from '@custos/contract'
import {
  attestationBytes,
  canonicalBytes,
  type JsonObject,
  signedBytes,
  toBase64,
  toHex,
} from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import type { Call, Handler } from '../../platform/kernel/call.ts'
import { REDACTED_SECRET } from '../../platform/kernel/sealed-column.ts'
import { pageOf } from '../../platform/page.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import {
  escalationsOf,
  findApproval,
  findRecord,
  findSettings,
  kindOf,
  listApprovals,
  loadSettings,
  type OpenApproval,
  type OpenRecord,
  openApprovals,
  upsertSettings,
} from '../records/index.ts'
import { meter } from '../tenants/index.ts'

/** GET /v1/hitl/requests: the queue. */
export const requests: Handler<typeof contract.requests> = async (call, { query }) => {
  const { kernel, tenant_id } = call
  const page = pageOf(query, limits.records_page.default, call.operation.id)
  const now_us = kernel.clock.now()
  const filter = { state: query.status ?? 'pending', now_us, ...page }
  const rows = await call.read((db) => listApprovals(db, filter))
  const opened = await openApprovals(kernel, tenant_id, rows)
  const last = rows.at(-1)
  return page.envelope(
    'requests',
    opened.map((request) => showRequest(request, now_us)),
    last ? { at: last.issued_us, id: last.request_id } : null,
  )
}

/** Loads a request. Refuses `request_not_found`. */
export async function loadRequest(call: Call, request_id: string): Promise<OpenApproval> {
  const { kernel, tenant_id } = call
  const row = await kernel.db.read(tenant_id, (db) => findApproval(db, request_id))
  const [opened] = row ? await openApprovals(kernel, tenant_id, [row]) : []
  return opened ?? call.refuse('request_not_found')
}

/** The bytes that an approver signs together with the decision, as hex. */
export const contextHex = ({ content }: OpenApproval): string =>
  toHex(canonicalBytes(content.context))

/** The signed record of the decision with its signed bytes, or `null` before the decision. */
export function signedRecordOf({ content: { record } }: OpenApproval): JsonObject | null {
  if (record === null) return null
  return { ...record, signed_bytes: toBase64(signedBytes('approval', record)) }
}

/** GET /v1/hitl/requests/{request_id}: a request with what an approver signs. */
export const request: Handler<typeof contract.request> = async (call, { params }) => {
  const opened = await loadRequest(call, params.request_id)
  const { row, content } = opened
  const { context } = content
  const { record_id } = row
  const record = await findRecord(call.kernel, call.tenant_id, { kind: kindOf(row), record_id })
  if (!record) return call.refuse('request_not_found')
  return {
    ...showRequest(opened, call.kernel.clock.now()),
    context,
    context_bytes_hex: contextHex(opened),
    signing_input: {
      approve: toBase64(attestationBytes(context, 'approve')),
      deny: toBase64(attestationBytes(context, 'deny')),
    },
    request: { ...record.request },
    proposal: proposalOf(call.tenant_id, record),
    policies: policiesOf(opened),
    record: signedRecordOf(opened),
  }
}

/** The proposal as shown; `proposal_digest` is the SHA-256 of its RFC 8785 bytes. */
function proposalOf(tenant_id: string, { row, content, request }: OpenRecord) {
  const created_at = formatTime(row.created_us)
  return { tenant_id, kind: row.kind, request: { ...request }, created_at, nonce: content.nonce }
}

function policiesOf({ row, content }: OpenApproval): ApprovalRequestWithContext['policies'] {
  const reasons = new Map(content.reasons.map((one) => [one.policy_id, one]))
  return escalationsOf(row).map(({ policy_id, version }) => {
    const { name = '', reason = '' } = reasons.get(policy_id) ?? {}
    return { policy_id, version, name, reason }
  })
}

/** The state of a request. Past its deadline it is expired, whatever its row says. */
export function stateOf(
  { state, expires_us }: OpenApproval['row'],
  now_us: number,
): ApprovalRequest['status'] {
  switch (state) {
    case 'approved':
    case 'denied':
    case 'expired':
      return state
    default:
      return expires_us <= now_us ? 'expired' : 'pending'
  }
}

function showRequest({ row, content }: OpenApproval, now_us: number): ApprovalRequest {
  return {
    redacted: row.secret_no === REDACTED_SECRET,
    request_id: row.request_id,
    kind: row.kind,
    record_id: row.record_id,
    action: content.operation,
    resource: row.record_id,
    issued_at: formatTime(row.issued_us),
    expires_at: formatTime(row.expires_us),
    status: stateOf(row, now_us),
    requested_by: row.requested_by,
    proposal_digest: row.proposal_digest,
    policy_set: row.policy_set,
    escalations: escalationsOf(row).map((one) => ({ ...one })),
  }
}

/** GET /v1/hitl/settings */
export const settings: Handler<typeof contract.settings> = async (call) => ({
  ...(await loadSettings(call.kernel, call.tenant_id)),
})

/** PUT /v1/hitl/settings: what the tenant requires of approvals. */
export const changeSettings: Handler<typeof contract.change_settings> = (call, { body }) =>
  // Units of work of a tenant run one after another, so nothing changes between read and write.
  call.transact(async (tx) => {
    const before = await findSettings(tx)
    const changed: ApprovalSettings = {
      different_credential: body.different_credential ?? before?.different_credential === 1,
      attestation_required: body.attestation_required ?? before?.attestation_required === 1,
      expires_after_seconds:
        body.expires_after_seconds ?? before?.expires_after_s ?? APPROVAL_SECONDS.default,
    }
    const changed_by = call.principal.key_id
    await upsertSettings(tx, {
      different_credential: changed.different_credential ? 1 : 0,
      attestation_required: changed.attestation_required ? 1 : 0,
      expires_after_s: changed.expires_after_seconds,
      changed_us: tx.now(),
      changed_by,
    })
    meter(tx, call.operation.id)
    await appendCrumb(tx, {
      event_type: 'approval.settings_changed',
      subject: tx.tenant_id,
      payload: { ...changed, changed_by },
    })
    return changed
  })
