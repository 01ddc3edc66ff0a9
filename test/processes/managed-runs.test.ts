// kill -9 of processes on one database while they execute a run with a tool of each effect class:
// the run ends, no effect is repeated that must not be, and what happened verifies offline.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { readSavedDocuments, verifySavedDocument } from '@custos/proof'
import { startTlsServer } from '../../packages/server/src/platform/egress/testing/tls-server.ts'
import {
  type ModelServer,
  startModelServer,
} from '../../packages/server/src/slices/orchestrator/testing/model-server.ts'
import { writeTestCertificate } from '../../packages/server/src/slices/webhooks/testing/scene.ts'
import { roundsOf } from '../../packages/server/src/testing/sweep.ts'
import { Client, createTenant, Interrupted } from '../crash/testing/client.ts'
import { fsck } from '../crash/testing/command-line.ts'
import { seeded, seedOfRun } from '../crash/testing/random.ts'
import { tempDirectory } from '../crash/testing/temp-directory.ts'
import { at, type Fleet, openFleet } from './testing/fleet.ts'

const ROUNDS = roundsOf(3, 30)
const DOOMED = 2
/** Instead of half a minute: a test waits for it. */
const LEASE_MS = 1_500
/** How long the first death is waited for: not every point is on the way of every process. */
const DEATH_MS = 6_000
const RUNS = '/v1/orchestrator/runs'
/** In the order in which the model asks for them. */
const EFFECTS = ['read', 'idempotent', 'once'] as const
const POINTS = [
  'run:begun',
  'run:asking',
  'run:answered',
  'run:stored',
  'run:intended',
  'run:sending',
  'run:acted',
  'run:called',
  'run:finished',
  'run:settled',
] as const

/** The keys of the requests that each tool got, by the name of the tool. */
async function startTools(t: TestContext): Promise<{ url: string; keys: Map<string, string[]> }> {
  const keys = new Map<string, string[]>()
  const { port } = await startTlsServer(t, (request, response) => {
    const name = (request.url ?? '').slice(1)
    keys.set(name, [...(keys.get(name) ?? []), String(request.headers['idempotency-key'])])
    response.end(`${name} done`)
  })
  return { url: `https://127.0.0.1:${port}`, keys }
}

/** One call after the other, then an answer. */
function callEach(model: ModelServer): void {
  model.answer = ({ body }) => {
    const done = body.messages.filter(({ role }: { role: string }) => role === 'tool').length
    const tool = EFFECTS[done]
    return tool === undefined ? { text: 'All is done.' } : { calls: [{ tool, args: {} }] }
  }
}

async function prepareAgent(client: Client, urls: { model: string; tools: string }) {
  const provider = { provider: 'openai', model_id: 'model-a', base_url: urls.model }
  await client.ok('POST', '/v1/llm/providers', { body: provider })
  for (const effect of EFFECTS) {
    const tool = { name: effect, description: `A tool of the class ${effect}`, effect }
    const how = { input_schema: { type: 'object' }, url: `${urls.tools}/${effect}` }
    await client.ok('POST', '/v1/llm/tools', { body: { ...tool, ...how } })
  }
  const agent = { name: 'a', model_id: 'model-a' }
  const { agent_id } = await client.ok('POST', '/v1/orchestrator/agents', { body: agent })
  return String(agent_id)
}

/** Settles what is uncertain, as a person who saw that it acted. */
async function finish(client: Client, run_id: string) {
  for (const until = performance.now() + 120_000; ; ) {
    const run = await client.ok('GET', `${RUNS}/${run_id}`)
    if (run.ended_at !== null) return run
    assert.ok(performance.now() < until, `the run is still ${run.state}`)
    if (run.state === 'waiting_resolution') {
      const calls = run.steps.flatMap((step: { calls: { state: string }[] }) => step.calls)
      const { call_id } = calls.find(({ state }: { state: string }) => state === 'uncertain')
      const body = { happened: true }
      await client.ok('POST', `${RUNS}/${run_id}/calls/${call_id}/resolve`, { body })
    }
    await delay(50)
  }
}

