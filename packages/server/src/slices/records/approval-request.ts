// Approval requests: what they are bound to, and what an approver sees of them.

import type { ApprovalSettings } from '@custos/contract'
import type { JsonObject, RecordKind } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { jsonPayload, sealedColumn } from '../../platform/kernel/sealed-column.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import type { GateResult, PolicyVersion } from '../governance/index.ts'
import { type ApprovalRow, findSettings, insertApproval } from './approvals.sql.ts'
import { kindOf, type RecordContent } from './open-record.ts'

/** The sealed content of an approval request. */
export type ApprovalContent = {
  /** The operation as policies name it. Callers control it where it names an action. */
  readonly operation: string
  /** The context to approve. A row that differs from it was altered. */
  readonly context: JsonObject
  /** The origins of the proposal's text, which policies read beside its request. */
  readonly context_origins?: readonly string[]
  /** Why policies escalated. */
  readonly reasons: readonly { policy_id: string; name: string; reason: string }[]
  /** The signed approval record. `null` before the decision. */
  readonly record: JsonObject | null
  /** What was signed, in a redacted request only. */
  readonly signed?: NonNullable<RecordContent['signed']> | null
}

const DEFAULTS: ApprovalSettings = {
  different_credential: false,
  attestation_required: false,
  expires_after_seconds: 86_400,
}

export async function loadSettings(kernel: Kernel, tenant_id: string): Promise<ApprovalSettings> {
  return settingsOf(await kernel.db.read(tenant_id, findSettings))
}

export function settingsOf(row: Awaited<ReturnType<typeof findSettings>>): ApprovalSettings {
  if (!row) return DEFAULTS
  return {
    different_credential: row.different_credential === 1,
    attestation_required: row.attestation_required === 1,
    expires_after_seconds: row.expires_after_s,
  }
}

const ID_BYTES = 16

export const approvalColumn = sealedColumn({
  domain: 'approval',
  ids: (tenant_id, { kind, request_id }: Pick<ApprovalRow, 'kind' | 'request_id'>) => [
    tenant_id,
    kind,
    request_id,
  ],
  payload: jsonPayload<ApprovalContent>(),
})

interface ApprovalSubject {
  readonly kind: RecordKind
  readonly record_id: string
  readonly proposal_digest: string
  readonly operation: string
  readonly requested_by: string
  /** The human principal that the request names. */
  readonly principal: string | null
}

export async function prepareApproval(
  kernel: Kernel,
  tenant_id: string,
  {
    subject,
    gated,
    context_origins,
  }: Pick<ApprovalContent, 'context_origins'> & { subject: ApprovalSubject; gated: GateResult },
): Promise<ApprovalRow> {
  const { kind, record_id, proposal_digest, operation, requested_by, principal } = subject
  const { expires_after_seconds } = await loadSettings(kernel, tenant_id)
  const escalated = gated.policies.filter(({ result }) => result === 'escalated')
  const request_id = kernel.ids.hex(ID_BYTES)
  const issued_us = kernel.clock.now()
  const row = {
    request_id,
    kind,
    record_id,
    proposal_digest,
    requested_by,
    issued_us,
    state: 'pending',
    policy_set: gated.policy_set,
    escalations: JSON.stringify(escalated.map(({ policy_id, version }) => [policy_id, version])),
    nonce: kernel.ids.hex(ID_BYTES),
    expires_us: issued_us + expires_after_seconds * 1_000_000,
    decided_us: null,
    decided_by: null,
    approver_id: null,
  }
  const content: ApprovalContent = {
    operation,
    context: contextOf(row, tenant_id, { operation, principal }),
    ...(context_origins && { context_origins }),
    reasons: escalated.map(({ policy_id, name, detail }) => ({ policy_id, name, reason: detail })),
    record: null,
  }
  return { ...row, ...(await approvalColumn.sealNew(kernel, tenant_id, row, content)) }
}

export interface OpenApproval {
  readonly row: ApprovalRow
  readonly content: ApprovalContent
}

/** Opens approval requests in the order of `rows`. Refuses if one of them does not open. */
export const openApprovals = (
  kernel: Kernel,
  tenant_id: string,
  rows: readonly ApprovalRow[],
): Promise<OpenApproval[]> => approvalColumn.loadAll(kernel, tenant_id, rows, 'an approval request')

/** Writes the row and its log entry. */
export async function insertApprovalRequest(tx: Tx, row: ApprovalRow): Promise<void> {
  await insertApproval(tx, row)
  await appendCrumb(tx, {
    event_type: 'approval.requested',
    subject: row.request_id,
    payload: {
      record_kind: row.kind,
      record_id: row.record_id,
      proposal_digest: row.proposal_digest,
      policy_set: row.policy_set,
      policies: escalationsOf(row),
      expires_at: formatTime(row.expires_us),
      requested_by: row.requested_by,
    },
  })
}

/** The policies that escalated, in the versions that did. */
export function escalationsOf(row: Pick<ApprovalRow, 'escalations'>): PolicyVersion[] {
  // Written by `prepareApproval`.
  const pairs: [string, number][] = JSON.parse(row.escalations)
  return pairs.map(([policy_id, version]) => ({ policy_id, version }))
}

/**
 * The context that an approver decides on. An enrolled approver signs it together with the
 * decision, and the signed approval record repeats it.
 */
export function contextOf(
  row: Omit<ApprovalRow, 'secret_no' | 'sealed'>,
  tenant_id: string,
  { operation, principal }: { operation: string; principal: string | null },
) {
  return {
    request_id: row.request_id,
    tenant_id,
    record_kind: kindOf(row),
    record_id: row.record_id,
    operation,
    proposal_digest: row.proposal_digest,
    policy_set: row.policy_set,
    escalations: escalationsOf(row).map((one) => ({ ...one })),
    requested_by: row.requested_by,
    principal,
    issued_at: formatTime(row.issued_us),
    expires_at: formatTime(row.expires_us),
    nonce: row.nonce,
  }
}
