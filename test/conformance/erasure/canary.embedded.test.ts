// The canary sweep: what was erased is readable nowhere, and nothing is ever stored in clear.

import assert from 'node:assert/strict'
import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { withPostgres } from '../../../packages/server/src/platform/db/postgres/connection.ts'
import { startCluster } from '../../../packages/server/src/testing/postgres-cluster.ts'
import { casesOf, noteCounts } from '../../../packages/server/src/testing/sweep.ts'
import { Client } from '../../crash/testing/client.ts'
import { readEverything } from '../../crash/testing/read-everything.ts'
import { OPERATOR_KEY } from '../../crash/testing/server-process.ts'
import { Stage } from '../../crash/testing/stage.ts'
import { exampleOf } from '../contract/examples.ts'
import { operations, pathOf, queryOf } from '../contract/testing/table.ts'
import { GHOSTS, type Ids } from '../contract/testing/world.ts'
import { CANARY, Canaries, encodingsIn, hitsUnder } from './testing/canaries.ts'
import { isKeptHeader, isKeptWord, isRecordWord, KEPT_LABELS } from './testing/kept-labels.ts'
import { readKept } from './testing/read-kept.ts'
import { repeatedInRefusals } from './testing/refusals.ts'
import type { Made } from './testing/send-parts.ts'
import { sendBroken, sendParameters } from './testing/send-wrongly.ts'
import { sendEverywhere } from './testing/senders.ts'
import { textPlaces } from './testing/text-places.ts'

interface Sweep {
  readonly stage: Stage
  readonly canaries: Canaries
  readonly made: Made
  /** Everything the processes wrote on their standard streams. */
  readonly outputs: string[]
  /** Where the data is: all files under these are looked through. */
  readonly places: readonly string[]
}

const operatorOf = ({ server }: Stage) => new Client(server.url, OPERATOR_KEY)

/** Starts a new process and keeps what the one before said. */
async function restart({ stage, outputs }: Sweep): Promise<void> {
  outputs.push(stage.server.output)
  await stage.start()
}

const partsOf = ({ stage, canaries }: Sweep) => ({
  client: stage.client,
  operator: operatorOf(stage),
  canaries,
})

async function sendAll(sweep: Sweep): Promise<void> {
  const { canaries, made } = sweep
  const parts = partsOf(sweep)
  await sendEverywhere({ ...parts, made })
  const refused = [...(await sendParameters(parts)), ...(await sendBroken(parts))]
  for (const text of refused) assert.deepEqual(canaries.foundIn(text), [], text)
}

/** Every place has its canary or is on the list of labels, and the list has no other. */
function assertEveryPlaceSent({ canaries }: Sweep): void {
  const places = operations.flatMap((operation) =>
    textPlaces(operation).map((place) => `${operation.id} ${place}`),
  )
  const missing = places.filter((place) => !canaries.places.has(place))
  assert.deepEqual(missing, [], 'text places without a canary')
  for (const place of Object.keys(KEPT_LABELS)) assert.ok(places.includes(place), place)
  assert.ok(places.some(isKeptHeader))
  noteCounts({ 'text places with a canary': places.length })
}

function assertNotInClear({ stage, outputs, places }: Sweep, when: string): void {
  assert.deepEqual(places.flatMap(hitsUnder), [], `in clear in files, ${when}`)
  const said = [...outputs, stage.server.output].join('\n')
  const lines = said.split('\n').filter((line) => encodingsIn(Buffer.from(line)).length > 0)
  assert.deepEqual(lines, [], `in clear in the log, ${when}`)
  noteCounts({ 'searches of all files and outputs': 1 })
}

/** What is public or goes to people who may not see content holds none at any time. */
async function assertNotOnTheLog({ stage, canaries }: Sweep): Promise<void> {
  const { client } = stage
  const texts = [
    JSON.stringify(await client.all('/v1/gcrumbs/breadcrumbs', 'breadcrumbs')),
    JSON.stringify(await client.all('/v1/gcrumbs/epochs', 'epochs')),
    JSON.stringify(await client.all('/v1/erasure', 'certificates')),
    (await operatorOf(stage).ask('GET', '/metrics')).text,
    (await operatorOf(stage).ask('GET', '/v1/monitoring/stats')).text,
  ]
  for (const text of texts) assert.deepEqual(canaries.foundIn(text), [])
}

