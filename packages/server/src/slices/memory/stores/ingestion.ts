// Counts pending and committed facts of each store in this process.

import type { Tx } from '../../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../../platform/kernel/kernel.ts'

interface IngestionCounts {
  /** Facts in a unit of work that has not been committed yet. */
  pending: number
  committed: number
  /** Commits with at least one fact of the store. */
  batches: number
  /** Number of the last engine commit that was counted. */
  last_commit: number
}

/** Beyond this number of stores the counts restart; they describe a running process only. */
const STORES_MAX = 10_000

const counters = perKernel(() => new Map<string, IngestionCounts>())

export function getIngestionCounts(
  kernel: Kernel,
  tenant_id: string,
  store_id: string,
): IngestionCounts {
  const known = counters(kernel)
  const key = `${tenant_id}\n${store_id}`
  let counts = known.get(key)
  if (!counts) {
    if (known.size >= STORES_MAX) known.clear()
    counts = { pending: 0, committed: 0, batches: 0, last_commit: -1 }
    known.set(key, counts)
  }
  return counts
}

/** Counts `facts` as pending while `commit` runs, whether it succeeds or fails. */
export async function countPending<T>(
  kernel: Kernel,
  store: { tenant_id: string; store_id: string },
  facts: number,
  commit: () => Promise<T>,
): Promise<T> {
  const counts = getIngestionCounts(kernel, store.tenant_id, store.store_id)
  counts.pending += facts
  try {
    return await commit()
  } finally {
    counts.pending -= facts
  }
}

/** Counts facts once their unit commits; the units of one group commit count as one batch. */
export function countCommitted(kernel: Kernel, tx: Tx, store_id: string, facts: number): void {
  const { tenant_id } = tx
  tx.afterCommit(() => {
    const counts = getIngestionCounts(kernel, tenant_id, store_id)
    const { commits } = kernel.db.stats()
    counts.committed += facts
    if (counts.last_commit !== commits) counts.batches += 1
    counts.last_commit = commits
  })
}
