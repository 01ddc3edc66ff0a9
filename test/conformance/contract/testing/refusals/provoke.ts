// What approving and rejecting refuse, the same for every registry whose records may wait.

import type { Answer } from '../../../../../packages/server/src/testing/harness.ts'
import { exampleOf } from '../../examples.ts'
import { runSql } from '../rows.ts'
import type { World } from '../world.ts'

export type Provoke = (world: World) => Promise<Answer>

/** The example of an operation with other members in its body. */
export function askWith(world: World, id: string, more: object = {}): Promise<Answer> {
  const { body, ...sent } = exampleOf(id, world.ids)
  return world.tenant.ask(id, { ...sent, body: { ...Object(body), ...more } })
}

/** Under a policy that was not there when it was asked for. */
export const underPolicy =
  (id: string, gate: string, action: 'deny' | 'escalate'): Provoke =>
  async (world) => {
    const config = { operations: [gate] }
    const body = { name: 'a new one', policy_type: 'hitl_required', action, config }
    await world.tenant.ok('governance.create_policy', { body })
    return askWith(world, id)
  }

/** Under a rate limit that nothing is left of. */
export const underLimit =
  (id: string, gate: string, body: object = {}): Provoke =>
  async (world) => {
    await exhaust(world, gate)
    return askWith(world, id, body)
  }

/** An evaluation of an operation of the tenant's own uses the limit up. */
export async function exhaust({ tenant }: World, gate: string): Promise<void> {
  const config = { max_requests: 1, operations: [gate, 'custom.any'] }
  const body = { name: 'a limit', policy_type: 'rate_limit', config }
  await tenant.ok('governance.create_policy', { body })
  await tenant.ok('governance.evaluate', { body: { operation: 'custom.any' } })
}

export interface Deciding {
  readonly approve: string
  readonly reject: string
  /** The operation that policies know it by. */
  readonly gate: string
  /** Of the record that waits. */
  waiting(world: World): string
  /** Who may not decide: the principal of the request, or the key that made it. */
  asker(world: World): string | Promise<string>
}

/** Cases by `operation code`. */
export const decidingCases = (deciding: Deciding): Readonly<Record<string, Provoke>> => ({
  ...either(deciding, deciding.approve),
  ...either(deciding, deciding.reject),
  [`${deciding.approve} policy_denied`]: underPolicy(deciding.approve, deciding.gate, 'deny'),
  [`${deciding.approve} rate_limited`]: underLimit(deciding.approve, deciding.gate),
  [`${deciding.approve} approval_required`]: underPolicy(
    deciding.approve,
    deciding.gate,
    'escalate',
  ),
})

const either = (deciding: Deciding, id: string): Readonly<Record<string, Provoke>> => ({
  [`${id} not_waiting`]: async (world) => {
    await askWith(world, id)
    return askWith(world, id)
  },
  [`${id} approval_expired`]: async (world) => {
    const sql = 'UPDATE approvals SET expires_us = 1 WHERE record_id = ?'
    await runSql(world.tenant.service, sql, deciding.waiting(world))
    return askWith(world, id)
  },
  [`${id} self_approval`]: async (world) =>
    askWith(world, id, { approver: await deciding.asker(world) }),
  [`${id} attestation_required`]: async (world) => {
    await world.tenant.ok('approvals.change_settings', { body: { attestation_required: true } })
    return askWith(world, id)
  },
})