async function eraseAll({ stage, made }: Sweep): Promise<void> {
  const { client } = stage
  for (const fact_ref of [...made.refs, ...made.labels])
    await client.ok('POST', '/v1/erasure/issue', { body: { fact_ref } })
  for (const decision_id of made.decisions)
    await client.ok('POST', `/v1/decisions/${decision_id}/redact`, { body: {} })
  for (const store_id of made.stores) {
    await client.ok('DELETE', `/v1/stores/${store_id}`)
    for (let waits = 0; waits < 500; waits += 1) {
      if ((await client.ask('GET', `/v1/stores/${store_id}`)).status === 404) break
      await delay(10)
    }
  }
}

/** Records, approvals and scores have lost no word by it, and show no other. */
async function assertKept({ stage, canaries, made }: Sweep, when: string): Promise<void> {
  const shown = canaries.foundIn(await readKept(stage.client, made))
  const kept = [...canaries.places].filter(isRecordWord)
  assert.deepEqual(
    kept.filter((place) => !shown.includes(place)),
    [],
    `not kept, ${when}`,
  )
  const other = shown.filter((place) => !isKeptWord(place))
  assert.deepEqual(other, [], `readable beside records, ${when}`)
}

/** Every operation that reads, with what there is: no answer shows a canary. */
async function assertReadableNowhere(sweep: Sweep, when: string): Promise<void> {
  const { stage, canaries, made } = sweep
  const { client } = stage
  await assertKept(sweep, when)
  const everything = await readEverything(client, `${CANARY} river walks`)
  const found = canaries.foundIn(everything).filter((place) => !isKeptWord(place))
  assert.deepEqual(found, [], `readable, ${when}`)
  // A memory is asked for in every store; a decision is read without naming either.
  const named = [...made.stores, 'default'].flatMap((store_id) =>
    made.refs.slice(0, 2).map((ref) => ({ store_id, ref })),
  )
  const asked = new Set<string>()
  for (let i = 0; i < Math.max(named.length, made.decisions.length); i += 1) {
    const decision_id = made.decisions[i % made.decisions.length] ?? GHOSTS.decision_id
    const ids: Ids = { ...GHOSTS, ...named[i % named.length], decision_id, epoch_number: 1, seq: 1 }
    await assertReadsEmpty(sweep, { ids, asked, when })
  }
}

interface Reads {
  readonly ids: Ids
  /** Requests sent so far: most operations name none of the ids. */
  readonly asked: Set<string>
  readonly when: string
}

async function assertReadsEmpty({ stage, canaries }: Sweep, { ids, asked, when }: Reads) {
  for (const operation of operations) {
    const reads = operation.method === 'GET' || operation.id === 'memory.retrieve'
    if (!reads || operation.access === 'operator') continue
    const { id, method } = operation
    const { body, ...rest } = exampleOf(id, ids)
    const sent = body === undefined ? {} : { body: { ...Object(body), query: `${CANARY} river` } }
    const path = `${pathOf(operation, rest)}${queryOf(rest)}`
    const request = JSON.stringify([method, path, sent])
    if (asked.has(request)) continue
    asked.add(request)
    const { status, text } = await stage.client.ask(method, path, sent)
    assert.ok(status < 500, `${id}: ${text}`)
    const found = canaries.foundIn(text).filter((place) => !isKeptWord(place))
    assert.deepEqual(found, [], `${id} shows it, ${when}`)
  }
}

function backUp({ dir, options }: Stage, entries: readonly string[], way: 'out' | 'back'): void {
  const backup = join(dir, 'backup')
  mkdirSync(backup, { recursive: true })
  const [from, to] = way === 'out' ? [options.data_dir, backup] : [backup, options.data_dir]
  for (const entry of entries) {
    for (const suffix of ['', '-wal', '-shm'])
      rmSync(join(to, `${entry}${suffix}`), { recursive: true, force: true })
    cpSync(join(from, entry), join(to, entry), { recursive: true })
  }
}

