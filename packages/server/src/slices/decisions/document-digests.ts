// What sealed decisions hold, as digests: two copies of a trail are compared without showing it.

import { createHash } from 'node:crypto'
import type { Kernel } from '../../platform/kernel.ts'
import { listDecisions } from './decisions.sql.ts'
import { openRows } from './open.ts'

const CHUNK_ROWS = 50

/**
 * Lower hex SHA-256 of the opened document of each `every`-th decision, by id. Throws SealError
 * or BeingErased for one that does not open.
 */
export async function digestDocuments(
  kernel: Kernel,
  tenant_id: string,
  every: number,
): Promise<Map<string, string>> {
  const digests = new Map<string, string>()
  for (let after_seq = -1, seen = 0; ; ) {
    const wanted = { order: 'asc', limit: CHUNK_ROWS } as const
    const rows = await kernel.db.read(tenant_id, (db) => listDecisions(db, { after_seq }, wanted))
    const chosen = rows.filter((_, i) => (seen + i) % every === 0)
    for (const { decision_id, document } of await openRows(kernel, tenant_id, chosen))
      digests.set(decision_id, createHash('sha256').update(JSON.stringify(document)).digest('hex'))
    const last = rows.at(-1)
    if (!last || rows.length < CHUNK_ROWS) return digests
    after_seq = last.seq
    seen += rows.length
  }
}
