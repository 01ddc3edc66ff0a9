// The answers that registries share.

import type { JsonObject, Verdict } from '@custos/proof'
import { accepted } from '../../platform/call.ts'
import { formatTime } from '../../platform/clock.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { type Gated, refusalOf } from '../governance/index.ts'
import { findApproval } from './approvals.sql.ts'
import { type OpenRecord, rowFault } from './open-record.ts'
import type { DenyingPolicy, Registry } from './registry.ts'
import { verifySignedDocument } from './sign-record.ts'

/** The 202 of a record that waits. */
export async function answerWaiting<K extends string>(
  kernel: Kernel,
  tenant_id: string,
  { row }: OpenRecord,
  id_field: K,
) {
  const request_id = row.request_id ?? ''
  const approval = await kernel.db.read(tenant_id, (db) => findApproval(db, request_id))
  if (!approval) throw new Refusal('unavailable')
  const ids = { [id_field]: row.record_id } as { [P in K]: string }
  const expires_at = formatTime(approval.expires_us)
  return accepted({ detail: { status: 'waiting_hitl' as const, request_id, expires_at, ...ids } })
}

/**
 * What a verifier finds in the document, against the keys published now, and whether the row says
 * the same as what was signed; null without a document.
 */
export async function verifyDocument<Q extends JsonObject>(
  kernel: Kernel,
  { kind, standing }: Registry<Q>,
  { row, document }: OpenRecord,
): Promise<Verdict | null> {
  if (document === null) return null
  const verdict = await verifySignedDocument(kernel, kind, document)
  const differs = rowFault(row, document, standing)
  const checks = [...verdict.checks, { name: 'row', ok: differs === null }]
  if (differs === null) return { ...verdict, checks }
  const reason = verdict.reason ?? `row: ${differs} differs from what was signed`
  return { ...verdict, checks, valid: false, reason }
}

/** The checks of a verdict by name. */
export const checksOf = (verdict: Verdict | null): Record<string, boolean> =>
  Object.fromEntries((verdict?.checks ?? []).map(({ name, ok }) => [name, ok]))

/** Lower hex without the name of the hash. */
export const normalizeDigest = (digest: string): string =>
  digest.toLowerCase().replace(/^sha256:/, '')

/** The first policy that gave the verdict. */
export function denyingPolicy({ policies, verdict }: Gated): DenyingPolicy {
  const first = policies.find(({ result }) => result === verdict)
  const { policy_id = '', name = '', detail: reason = '' } = first ?? {}
  return { policy_id, name, reason }
}

/** Of a record that is not kept, or stays as it is. */
export function refusalOfGate<Q extends JsonObject>(
  registry: Registry<Q>,
  gated: Gated,
  record_id: string,
): Refusal {
  const denied = gated.verdict === 'denied'
  return (denied && registry.denial?.(denyingPolicy(gated), record_id)) || refusalOf(gated)
}

/** Of a record that was kept as denied. */
export function refusalOfDenied(registry: Registry, { row, content }: OpenRecord): Refusal {
  const { denied_by, reason, approval } = content
  // Who asks again is told that it was decided; what the person said stands in the record.
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
