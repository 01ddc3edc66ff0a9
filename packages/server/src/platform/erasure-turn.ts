// One erasure, scrub or redaction of a tenant at a time: each is planned from what the last left.

import { type Kernel, perKernel } from './kernel.ts'

const lastTurns = perKernel(() => new Map<string, Promise<void>>())

/**
 * Runs `act` when every earlier turn of the tenant has ended, however it ended. This process is
 * the only writer of its data on the embedded engine, so the queue is kept in memory; with more
 * than one process a lease in the database takes its place here. Turns do not nest.
 */
export async function inErasureTurn<T>(
  kernel: Kernel,
  tenant_id: string,
  act: () => Promise<T>,
): Promise<T> {
  const turns = lastTurns(kernel)
  const before = turns.get(tenant_id) ?? Promise.resolve()
  const result = before.then(act)
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
