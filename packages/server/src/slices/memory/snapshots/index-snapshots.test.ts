// Snapshots of an index: used after a start, never wrong, and unreadable after an erasure.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { indexSnapshotPolicy, type Kernel } from '../../../platform/kernel/kernel.ts'
import { Refusal } from '../../../platform/refusal.ts'
import type { Logger } from '../../../platform/telemetry/logger.ts'
import { type Known, openScene, type Scene } from '../../../testing/erasure-scene.ts'
import { rawSql } from '../../../testing/raw-sql.ts'
import { embeddedTest } from '../../../testing/test-data.ts'
import { storeIndexes } from '../index/store-indexes.ts'
import { snapshotPath } from './snapshot-file.ts'
import { listIndexSecrets } from './snapshot-secrets.sql.ts'

/** One directory through starts and stops of the service on it. */
class Place {
  readonly dir = mkdtempSync(join(tmpdir(), 'custos-snapshots-'))
  readonly index_dir = join(this.dir, 'snapshots')
  readonly events: string[] = []
  step: (name: string) => void | Promise<void> = () => {}
  #scene: Scene | null = null
  #known: Known | undefined

  constructor(t: TestContext) {
    t.after(async () => {
      await this.#scene?.stop()
      rmSync(this.dir, { recursive: true, force: true })
    })
  }

