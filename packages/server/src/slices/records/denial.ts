// What a denial answers: in the registry's own words, or 403 with the policy and its reason.

import type { JsonObject } from '@custos/proof'
import { Refusal } from '../../platform/refusal.ts'
import { type Gated, refusalOf } from '../governance/index.ts'
import type { OpenRecord } from './open-record.ts'
import type { DeniedBy, Registry } from './registry.ts'

/** The first policy that gave the verdict. */
export function deniedBy({ policies, verdict }: Gated): DeniedBy {
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
  return (denied && registry.denial?.(deniedBy(gated), record_id)) || refusalOf(gated)
}

/** Of a record that was kept as denied. */
export function denialOf(registry: Registry, { row, content }: OpenRecord): Refusal {
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
