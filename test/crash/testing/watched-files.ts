// A data directory whose every write a test can stop at: kill, loss of power, no space.

import assert from 'node:assert/strict'
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { noteCounts } from '../../../packages/server/src/testing/sweep.ts'
import { checkPromises } from './check.ts'
import { Client, createTenant } from './client.ts'
import { fsck } from './command-line.ts'
import { type Disk, openDisk } from './disk.ts'
import { runLoad } from './load.ts'
import { cutPower, readJournal, type Survival } from './power-cut.ts'
import { copyOf, countsOf, Promises } from './promises.ts'
import { type Random, seeded, seedOfRun } from './random.ts'
import { ServerProcess } from './server-process.ts'
import { repeatLoad, SpreadClient } from './spread-client.ts'
import { tempDirectory } from './temp-directory.ts'

const WORKERS = 3
/** Memories that are there before the load, which begins with erasing some of them. */
const PREPARED = 8
const DOOMED_MAX = 4
const CALLS_MAX = 300
const FULL_CALLS_MAX = 12
const SURVIVALS: readonly Survival[] = ['nothing', 'everything', 'some', 'some']

class WatchedFiles {
  readonly dir: string
  /** What is watched: the data directory and the ledger copy. */
  readonly under: string
  readonly disk: Disk
  readonly random: Random
  readonly #t: TestContext
  /** What is promised of the state before any load. */
  readonly prepared = new Promises()
  store_id = ''
  api_key = ''

  private constructor(t: TestContext, dir: string, disk: Disk) {
    this.#t = t
    this.dir = dir
    this.under = join(dir, 'files')
    this.disk = disk
    this.random = seeded(seedOfRun())
    t.diagnostic(`CUSTOS_TEST_SEED=${this.random.seed}`)
    t.after(() => disk.close())
  }

  /** A tenant with memories and a decision, and no process; null: calls cannot be watched. */
  static async open(t: TestContext): Promise<WatchedFiles | null> {
    const dir = tempDirectory(t)
    const under = join(dir, 'files')
    mkdirSync(under)
    const disk = openDisk(t, dir, under)
    if (disk === null) return null
    const watched = new WatchedFiles(t, dir, disk)
    const server = await watched.start()
    watched.api_key = (await createTenant(server)).api_key
    const made = await watched.client(server).ok('POST', '/v1/stores', { body: {} })
    watched.store_id = made.store_id
    await watched.#prepare(watched.client(server))
    await server.stop()
    return watched
  }

  async #prepare(client: Client): Promise<void> {
    const { store_id, prepared } = this
    const contents = Array.from({ length: PREPARED }, (_, n) => `Box zk0x${n}q is on the shelf`)
    const items = contents.map((content) => ({ content }))
    const { refs } = await client.ok('POST', `/v1/stores/${store_id}/write_batch`, {
      body: { items },
    })
    contents.forEach((content, n) => {
      prepared.facts.set(refs[n], { ref: refs[n], store_id, content })
    })
    const output = 'On the shelf zk0x99q'
    const used = { retrieved_refs: refs, retrieved_contents: contents }
    const body = { store_id, model_id: 'model-a', query: 'Where is it?', output, ...used }
    const { decision_id } = await client.ok('POST', '/v1/decisions/log', { body })
    prepared.decisions.set(decision_id, { decision_id, refs, output })
  }

  get options() {
    return { data_dir: join(this.under, 'data'), ledger_copy: join(this.under, 'ledger.ndjson') }
  }

  async start(env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
    const server = ServerProcess.serve({ ...this.options, env })
    this.#t.after(() => server.kill())
    return server.listening()
  }

  client({ url }: ServerProcess): Client {
    return new Client(url, this.api_key)
  }

  keep(name: string): string {
    const copy = join(this.dir, name)
    rmSync(copy, { recursive: true, force: true })
    cpSync(this.under, copy, { recursive: true })
    return copy
  }

  putBack(copy: string): void {
    rmSync(this.under, { recursive: true, force: true })
    cpSync(copy, this.under, { recursive: true })
  }

  /** Load until the process ends at the call it was armed for. */
  async loadUntilKilled(server: ServerProcess, promises: Promises, round: number): Promise<void> {
    const { store_id, random } = this
    const { facts, erased, superseded } = promises
    const doomed = [...facts.values()]
      .filter((fact) => fact.store_id === store_id)
      .filter(({ ref }) => !erased.has(ref) && !superseded.has(ref))
      .slice(0, DOOMED_MAX)
    const client = this.client(server)
    await runLoad({ client, store_id, promises, random, round, doomed }, WORKERS)
    await server.ended()
    assert.equal(server.signal, 'SIGKILL', server.output.slice(-2_000))
  }

  /** A start on what is there keeps every promise, and fsck finds nothing. */
  async check(promises: Promises): Promise<void> {
    const server = await this.start()
    await checkPromises(this.client(server), promises)
    await server.stop()
    await fsck(this.options)
  }
}

