// Epochs read a lot at a time: each once, in the order of their trees, none that is not asked for.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { insertInto } from '../../platform/db/tenant-db.ts'
import { openTestKernel, type TestKernel } from '../../testing/kernel.ts'
import { EpochFeed } from './walk-log.ts'

const EPOCHS = 9_000
const PAGE = 2_000

let open: TestKernel
before(async () => {
  open = await openTestKernel()
})
after(() => open.close())

/** Two generations: of two epochs over the same entries the older is first. */
const sizeOf = (epoch_number: number): number => (epoch_number % (EPOCHS / 2)) + 1

test('epochs of several lots come once each, page by page', async () => {
  await open.kernel.db.transact('t1', async (tx) => {
    for (let epoch_number = 1; epoch_number <= EPOCHS; epoch_number += 1)
      await tx.run(
        insertInto(tx, 'epochs', {
          ...{ epoch_number, generation: 0, tree_size: sizeOf(epoch_number), created_us: 1 },
          ...{ root_hash: Buffer.alloc(32), checkpoint: 'a note' },
        }),
      )
  })
  const size = EPOCHS / 2 - 100
  const all = Array.from({ length: EPOCHS }, (_, i) => ({ n: i + 1, size: sizeOf(i + 1) }))
  const wanted = all
    .filter((one) => one.size < size)
    .sort((a, b) => a.size - b.size || a.n - b.n)
    .map(({ n }) => n)
  const seen: number[] = []
  await open.kernel.db.read('t1', async (db) => {
    const feed = new EpochFeed(db, size)
    for (let end = PAGE; end < size + PAGE; end += PAGE) {
      const rows = await feed.upTo(end)
      for (const { tree_size } of rows) assert.ok(tree_size <= end && tree_size > end - PAGE)
      seen.push(...rows.map(({ epoch_number }) => epoch_number))
    }
  })
  assert.deepEqual(seen, wanted)
})