const ENTRIES = ['custos.db', 'keyring']
/** What a copy of all files has beside them: snapshots of search indexes. */
const SNAPSHOTS = 'index'

interface Elsewhere {
  readonly env: Readonly<Record<string, string>>
  readonly places: readonly string[]
}

async function prepared(t: TestContext, elsewhere?: Elsewhere): Promise<Sweep> {
  // Nobody outside is asked for a domain: no name server answers at this port.
  const env = { CUSTOS_DNS_SERVERS: '127.0.0.1:9', ...elsewhere?.env }
  const stage = new Stage(t, { log_level: 'info', env })
  await stage.start()
  const made: Made = { stores: [], refs: [], decisions: [], labels: [], kept: [] }
  const places = [stage.dir, ...(elsewhere?.places ?? [])]
  return { stage, canaries: new Canaries(), made, outputs: [], places }
}

/**
 * Names by which a sender told things apart, in the answer to that sender: which of two hundred
 * members, sources, keywords or parameters it is about. Never a content, and in no file or log.
 */
const NAMED_TO_THE_SENDER: ReadonlySet<string> = new Set([
  'compositions.compose body.members[].ref_id',
  'provenance.register body.sources[].id',
  'world_model.register_type body.spec{}',
  'world_model.invoke body.params{}',
  'landing.issue body.conformance.per_policy{}',
])

test('a refusal repeats names of parts at most, and leaves none behind', async (t) => {
  const sweep = await prepared(t)
  const { stage, canaries } = sweep
  const repeated = await repeatedInRefusals({ client: stage.client, canaries })
  assertNotInClear(sweep, 'refused')
  const others = Object.values(repeated).flat()
  assert.deepEqual(
    others.filter((place) => !NAMED_TO_THE_SENDER.has(place)),
    [],
  )
})

async function assertNeverInClear(sweep: Sweep): Promise<void> {
  const { stage } = sweep
  assertNotInClear(sweep, 'live')
  await stage.server.killed()
  await restart(sweep)
  assertNotInClear(sweep, 'killed and started again')
}

test('no text sent is ever in clear; what was erased is readable nowhere', async (t) => {
  const sweep = await prepared(t)
  const { stage } = sweep
  await sendAll(sweep)
  assertEveryPlaceSent(sweep)
  t.diagnostic(`${sweep.canaries.places.size} canaries`)
  await assertNotOnTheLog(sweep)
  await assertNeverInClear(sweep)
  const found = sweep.canaries.foundIn(await readEverything(stage.client, CANARY))
  assert.ok(found.length >= 10, 'the reads do show what is not erased')
  await assertKept(sweep, 'not erased')
  await stage.server.stop()
  assertNotInClear(sweep, 'stopped')
  backUp(stage, [...ENTRIES, SNAPSHOTS], 'out')
  assert.ok(readdirSync(join(stage.dir, 'backup', SNAPSHOTS)).length > 0, 'an index has a snapshot')
  await restart(sweep)
  await eraseAll(sweep)
  await assertReadableNowhere(sweep, 'erased')
  await stage.server.killed()
  await restart(sweep)
  await assertReadableNowhere(sweep, 'restarted')
  const backups = [[SNAPSHOTS], ['custos.db', SNAPSHOTS], [...ENTRIES, SNAPSHOTS]]
  for (const entries of casesOf(backups, 1)) {
    await stage.server.stop()
    backUp(stage, entries, 'back')
    await restart(sweep)
    await assertReadableNowhere(sweep, `with ${entries.join(' and ')} restored`)
    await assertNotOnTheLog(sweep)
    assertNotInClear(sweep, `with ${entries.join(' and ')} restored`)
  }
})

const SUBJECT = '/v1/erasure/subject'

