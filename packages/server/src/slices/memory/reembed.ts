// POST /v1/stores/{store_id}/reembed: another embedder, if any, and a job that makes the vectors.

import type { EmbedderName, memory } from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { meter } from '../tenants/index.ts'
import { enqueueReembed } from './reembed-queue.ts'
import { changeEmbedder, type StoreHead } from './store-heads.ts'
import { requireEmbedder, settingsCache } from './store-settings.ts'
import { countFactsToEmbed } from './vectors.sql.ts'
import { enterStore, untilStable, writeTarget } from './write-target.ts'

export const reembed: Handler<typeof memory.reembed> = (call, { params, body }) =>
  untilStable(async () => {
    const { kernel, tenant_id, operation } = call
    const { store_id } = params
    const target = await writeTarget(kernel, tenant_id, store_id)
    const embedder = body.embedder ?? target.settings.embedder
    requireEmbedder(kernel, embedder)
    const space = kernel.embedders.spaceOf(embedder)
    // Outside the unit of work: it looks at every memory.
    const missing = space ? await call.read((db) => countFactsToEmbed(db, store_id, space.mark)) : 0

    const job_id = await call.transact(async (tx) => {
      const head = await enterStore(kernel, tx, target)
      meter(tx, operation.id)
      if (embedder !== target.settings.embedder)
        await switchEmbedder(kernel, tx, head, { embedder, previous: target.settings.embedder })
      return enqueueReembed(kernel, tx, store_id)
    })
    return { job_id, store_id, embedder, missing }
  })

/** On the log: from here on texts of the store may go elsewhere, or no longer do. */
async function switchEmbedder(
  kernel: Kernel,
  tx: Tx,
  head: StoreHead,
  change: { embedder: EmbedderName; previous: EmbedderName },
): Promise<void> {
  const { store_id } = head
  const { tenant_id } = tx
  const { seq } = await appendCrumb(tx, {
    event_type: 'store.embedder_changed',
    subject: store_id,
    payload: change,
  })
  const sent_out = kernel.embedders.find(change.embedder)?.remote ?? false
  await changeEmbedder(tx, head, { embedder: change.embedder, sent_out, seq })
  tx.afterCommit(() => settingsCache(kernel).forget(tenant_id, store_id))
}
