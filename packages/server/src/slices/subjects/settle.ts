// Writes what has come of items, and how many have come to an end.

import type { Work } from './erase-job.ts'
import { bytesOf } from './show.ts'
import { findRequest, settleItem, updateOpen } from './subjects.sql.ts'

export interface Outcome {
  readonly item: string
  readonly outcome: string
  readonly certificate_id: string | null
}

export async function settle(
  { kernel, tenant_id, request_id }: Pick<Work, 'kernel' | 'tenant_id' | 'request_id'>,
  outcomes: readonly Outcome[],
): Promise<void> {
  const id = bytesOf(request_id)
  await kernel.db.transact(tenant_id, async (tx) => {
    let changed = 0
    for (const outcome of outcomes) changed += await settleItem(tx, { request_id: id, ...outcome })
    const row = await findRequest(tx, id)
    if (row) await updateOpen(tx, id, { items_done: row.items_done + changed })
  })
  await kernel.step('subject:settled')
}