/** Policies in force and holds are kept by design: a tenant ends them first. */
async function endRules({ stage: { client } }: Sweep): Promise<void> {
  const { policies } = await client.ok('GET', '/v1/governance/policies?limit=500')
  for (const { policy_id } of policies)
    await client.ok('DELETE', `/v1/governance/policies/${policy_id}`)
  for (const { store_id } of await client.all('/v1/stores', 'stores'))
    for (const { hold_id } of await client.all(`/v1/stores/${store_id}/holds`, 'holds'))
      await client.ok('DELETE', `/v1/stores/${store_id}/holds/${hold_id}`, { body: {} })
}

async function eraseSubject({ stage: { client } }: Sweep): Promise<void> {
  const find = { text: CANARY }
  const { digest } = await client.ok('POST', SUBJECT, { body: { find, preview: true } })
  const body = { find, expect_digest: digest }
  const { request_id } = await client.ok('POST', SUBJECT, { body })
  for (let waits = 0; waits < 1_200; waits += 1) {
    const { completed_at, status } = await client.ok('GET', `${SUBJECT}/${request_id}`)
    if (completed_at !== null) {
      noteCounts({ 'people erased by a request': 1 })
      return assert.equal(status, 'done')
    }
    await delay(50)
  }
  assert.fail('the erasure did not come to its end')
}

test("a person's request shows and erases what was sent anywhere", async (t) => {
  const sweep = await prepared(t)
  const { stage, canaries, made } = sweep
  // Refused requests leave nothing behind: the tests above.
  await sendEverywhere({ ...partsOf(sweep), made })
  await endRules(sweep)
  const { text } = await stage.client.ask('POST', `${SUBJECT}/access`, {
    body: { find: { text: CANARY } },
  })
  const shown = new Set(canaries.foundIn(text))
  const readable = async () => {
    const everything = await readEverything(stage.client, CANARY)
    return canaries.foundIn(`${everything}\n${await readKept(stage.client, made)}`)
  }
  const before = await readable()
  assert.ok(before.length >= 50, `${before.length} places are readable`)
  assert.deepEqual(
    before.filter((place) => !shown.has(place)),
    [],
    'readable, and not shown by access',
  )
  await stage.server.stop()
  backUp(stage, ENTRIES, 'out')
  await restart(sweep)
  await eraseSubject(sweep)
  assert.deepEqual(await readable(), [], 'readable when erased')
  assertNotInClear(sweep, 'erased')
  await assertNotOnTheLog(sweep)
  for (const entries of casesOf([['custos.db'], ENTRIES], 1)) {
    await stage.server.stop()
    backUp(stage, entries, 'back')
    await restart(sweep)
    const when = `with ${entries.join(' and ')} restored`
    assert.deepEqual(await readable(), [], `readable ${when}`)
    assertNotInClear(sweep, when)
  }
})

/** A cluster of its own: all of its files, the write-ahead log too, can be looked through. */
async function postgresOf(t: TestContext): Promise<Elsewhere> {
  const { url, stop } = await startCluster()
  t.after(stop)
  const directory = await withPostgres(url, async (db) => {
    const { rows } = await db.query({ sql: 'show data_directory' }, [])
    return String(rows[0].data_directory)
  })
  const env = { CUSTOS_DATABASE_URL: url, CUSTOS_MASTER_KEY: '5a'.repeat(32) }
  return { env, places: [directory] }
}

test('on PostgreSQL nothing is in clear in any file, and what was erased is gone', async (t) => {
  const postgres = await postgresOf(t)
  const sweep = await prepared(t, postgres)
  const flush = () =>
    withPostgres(postgres.env['CUSTOS_DATABASE_URL'] ?? '', (db) => db.step('checkpoint'))
  await sendAll(sweep)
  await assertNotOnTheLog(sweep)
  await flush()
  assertNotInClear(sweep, 'live')
  await eraseAll(sweep)
  await assertReadableNowhere(sweep, 'erased')
  await sweep.stage.server.killed()
  await restart(sweep)
  await assertReadableNowhere(sweep, 'restarted')
  await flush()
  assertNotInClear(sweep, 'restarted')
})
