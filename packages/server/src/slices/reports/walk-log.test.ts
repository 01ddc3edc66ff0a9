// A walk over a log of more than one page: its tree, how far it is, and that it stops.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, test } from 'node:test'
import { appendLeaf, EMPTY_FRONTIER, frontierRoot, leafHash } from '@custos/proof'
import { openTestKernel, type TestKernel } from '../../testing/kernel.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { EntryTree, WalkControl, WalkStopped, walkLog } from './walk-log.ts'

const ENTRIES = 4_500
const PAGE = 2_000

let open: TestKernel
before(async () => {
  open = await openTestKernel()
  await open.kernel.db.transact('t1', async (tx) => {
    for (let i = 0; i < ENTRIES; i += 1)
      await appendCrumb(tx, {
        event_type: 'store.created',
        subject: String(i),
        payload: { tokenizer: 'chars' },
      })
  })
})
after(() => open.close())

/** Stops the walk after so many entries; says what it was told. */
class Watching extends WalkControl {
  readonly seen: [number, number][] = []
  readonly #stopAt: number

  constructor(stopAt = Number.POSITIVE_INFINITY) {
    super()
    this.#stopAt = stopAt
  }

  override passed(done: number, total: number): void {
    if (done >= this.#stopAt) this.stop()
    this.seen.push([done, total])
    super.passed(done, total)
  }
}

const task = {
  ...{ from: '2026-01-01T00:00:00.000000Z', to: '2126-01-01T00:00:00.000000Z' },
  ...{ keys: [], origin: 'custos/test', log_seq: null, signed: null },
}
const walk = (control: WalkControl, log_seq: number | null = null) =>
  open.kernel.db.read('t1', (db) => walkLog(db, { ...task, log_seq }, control))

test('a walk tells after every page how many entries of how many are behind it', async () => {
  const control = new Watching()
  const walked = await walk(control)
  assert.notEqual(walked, 'beyond')
  assert.deepEqual(control.seen, [
    [0, ENTRIES],
    [PAGE, ENTRIES],
    [2 * PAGE, ENTRIES],
    [ENTRIES, ENTRIES],
  ])
  assert.deepEqual(control.progress, { done: ENTRIES, total: ENTRIES })
  const part = new Watching()
  await walk(part, PAGE)
  assert.deepEqual(part.progress, { done: PAGE + 1, total: PAGE + 1 })
})

test('a walk that is told to stop reads no further page', async () => {
  const control = new Watching(PAGE)
  await assert.rejects(walk(control), WalkStopped)
  assert.deepEqual(control.seen.at(-1), [PAGE, ENTRIES])
})

test('the tree of a walk is that of the log, whatever its size', async () => {
  const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest()
  const tree = new EntryTree()
  let frontier = EMPTY_FRONTIER
  assert.equal(tree.root, null)
  for (let i = 0; i < 300; i += 1) {
    const record = i % 3 === 0 ? `entry ${i}` : 'ü€😀'.repeat(i * 40)
    const leaf = leafHash(Buffer.from(record), sha256)
    assert.equal(tree.leafOf(record), Buffer.from(leaf).toString('hex'))
    tree.append(tree.leafOf(record))
    frontier = appendLeaf(frontier, leaf, { hash: sha256 })
    assert.equal(tree.size, i + 1)
    assert.equal(tree.root, Buffer.from(frontierRoot(frontier, sha256)).toString('hex'))
  }
})