async function assertVerifies(client: Client, run_id: string): Promise<void> {
  const { text } = await client.ask('GET', `${RUNS}/${run_id}/bundle`)
  const [document] = readSavedDocuments(text)
  assert.ok(document)
  const { keys } = await client.ok('GET', '/v1/gcrumbs/public_key')
  const verdict = await verifySavedDocument(document, { keys, entry: undefined })
  assert.equal(verdict.valid, true, verdict.reason)
}

interface KilledRun {
  readonly fleet: Fleet
  readonly api_key: string
  readonly points: readonly string[]
  /** What starts the run, the same at each process. */
  readonly sent: { body: object; headers: Record<string, string> }
}

/** Each of the doomed dies at its point, if it comes there; then another goes on. */
async function runWithDeaths({ fleet, api_key, points, sent }: KilledRun) {
  const doomed = await Promise.all(
    points.map(() => fleet.spawnStepped({ lease_ms: LEASE_MS }).listening()),
  )
  await Promise.all(doomed.map((one, i) => one.arm([{ name: at(points, i), how: 'kill' }])))
  const deaths = { count: 0 }
  const ended = doomed.map((one) => one.ended().then(() => (deaths.count += 1)))
  try {
    await new Client(at(doomed, 0).url, api_key).ok('POST', RUNS, sent)
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error
  }
  await Promise.race([...ended, delay(DEATH_MS)])
  const survivor = await fleet.spawnStepped({ lease_ms: LEASE_MS }).listening()
  const client = new Client(survivor.url, api_key)
  const { run_id } = await client.ok('POST', RUNS, sent)
  const run = await finish(client, run_id)
  const kills = deaths.count
  await assertVerifies(client, run_id)
  await Promise.all([...doomed, survivor].map((one) => one.killed()))
  return { run, kills }
}

test('a run whose processes are killed ends, and no effect is repeated wrongly', async (t) => {
  const random = seeded(seedOfRun())
  t.diagnostic(`CUSTOS_TEST_SEED=${random.seed}`)
  const certificate = writeTestCertificate(join(tempDirectory(t), 'model.pem'))
  const trusted = { CUSTOS_EGRESS_ALLOW: '127.0.0.1', NODE_EXTRA_CA_CERTS: certificate }
  const fleet = await openFleet(t, trusted)
  const [model, tools] = [await startModelServer(t), await startTools(t)]
  callEach(model)
  const [first] = await fleet.start(1)
  assert.ok(first)
  const { api_key } = await createTenant(first)
  const urls = { model: model.base_url, tools: tools.url }
  const agent_id = await prepareAgent(new Client(first.url, api_key), urls)
  // Another process would take the run from those that are to die.
  await first.killed()
  let killed = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    model.asked.length = 0
    tools.keys.clear()
    const points = Array.from({ length: DOOMED }, () => random.pick(POINTS) ?? 'run:begun')
    const what = `round ${round}: ${points.join(', ')}`
    const body = { agent_id, executor: 'managed', input_text: what }
    const sent = { body, headers: { 'idempotency-key': `round-${round}` } }
    const { run, kills } = await runWithDeaths({ fleet, api_key, points, sent })
    killed += kills
    assert.equal(run.state, 'completed', `${what}: ${run.termination_reason}`)
    assert.ok(model.asked.length <= EFFECTS.length + 1 + kills, what)
    for (const effect of EFFECTS) {
      const keys = tools.keys.get(effect) ?? []
      assert.ok(new Set(keys).size <= 1, `${what}: ${effect} got ${keys}`)
      assert.ok(keys.length <= (effect === 'once' ? 1 : 1 + kills), `${what}: ${effect}`)
    }
  }
  assert.ok(killed > 0, 'no process was killed')
  await fsck(fleet.options)
})
