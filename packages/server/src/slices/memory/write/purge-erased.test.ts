// An idle process removes from its memory what another process erases.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openScene } from '../../../testing/erasure-scene.ts'
import { createDatabase } from '../../../testing/postgres.ts'
import { sharedConfig } from '../../../testing/two-kernels.ts'
import { loadContents } from '../facts/opened-fact.ts'
import { openedFactCache } from '../facts/opened-fact-cache.ts'
import { storeIndexes } from '../index/store-indexes.ts'

test('an idle process soon drops a fact or store that another process has erased', async () => {
  const database = await createDatabase()
  const { postgres, master_key } = sharedConfig(database.url)
  const eraser = await openScene({ config: { postgres, master_key } })
  const idle = await openScene({ config: { postgres, master_key } }, eraser)
  try {
    const { tenant_id, store_id } = eraser
    const { kernel } = idle.service
    const ref = await eraser.write('Beat Zgraggen owes the shop 412 francs')
    const kept = await eraser.write('The shop opens at nine')
    const found = await idle.api('POST', `/v1/stores/${store_id}/retrieve`, {
      query: 'shop francs',
      budget_tokens: 1_000,
    })
    assert.equal(found.body.memories.length, 2)
    await loadContents(kernel, tenant_id, [ref, kept])
    const holds = (one: number) => [
      storeIndexes(kernel).hasAnywhere(tenant_id, one),
      openedFactCache(kernel).has(tenant_id, one),
    ]
    assert.deepEqual([holds(ref), holds(kept)], Array(2).fill([true, true]))

    assert.equal((await eraser.issue(ref)).status, 200)
    await until(() => !holds(ref).includes(true))
    assert.deepEqual(holds(kept), [true, true])

    assert.equal((await eraser.api('DELETE', `/v1/stores/${store_id}`)).status, 202)
    await until(() => !holds(kept).includes(true) && storeIndexes(kernel).stores().length === 0)
  } finally {
    await idle.stop()
    await eraser.stop()
    await database.drop()
  }
})

/** What a process does in its own time; a test that waits in vain is ended by the runner. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20))
}
