// Finds the earlier reply under the same Idempotency-Key before policies are asked and counted
// again.

import type { Call, ReplayIds } from '../../../platform/kernel/call.ts'

/** Aborts the replay when no reply is stored under the key. */
class Unanswered extends Error {}

export async function findEarlierIds(call: Call): Promise<ReplayIds | null> {
  if (call.idempotency_key === null) return null
  try {
    return await call.once<ReplayIds>({
      run: async () => {
        throw new Unanswered()
      },
      replay: async (_, ids) => ids,
    })
  } catch (error) {
    if (error instanceof Unanswered) return null
    throw error
  }
}
