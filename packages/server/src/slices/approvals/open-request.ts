// A request for an approval opened: its row, its words, and as it is shown.

import assert from 'node:assert/strict'
import type { ApprovalRequest } from '@custos/contract'
import {
  type JsonObject,
  RECORD_KINDS,
  type RecordKind,
  signedBytes,
  toBase64,
} from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import {
  type ApprovalContent,
  type ApprovalRow,
  escalationsOf,
  openSealed,
} from '../records/index.ts'

export interface OpenRequest {
  readonly row: ApprovalRow
  readonly content: ApprovalContent
  /** What an approver signs together with the decision. */
  readonly context: ApprovalContent['context']
  /** The signed record of the decision, with its signed bytes. */
  readonly record: JsonObject | null
}

/** In the order of `rows`. Refuses while one of them cannot be opened. */
export async function openRequests(
  kernel: Kernel,
  tenant_id: string,
  rows: readonly ApprovalRow[],
): Promise<OpenRequest[]> {
  const sealed = rows.map((row) => ({
    ...row,
    owner: { tenant_id, table: 'approval' as const, kind: kindOf(row), id: row.request_id },
  }))
  const contents = await openSealed<ApprovalContent>(kernel, tenant_id, sealed)
  return rows.map((row, i) => {
    const content = contents[i]
    if (!content) throw new Refusal('unavailable', 'a request cannot be opened')
    return { row, content, context: content.context, record: complete(content.record) }
  })
}

/** Rows are written for the kinds of the proof package only. */
export function kindOf({ kind }: Pick<ApprovalRow, 'kind'>): RecordKind {
  const found = RECORD_KINDS.find((known) => known === kind)
  assert(found !== undefined, 'an approval is of a known kind of record')
  return found
}

function complete(record: JsonObject | null): JsonObject | null {
  if (record === null) return null
  return { ...record, signed_bytes: toBase64(signedBytes('approval', record)) }
}

type State = ApprovalRequest['status']

/** A request whose time is over is expired, also before anything has made it so. */
export function stateOf({ state, expires_us }: ApprovalRow, now_us: number): State {
  switch (state) {
    case 'approved':
    case 'denied':
    case 'expired':
      return state
    default:
      return expires_us <= now_us ? 'expired' : 'pending'
  }
}

export function showRequest({ row, content }: OpenRequest, now_us: number): ApprovalRequest {
  return {
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