/** From the same state again and again: at the first call under load, the second, and so on. */
export async function killAtCalls(t: TestContext, count: number): Promise<void> {
  const watched = await WatchedFiles.open(t)
  if (watched === null) return
  const base = watched.keep('base')
  for (let call = 1; call <= count; call += 1) {
    watched.putBack(base)
    watched.disk.calm()
    const server = await watched.start(watched.disk.env())
    const promises = copyOf(watched.prepared)
    // Every other one in the middle of a write.
    watched.disk.arm(call % 2 === 0 ? 'kill_within' : 'kill', call)
    await watched.loadUntilKilled(server, promises, call)
    await watched.check(promises)
    noteCounts({ 'kills at a write or flush': 1, ...countsOf(promises) })
  }
}

/** One loss of power after another, each with several outcomes of what was not flushed. */
export async function cutPowerOften(t: TestContext, rounds: number): Promise<void> {
  const watched = await WatchedFiles.open(t)
  if (watched === null) return
  const { disk, random, under } = watched
  let promises = copyOf(watched.prepared)
  for (let round = 1; round <= rounds; round += 1) {
    const base = watched.keep('base')
    const journal = join(watched.dir, `journal-${round}`)
    disk.calm()
    const server = await watched.start(disk.env(journal))
    disk.arm(random.int(2) === 0 ? 'kill' : 'kill_within', 1 + random.int(CALLS_MAX))
    await watched.loadUntilKilled(server, promises, round)
    const calls = readJournal(journal)
    rmSync(journal)
    noteCounts({ 'losses of power': 1, 'writes and flushes before them': calls.length })
    const before = promises
    for (const survival of SURVIVALS) {
      promises = copyOf(before)
      cutPower(base, under, { calls, random, survival })
      await watched.check(promises)
      noteCounts({ 'outcomes of what was not flushed': 1 })
    }
  }
  noteCounts(countsOf(promises))
}

/** No space for some calls, again and again at other calls, while clients go on. */
export async function fillDiskOften(t: TestContext, rounds: number): Promise<void> {
  const watched = await WatchedFiles.open(t)
  if (watched === null) return
  const { disk, random, store_id } = watched
  const server = await watched.start(disk.env())
  const promises = copyOf(watched.prepared)
  const parts = { urls: [server.url], key: watched.api_key, random, refusals: true }
  const client = new SpreadClient(parts)
  const load = Promise.all(
    Array.from({ length: WORKERS }, (_, first) =>
      repeatLoad({ client, store_id, promises, random, first, workers: WORKERS }),
    ),
  )
  for (let round = 0; round < rounds; round += 1) {
    const until = disk.seen + CALLS_MAX
    disk.arm('full', 1 + random.int(40), 1 + random.int(FULL_CALLS_MAX))
    const { answered } = client
    while (disk.seen < until && client.answered < answered + 40)
      await Promise.race([new Promise((resolve) => setTimeout(resolve, 10)), load])
    noteCounts({ 'times without space': 1 })
  }
  disk.calm()
  client.stop()
  await load
  await server.stop()
  await watched.check(promises)
  assert.ok(client.refused > 0)
  noteCounts({ 'requests refused with 503': client.refused, ...countsOf(promises) })
}
