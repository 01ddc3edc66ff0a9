// Replies and refusals that registries share: waiting, rejected, denied, verified.

import type { Verdict } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import { accepted } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { type GateResult, refusalOf } from '../governance/index.ts'
import { findApproval } from './approvals.sql.ts'
import { findRowFault, type OpenRecord } from './open-record.ts'
import type { DenyingPolicy, RegistryIdentity } from './registry.ts'
import { verifySignedDocument } from './sign-record.ts'

/** 202: the record waits for a person. */
export async function answerWaiting<K extends string>(
  kernel: Kernel,
  tenant_id: string,
  { row }: OpenRecord,
  id_field: K,
) {
  const request_id = row.request_id ?? ''
  const approval = await kernel.db.read(tenant_id, (db) => findApproval(db, request_id))
  if (!approval) throw new Refusal('unavailable')
  const status = 'waiting_hitl' as const
  const expires_at = formatTime(approval.expires_us)
  const id = idMember(id_field, row.record_id)
  return accepted({ detail: { status, request_id, expires_at, ...id } })
}

/** A record's id under the member name that its registry uses. */
export const idMember = <K extends string>(id_field: K, record_id: string) =>
  ({ [id_field]: record_id }) as { [P in K]: string }

/** The 422 `rejected` with all reasons. */
export const rejection = (reasons: readonly string[], more: object = {}): Refusal =>
  new Refusal('rejected', undefined, { detail: { status: 'rejected', reasons, ...more } })

/**
 * Verifies the document against the currently published keys, and compares the row with it. Returns
 * `null` if there is no document.
 */
export async function verifyDocument(
  kernel: Kernel,
  { kind, issued_status }: RegistryIdentity,
  { row, document }: OpenRecord,
): Promise<Verdict | null> {
  if (document === null) return null
  const verdict = await verifySignedDocument(kernel, kind, document)
  const differs = findRowFault(row, document, issued_status)
  const checks = [...verdict.checks, { name: 'row', ok: differs === null }]
  if (differs === null) return { ...verdict, checks }
  const reason = verdict.reason ?? `row: ${differs} differs from what was signed`
  return { ...verdict, checks, valid: false, reason }
}

/** Why a record without a document does not verify. */
export const unsignedReason = ({ redacted }: OpenRecord, otherwise: string): string =>
  redacted ? 'its texts were erased: a certificate of erasure says so' : otherwise

/** The checks of a verdict by name. */
export const checksOf = (verdict: Verdict | null): Record<string, boolean> =>
  Object.fromEntries((verdict?.checks ?? []).map(({ name, ok }) => [name, ok]))

/** Lower-case hex without the prefix that names the hash. */
export const normalizeDigest = (digest: string): string =>
  digest.toLowerCase().replace(/^sha256:/, '')

/** The first policy that gave the verdict. */
export function denyingPolicy({ policies, verdict }: GateResult): DenyingPolicy {
  const first = policies.find(({ result }) => result === verdict)
  const { policy_id = '', name = '', detail: reason = '' } = first ?? {}
  return { policy_id, name, reason }
}

/** The refusal for a proposal that the policies do not allow. Nothing changes. */
export function refusalOfGate(
  registry: RegistryIdentity,
  gated: GateResult,
  record_id: string,
): Refusal {
  // A denial by a rate limit is temporary, so the registry's own denial is not used.
  const denied = gated.verdict === 'denied' && gated.exceeded === null
  return (denied && registry.denial?.(denyingPolicy(gated), record_id)) || refusalOf(gated)
}

/** The refusal of a record that is stored as denied. */
export function refusalOfDenied(registry: RegistryIdentity, { row, content }: OpenRecord): Refusal {
  const { denied_by, reason, approval } = content
  // Tells that a person decided; the reason stays in the record.
  if (approval !== null) {
    const decided = { status: 'denied', [registry.id_field]: row.record_id }
    return new Refusal('policy_denied', 'a person rejected it', { detail: decided })
  }
  const by = denied_by ?? { policy_id: '', name: '', reason: reason ?? '' }
  const given = registry.denial?.(by, row.record_id)
  if (given) return given
  const detail = { status: 'denied', [registry.id_field]: row.record_id, ...by }
  return new Refusal('policy_denied', undefined, { members: { ...by }, detail })
}
