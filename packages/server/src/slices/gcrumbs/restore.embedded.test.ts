// Data and keyring put back by hand, with nothing erased since: told by the checkpoints of the
// ledger copy.

import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import type { Epoch } from '@custos/contract'
import { parseCheckpoint, verifyBreadcrumbs } from '@custos/proof'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'

/** A directory that is served, stopped, copied and put back, and every tree signed meanwhile. */
class Story {
  readonly #data_dir: string
  readonly #backup: string
  readonly #ledger_copy: string
  /** Root by `origin size`. */
  readonly #roots = new Map<string, string>()
  #first: Scene | undefined

  constructor(t: TestContext) {
    const dir = mkdtempSync(join(tmpdir(), 'custos-restore-'))
    t.after(() => rmSync(dir, { recursive: true, force: true }))
    this.#data_dir = join(dir, 'data')
    this.#backup = join(dir, 'backup')
    this.#ledger_copy = join(dir, 'elsewhere.ndjson')
  }

  get database(): string {
    return join(this.#data_dir, 'custos.db')
  }

  /** Serves while `work` runs. */
  async serve<T>(t: TestContext, work: (scene: Scene) => Promise<T>): Promise<T> {
    const config = { ledger_copy: this.#ledger_copy }
    const scene = await openScene({ data_dir: this.#data_dir, config }, this.#first)
    this.#first ??= scene
    let stopping: Promise<void> | undefined
    const stop = () => (stopping ??= scene.stop({ keep: true }))
    t.after(stop)
    const result = await work(scene)
    await stop()
    return result
  }

  copyOut(): void {
    cpSync(this.#data_dir, this.#backup, { recursive: true })
  }

  putBack(entry: '.' | 'keyring'): void {
    rmSync(join(this.#data_dir, entry), { recursive: true })
    cpSync(join(this.#backup, entry), join(this.#data_dir, entry), { recursive: true })
  }

  /** Writes and rolls; no tree of another root may have been signed for the origin and size. */
  async grow(scene: Scene, content: string): Promise<Epoch> {
    await scene.write(content)
    assert.equal((await scene.api('POST', '/v1/gcrumbs/roll', {})).status, 200, 'gcrumbs.roll')
    const epochs = await epochsOf(scene)
    for (const { checkpoint } of epochs) {
      const { origin, size, root } = parseCheckpoint(checkpoint)
      const key = `${origin} ${size}`
      const hex = Buffer.from(root).toString('hex')
      assert.equal(hex, this.#roots.get(key) ?? hex, `${key} was signed twice`)
      this.#roots.set(key, hex)
    }
    const last = epochs.at(-1)
    assert.ok(last)
    return last
  }
}

const epochsOf = async (scene: Scene): Promise<Epoch[]> =>
  (await scene.api('GET', '/v1/gcrumbs/epochs?limit=1000')).body.epochs

async function restoresOf(scene: Scene): Promise<Record<string, unknown>[]> {
  const { body } = await scene.api('GET', '/v1/gcrumbs/breadcrumbs?limit=1000')
  const crumbs: { event_type: string; payload: Record<string, unknown> }[] = body.breadcrumbs
  assert.equal(verifyBreadcrumbs(body.breadcrumbs).ok, true)
  return crumbs.filter((crumb) => crumb.event_type === 'log.restored').map((crumb) => crumb.payload)
}

const namesOf = ({ epoch_number, tree_size, root_hash }: Epoch) => ({
  epoch_number,
  tree_size,
  root_hash,
})

test('an old pair put back by hand goes on under a new origin, each time', async (t) => {
  const story = new Story(t)
  await story.serve(t, (scene) => story.grow(scene, 'Before the copy'))
  story.copyOut()
  const lost = await story.serve(t, async (scene) => {
    await story.grow(scene, 'After the copy')
    return await story.grow(scene, 'Later still')
  })
  assert.equal(lost.generation, 0)

  story.putBack('.')
  const second = await story.serve(t, async (scene) => {
    assert.deepEqual(await restoresOf(scene), [{ generation: 1, ...namesOf(lost) }])
    await story.grow(scene, 'Another history')
    return await story.grow(scene, 'And more of it')
  })
  assert.equal(second.generation, 1)
  assert.ok(second.epoch_number > lost.epoch_number)

  story.putBack('.')
  await story.serve(t, async (scene) => {
    assert.deepEqual(await restoresOf(scene), [{ generation: 2, ...namesOf(second) }])
    assert.equal((await story.grow(scene, 'A third history')).generation, 2)
    assert.equal((await scene.api('GET', '/v1/gcrumbs/verify?full=true')).body.status, 'intact')
  })
  await story.serve(t, async (scene) => {
    assert.equal((await restoresOf(scene)).length, 1, 'the next start is no restore')
  })
})

test('a stop between copy and keyring is no restore: the checkpoint is published', async (t) => {
  const story = new Story(t)
  await story.serve(t, (scene) => story.grow(scene, 'Before the copy'))
  story.copyOut()
  const signed = await story.serve(t, (scene) => story.grow(scene, 'After the copy'))
  // As it is when the process ends after the line is in the copy, before either store commits.
  story.putBack('keyring')
  const database = new DatabaseSync(story.database)
  database.prepare('delete from epochs where epoch_number = ?').run(signed.epoch_number)
  database.close()

  await story.serve(t, async (scene) => {
    assert.deepEqual(await restoresOf(scene), [])
    const again = (await epochsOf(scene)).at(-1)
    assert.equal(again?.checkpoint, signed.checkpoint)
    const next = await story.grow(scene, 'Written afterwards')
    assert.deepEqual([next.generation, next.epoch_number], [0, signed.epoch_number + 1])
  })
})