  get scene(): Scene {
    assert(this.#scene, 'the service was not started')
    return this.#scene
  }

  get path(): string {
    return snapshotPath(this.index_dir, this.scene.tenant_id, this.scene.store_id)
  }

  async start(): Promise<Scene> {
    const note = (event: string, fields: object = {}) =>
      void this.events.push('reason' in fields ? `${event} ${fields.reason}` : event)
    const logger: Logger = { debug: note, info: note, warn: note, error: note, flush: () => {} }
    const options = {
      ...(this.#known ? { data_dir: this.scene.service.data_dir } : {}),
      config: { index_dir: this.index_dir },
      step: (name: string) => this.step(name),
      logger,
    }
    this.#scene = await openScene(options, this.#known)
    const { tenant_id, api_key, store_id } = this.#scene
    this.#known = { tenant_id, api_key, store_id }
    const few = {
      facts_min: 4,
      changes_min: 1,
      changes_share: 0,
      changes_min_at_stop: 1,
      retry_ms: 0,
    }
    Object.assign(indexSnapshotPolicy(this.#scene.service.kernel), few)
    return this.#scene
  }

  stop = () => this.scene.stop({ keep: true })

  async restart(): Promise<Scene> {
    await this.stop()
    return this.start()
  }

  /** How often the events were logged since the last call. */
  seen(event: string): number {
    const count = this.events.filter((one) => one === event).length
    this.events.length = 0
    return count
  }

  save = () => storeIndexes(this.scene.service.kernel).saveDue()

  secrets = async () => {
    const { kernel } = this.scene.service
    const rows = await kernel.db.read(this.scene.tenant_id, listIndexSecrets)
    return rows.map(({ secret_no }) => secret_no)
  }

  isAlive = async (secret_no: number) => {
    const { keyring } = this.scene.service.kernel
    const found = await keyring.secrets(this.scene.tenant_id, 'decision', [secret_no])
    return (found.get(secret_no) ?? null) !== null
  }
}

const QUERIES = ['walk by the river', 'run', 'sea 12 oslo', '']

async function answers({ api, store_id }: Scene): Promise<unknown[]> {
  const found: unknown[] = []
  for (const query of QUERIES) {
    const body = { query, budget_tokens: 100_000, explain: true }
    const answer = await api('POST', `/v1/stores/${store_id}/retrieve`, body)
    assert.equal(answer.status, 200, answer.text)
    const { memories, explain } = answer.body
    found.push({ memories: memories.map(strip), explain })
  }
  return found
}

const strip = ({ ref, score, confidence }: Record<string, unknown>) => ({ ref, score, confidence })

/** What it answers must be what an index built from rows answers. */
async function assertRight(place: Place): Promise<void> {
  const { scene } = place
  const found = await answers(scene)
  storeIndexes(scene.service.kernel).drop(scene.tenant_id, scene.store_id)
  const path = place.path
  if (existsSync(path)) cpSync(path, `${path}.aside`)
  rmSync(path, { force: true })
  assert.deepEqual(found, await answers(scene))
  if (existsSync(`${path}.aside`)) cpSync(`${path}.aside`, path)
}

async function fill({ api, store_id }: Scene, from: number, count: number): Promise<number[]> {
  const items = Array.from({ length: count }, (_, i) => ({
    content: `walk ${from + i} by the ${i % 2 === 0 ? 'river' : 'sea'}`,
    options: { metadata: { session_id: `s${i % 3}`, kind: i % 2 } },
  }))
  const answer = await api('POST', `/v1/stores/${store_id}/write_batch`, { items })
  assert.equal(answer.status, 200, answer.text)
  return answer.body.refs
}

async function filled(t: TestContext): Promise<{ place: Place; refs: number[] }> {
  const place = new Place(t)
  const scene = await place.start()
  const refs = await fill(scene, 0, 40)
  await scene.supersede(refs[3] ?? 0, 'run to Oslo')
  await answers(scene)
  return { place, refs }
}

test('after a start the index comes from its snapshot and follows later writes', async (t) => {
  const { place } = await filled(t)
  const before = await answers(place.scene)
  await place.restart()
  assert.equal(place.seen('index.snapshot_saved'), 1)
  assert.deepEqual(await answers(place.scene), before)
  assert.equal(place.seen('index.snapshot_loaded'), 1)

  const refs = await fill(place.scene, 100, 10)
  await place.scene.supersede(refs[0] ?? 0, 'run again by the river')
  await place.scene.write('a note that expires', { expires_at: '2200-01-01T00:00:00Z' })
  await assertRight(place)
  // Killed without a stop: the snapshot is behind the store.
  storeIndexes(place.scene.service.kernel).drop(place.scene.tenant_id, place.scene.store_id)
  place.seen('')
  await assertRight(place)
  assert.equal(place.seen('index.snapshot_loaded'), 1)
})

test('a search waits longer for a snapshot that is being loaded, a write does not', async (t) => {
  const { place } = await filled(t)
  await place.restart()
  const { service, tenant_id, store_id } = place.scene
  const { kernel } = service
  let reads = 0
  const read: Kernel['db']['read'] = async (tenant, query) => {
    reads += 1
    if (reads === 1) await delay(700)
    return kernel.db.read(tenant, query)
  }
  const db = Object.assign(Object.create(kernel.db), { read })
  const slow: Kernel = { ...kernel, db, settings: { ...kernel.settings, index_wait_ms: 500 } }
  const load = (options?: { awaitSnapshot: boolean }) =>
    storeIndexes(slow).loadCurrent(tenant_id, store_id, 1, options)
  const searched = load({ awaitSnapshot: true })
  await assert.rejects(load(), { code: 'index_building' })
  assert.ok((await searched).size > 0)
  assert.equal(place.seen('index.snapshot_loaded'), 1)
})

test('a snapshot is saved while memories are written, and is right after that', async (t) => {
  const { place } = await filled(t)
  const { scene } = place
  let writes = 0
  place.step = async (name) => {
    if (name !== 'index:secret') return
    const [ref = 0] = await fill(scene, 500 + writes, 3)
    await scene.supersede(ref, `run ${writes}`)
    writes += 1
  }
  await place.save()
  assert.equal(place.seen('index.snapshot_saved'), 1)
  assert.equal(writes, 1)
  place.step = () => {}
  storeIndexes(scene.service.kernel).drop(scene.tenant_id, scene.store_id)
  await assertRight(place)
  assert.equal(place.seen('index.snapshot_loaded'), 1)
})

test('a snapshot of a log that was replaced while it was saved is refused', async (t) => {
  const { place } = await filled(t)
  const { scene } = place
  place.step = async (name) => {
    if (name === 'index:secret') await fill(scene, 500, 3)
  }
  await place.save()
  place.step = () => {}
  assert.equal(place.seen('index.snapshot_saved'), 1)
  storeIndexes(scene.service.kernel).drop(scene.tenant_id, scene.store_id)
  // As where an older database was put back, and went another way from the middle of the save.
  await rawSql(
    scene.service,
    `update breadcrumbs set breadcrumb_id = ? where tenant_id = ? and seq =
      (select max(head_seq) from stores where tenant_id = ?)`,
    [randomBytes(32), scene.tenant_id, scene.tenant_id],
  )
  await answers(scene)
  assert.equal(place.seen('index.snapshot_refused other'), 1)
  assert.equal(existsSync(place.path), false)
})

test('a read that fails while a snapshot is loaded leaves the snapshot', async (t) => {
  const { place } = await filled(t)
  await place.save()
  const { scene } = place
  const { db } = scene.service.kernel
  const read = db.read.bind(db)
  const body = { query: 'walk', budget_tokens: 1_000 }
  const statuses: number[] = []
  for (let failing = 0; statuses.at(-1) !== 200 || failing < 4; failing += 1) {
    assert.ok(failing < 30, 'the request reads without end')
    storeIndexes(scene.service.kernel).drop(scene.tenant_id, scene.store_id)
    let reads = 0
    Object.assign(db, {
      read: (...given: Parameters<typeof read>) => {
        reads += 1
        return reads > failing && reads < failing + 2
          ? Promise.reject(new Refusal('unavailable'))
          : read(...given)
      },
    })
    const answer = await scene.api('POST', `/v1/stores/${scene.store_id}/retrieve`, body)
    Object.assign(db, { read })
    statuses.push(answer.status)
    assert.ok(existsSync(place.path), `the read ${failing}`)
  }
  assert.ok(statuses.includes(503), String(statuses))
  assert.equal(place.events.filter((event) => event.includes('refused')).length, 0)
})

test('an erasure destroys the secret of the snapshot with that of the memory', async (t) => {
  const { place, refs } = await filled(t)
  await place.restart()
  await answers(place.scene)
  const [secret_no = 0] = await place.secrets()
  assert.equal(await place.isAlive(secret_no), true)
  const copy = readFileSync(place.path)
  let aliveThen: boolean | null = null
  place.step = async (name) => {
    if (name === 'erasure:key_destroyed') aliveThen = await place.isAlive(secret_no)
  }
  const [ref = 0] = refs
  assert.equal((await place.scene.issue(ref)).status, 200)
  assert.equal(aliveThen, false)
  assert.deepEqual(await place.secrets(), [])
  assert.equal(existsSync(place.path), false)
  const { ledger } = place.scene.service.kernel.keyring
  const entry = await ledger.find(place.scene.tenant_id, 'fact', String(ref))
  assert.deepEqual(entry?.destroys.slice(1), [{ kind: 'decision', number: secret_no }])

  // The bytes put back, as by a backup of the directory.
  storeIndexes(place.scene.service.kernel).drop(place.scene.tenant_id, place.scene.store_id)
  writeFileSync(place.path, copy)
  place.seen('')
  await assertRight(place)
  assert.equal(place.seen('index.snapshot_loaded'), 0)
  // Those that come after are sealed under another secret.
  await place.save()
  const [next = 0] = await place.secrets()
  assert.notEqual(next, secret_no)
  assert.equal(await place.isAlive(next), true)
  await place.restart()
  await assertRight(place)
})

test('an erasure while a snapshot is written leaves none that opens', async (t) => {
  const { place, refs } = await filled(t)
  const { scene } = place
  for (const point of ['index:secret', 'index:written']) {
    const ref = refs.pop() ?? 0
    let used: number[] = []
    place.step = async (name) => {
      if (name !== point) return
      place.step = () => {}
      used = await place.secrets()
      assert.equal((await scene.issue(ref)).status, 200)
    }
    await place.save()
    assert.equal(used.length, 1)
    assert.equal(await place.isAlive(used[0] ?? 0), false)
    assert.deepEqual(readdirSync(place.index_dir), [])
  }
  place.step = async (name) => {
    // A memory is hidden, and its plan is made: a snapshot now would hold it.
    if (name === 'erasure:planned') await place.save()
  }
  assert.equal((await scene.issue(refs.pop() ?? 0)).status, 200)
  assert.equal(place.seen('index.snapshot_saved'), 0)
  await assertRight(place)
})

test('a snapshot that was cut, changed, mixed or of another store is refused', async (t) => {
  const { place } = await filled(t)
  await place.restart()
  const whole = readFileSync(place.path)
  const before = await answers(place.scene)
  const { body } = await place.scene.api('POST', '/v1/stores', {})
  const other = { ...place.scene, store_id: body.store_id }
  await fill(other, 700, 20)
  await answers(other)
  await place.save()
  const path = snapshotPath(place.index_dir, place.scene.tenant_id, other.store_id)
  const broken: [string, Buffer][] = [
    ['cut', whole.subarray(0, whole.length - 40)],
    ['cut within a frame', whole.subarray(0, whole.length - 100)],
    ['empty', Buffer.alloc(0)],
    ['longer', Buffer.concat([whole, whole.subarray(0, 300)])],
    ['random', randomBytes(5_000)],
    ['swapped', swapFrames(whole)],
    ['of another store', readFileSync(path)],
    ...[9, whole.length >> 1, whole.length - 5].map((at): [string, Buffer] => {
      const changed = Buffer.from(whole)
      changed[at] = (changed[at] ?? 0) ^ 1
      return [`changed at ${at}`, changed]
    }),
  ]
  for (const [how, bytes] of broken) {
    writeFileSync(place.path, bytes)
    storeIndexes(place.scene.service.kernel).drop(place.scene.tenant_id, place.scene.store_id)
    place.seen('')
    assert.deepEqual(await answers(place.scene), before, how)
    const told = place.events.filter((event) => event !== 'request')
    assert.deepEqual(told, ['index.snapshot_refused damaged'], how)
  }
})

/** The second and third frame in each other's place. */
function swapFrames(file: Buffer): Buffer {
  const frames: Buffer[] = []
  for (let at = 0; at < file.length; ) {
    const end = at + 4 + file.readUInt32LE(at)
    frames.push(file.subarray(at, end))
    at = end
  }
  const [first, second, third, ...rest] = frames
  assert(first && second && third)
  return Buffer.concat([first, third, second, ...rest])
}

test('what a killed process leaves is removed by the next start', async (t) => {
  const { place } = await filled(t)
  await place.save()
  const [secret_no = 0] = await place.secrets()
  const draft = `${place.path}.0123456789ab.draft`
  writeFileSync(draft, randomBytes(100))
  const stray = join(place.index_dir, `${'0'.repeat(40)}.index`)
  writeFileSync(stray, randomBytes(100))
  await place.restart()
  const indexes = storeIndexes(place.scene.service.kernel)
  await indexes.sweep()
  assert.equal(existsSync(stray), false)
  // On a shared database it could be of a process that is writing it.
  const { shared } = place.scene.service.kernel.db
  assert.equal(existsSync(draft), shared)
  assert.equal(await place.isAlive(secret_no), true)
  if (shared) return
  await place.stop()
  rmSync(place.path)
  await place.start()
  await storeIndexes(place.scene.service.kernel).sweep()
  assert.deepEqual(await place.secrets(), [])
  assert.equal(await place.isAlive(secret_no), false)
})

embeddedTest('a snapshot ahead of restored data, or of another history, is refused', async (t) => {
  const { place, refs } = await filled(t)
  const { data_dir } = place.scene.service
  await place.stop()
  const backup = join(place.dir, 'backup')
  for (const part of ['custos.db', 'keyring'])
    cpSync(join(data_dir, part), join(backup, part), { recursive: true })
  await place.start()
  await fill(place.scene, 200, 10)
  await answers(place.scene)
  await place.stop()
  const ahead = readFileSync(place.path)
  for (const part of ['custos.db', 'custos.db-wal', 'custos.db-shm', 'keyring'])
    rmSync(join(data_dir, part), { recursive: true, force: true })
  cpSync(backup, data_dir, { recursive: true })
  await place.start()
  place.seen('')
  await assertRight(place)
  assert.equal(place.seen('index.snapshot_loaded'), 0)
  // The restored log has passed the position by now, with other entries.
  await fill(place.scene, 300, 15)
  await place.scene.supersede(refs[8] ?? 0, 'run elsewhere')
  await place.save()
  writeFileSync(place.path, ahead)
  storeIndexes(place.scene.service.kernel).drop(place.scene.tenant_id, place.scene.store_id)
  place.seen('')
  await assertRight(place)
  assert.equal(place.seen('index.snapshot_refused other'), 1)
})

test('without a directory there are no snapshots', async (t) => {
  const { place } = await filled(t)
  Object.assign(place.scene.service.kernel.settings, { index_dir: null })
  await place.restart()
  assert.equal(place.seen('index.snapshot_saved'), 0)
  await assertRight(place)
})
