// Plain reads: the queue, a request with what an approver signs, approvers.

import type { ApprovalRequestWithContext, approvals as contract } from '@custos/contract'
import { attestationBytes, canonicalBytes, toBase64, toHex } from '@custos/proof'
import type { Call, Handler } from '../../platform/call.ts'
import { formatTime } from '../../platform/clock.ts'
import { pageOf } from '../../platform/page.ts'
import { Refusal } from '../../platform/refusal.ts'
import {
  escalationsOf,
  findApproval,
  findRecord,
  listApprovals,
  type OpenRecord,
} from '../records/index.ts'
import { showApprovers } from './approver.ts'
import { findApprover, listApprovers } from './approvers.sql.ts'
import { kindOf, type OpenRequest, openRequests, showRequest } from './open-request.ts'

const PAGE = 50

export const requests: Handler<typeof contract.requests> = async (call, { query }) => {
  const { kernel, tenant_id } = call
  const page = pageOf(query, PAGE)
  const now_us = kernel.clock.now()
  const wanted = { state: query.status ?? 'pending', now_us, ...page }
  const rows = await call.read((db) => listApprovals(db, wanted))
  const opened = await openRequests(kernel, tenant_id, rows)
  return page.envelope(
    'requests',
    opened.map((request) => showRequest(request, now_us)),
  )
}

/** Refuses `request_not_found`. */
export async function loadRequest(
  { kernel, tenant_id }: Call,
  request_id: string,
): Promise<OpenRequest> {
  const row = await kernel.db.read(tenant_id, (db) => findApproval(db, request_id))
  if (!row) throw new Refusal('request_not_found')
  const [opened] = await openRequests(kernel, tenant_id, [row])
  if (!opened) throw new Refusal('request_not_found')
  return opened
}

export const contextHex = ({ context }: OpenRequest): string => toHex(canonicalBytes(context))

export const request: Handler<typeof contract.request> = async (call, { params }) => {
  const opened = await loadRequest(call, params.request_id)
  const { row, context, record } = opened
  const { record_id } = row
  const asked = await findRecord(call.kernel, call.tenant_id, { kind: kindOf(row), record_id })
  if (!asked) return call.refuse('request_not_found')
  return {
    ...showRequest(opened, call.kernel.clock.now()),
    context,
    context_bytes_hex: contextHex(opened),
    signing_input: {
      approve: toBase64(attestationBytes(context, 'approve')),
      deny: toBase64(attestationBytes(context, 'deny')),
    },
    request: { ...asked.request },
    proposal: proposalOf(call.tenant_id, asked),
    policies: policiesOf(opened),
    record: record === null ? null : { ...record },
  }
}

/** Its RFC 8785 bytes give `proposal_digest`, by SHA-256: what is signed is what is shown. */
function proposalOf(tenant_id: string, { row, content, request }: OpenRecord) {
  const created_at = formatTime(row.created_us)
  return { tenant_id, kind: row.kind, request: { ...request }, created_at, nonce: content.nonce }
}

function policiesOf({ row, content }: OpenRequest): ApprovalRequestWithContext['policies'] {
  const words = new Map(content.reasons.map((one) => [one.policy_id, one]))
  return escalationsOf(row).map(({ policy_id, version }) => {
    const { name = '', reason = '' } = words.get(policy_id) ?? {}
    return { policy_id, version, name, reason }
  })
}

export const approvers: Handler<typeof contract.approvers> = async (call, { query }) => {
  const page = pageOf(query, PAGE)
  const rows = await call.read((db) => listApprovers(db, page))
  return page.envelope('approvers', await showApprovers(call.kernel, call.tenant_id, rows))
}

export const approver: Handler<typeof contract.approver> = async (call, { params }) => {
  const row = await call.read((db) => findApprover(db, params.approver_id))
  const [shown] = row ? await showApprovers(call.kernel, call.tenant_id, [row]) : []
  return shown ?? call.refuse('approver_not_found')
}
