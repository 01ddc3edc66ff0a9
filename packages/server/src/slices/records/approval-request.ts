// A request for an approval: what it is bound to, and what an approver is shown of it.

import type { JsonObject, RecordKind } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import type { Gated, PolicyVersion } from '../governance/index.ts'
import {
  type ApprovalRow,
  findSettings,
  insertApproval,
  type SettingsRow,
} from './approvals.sql.ts'
import { kindOf } from './open-record.ts'
import { sealNew } from './sealed-record.ts'

/** The words of a request, as they are sealed. */
export type ApprovalContent = {
  /** The gate's name of what was asked for: a caller's word where it names an action. */
  readonly operation: string
  /** What is to be approved, member by member: a row that says otherwise was altered. */
  readonly context: JsonObject
  /** What the policies gave as their reasons. */
  readonly reasons: readonly { policy_id: string; name: string; reason: string }[]
  /** The signed approval record, once decided. */
  readonly record: JsonObject | null
}

export interface ApprovalSettings {
  readonly different_credential: boolean
  readonly attestation_required: boolean
  readonly expires_after_seconds: number
}

const DEFAULTS: ApprovalSettings = {
  different_credential: false,
  attestation_required: false,
  expires_after_seconds: 86_400,
}

export async function loadSettings(kernel: Kernel, tenant_id: string): Promise<ApprovalSettings> {
  return settingsOf(await kernel.db.read(tenant_id, findSettings))
}

export function settingsOf(row: SettingsRow | undefined): ApprovalSettings {
  if (!row) return DEFAULTS
  return {
    different_credential: row.different_credential === 1,
    attestation_required: row.attestation_required === 1,
    expires_after_seconds: row.expires_after_s,
  }
}

const ID_BYTES = 16

export const approvalOwner = (tenant_id: string, kind: RecordKind, id: string) => ({
  ...{ tenant_id, kind, id },
  table: 'approval' as const,
})

export interface ApprovalSubject {
  readonly kind: RecordKind
  readonly record_id: string
  readonly proposal_digest: string
  readonly operation: string
  readonly requested_by: string
  /** As it stands in the request. */
  readonly principal: string | null
}

export async function prepareApproval(
  kernel: Kernel,
  tenant_id: string,
  { asked, gated }: { asked: ApprovalSubject; gated: Gated },
): Promise<ApprovalRow> {
  const { kind, record_id, proposal_digest, operation, requested_by, principal } = asked
  const { expires_after_seconds } = await loadSettings(kernel, tenant_id)
  const escalated = gated.policies.filter(({ result }) => result === 'escalated')
  const request_id = kernel.ids.hex(ID_BYTES)
  const issued_us = kernel.clock.now()
  const row = {
    ...{ request_id, kind, record_id, proposal_digest, requested_by, issued_us },
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
    reasons: escalated.map(({ policy_id, name, detail }) => ({ policy_id, name, reason: detail })),
    record: null,
  }
  const owner = approvalOwner(tenant_id, kind, request_id)
  return { ...row, ...(await sealNew(kernel, owner, content)) }
}

/** The row, and its entry on the log. */
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

/** The policies that asked for the approval, in the versions in which they did. */
export function escalationsOf(row: Pick<ApprovalRow, 'escalations'>): PolicyVersion[] {
  // Written by prepareApproval.
  const pairs: [string, number][] = JSON.parse(row.escalations)
  return pairs.map(([policy_id, version]) => ({ policy_id, version }))
}

/**
 * What an approver decides about, member by member: together with the decision it is what an
 * enrolled approver signs, and what the signed approval record repeats.
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
