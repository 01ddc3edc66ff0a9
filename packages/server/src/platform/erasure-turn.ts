// One erasure, scrub or redaction of a tenant at a time: each is planned from what the last left.

import { type Kernel, perKernel } from './kernel.ts'
import { assertHeld, overdueLeases, whenLeased } from './leases.ts'

const PREFIX = 'erasure/'

const lastTurns = perKernel(() => new Map<string, Promise<void>>())

/**
 * Runs `act` when every earlier turn of the tenant has ended, however it ended: those of this
 * process in the order they came, those of other processes by a lease. Turns do not nest.
 */
export async function inErasureTurn<T>(
  kernel: Kernel,
  tenant_id: string,
  act: () => Promise<T>,
): Promise<T> {
  const turns = lastTurns(kernel)
  const before = turns.get(tenant_id) ?? Promise.resolve()
  const result = before.then(() => whenLeased(kernel, `${PREFIX}${tenant_id}`, act))
  const ended = result.then(
    () => {},
    () => {},
  )
  turns.set(tenant_id, ended)
  try {
    return await result
  } finally {
    if (turns.get(tenant_id) === ended) turns.delete(tenant_id)
  }
}

/** Refuses when the turn may be another's by now: asked before an erasure is put on record. */
export const assertTurn = (kernel: Kernel, tenant_id: string): void =>
  assertHeld(kernel, `${PREFIX}${tenant_id}`)

/** Tenants in whose turn a process has ended: what it was at is to be finished or undone. */
export async function abandonedTurns(kernel: Kernel): Promise<string[]> {
  return (await overdueLeases(kernel, PREFIX)).map((name) => name.slice(PREFIX.length))
}
