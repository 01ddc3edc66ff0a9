// One step of the simulation: the same act on the service and on the model.

import assert from 'node:assert/strict'
import type { ModelFact } from './model.ts'
import type { World } from './world.ts'

const NAMESPACES = [null, null, null, 'team']
const DAY_MS = 86_400_000
const SOON_MS = 500

type Act = (world: World) => Promise<void>

/** A time so far from now, with six fractional digits. */
const fromNow = (ms: number): string => new Date(Date.now() + ms).toISOString().replace('Z', '000Z')

function pickStore({ random, model }: World): string {
  const store_id = random.pick(model.stores)
  assert.ok(store_id)
  return store_id
}

async function noteWritten(
  world: World,
  fact: Omit<ModelFact, 'versions' | 'erased_seq'>,
  seq: number,
) {
  const { ref, store_id } = fact
  const { valid_from } = await world.ok('GET', `/v1/stores/${store_id}/memories/${ref}`)
  world.model.write(fact, seq, valid_from)
}

const write: Act = async (world) => {
  const { random } = world
  const store_id = pickStore(world)
  const content = world.content()
  const namespace = random.pick(NAMESPACES) ?? null
  // Mostly now; sometimes long ago, sometimes not yet.
  const ms = random.pick([0, 0, 0, 0, -30 * DAY_MS, 2 * DAY_MS, SOON_MS]) ?? 0
  const options = {
    ...(namespace === null ? {} : { tenant_id: namespace }),
    ...(ms === 0 ? {} : { valid_from: fromNow(ms) }),
  }
  const body = { content, options }
  const { ref, log_seq } = await world.ok('POST', `/v1/stores/${store_id}/write`, body)
  await noteWritten(world, { ref, store_id, namespace, content }, log_seq)
}

const writeBatch: Act = async (world) => {
  const store_id = pickStore(world)
  const contents = [world.content(), world.content(), world.content()]
  const items = contents.map((content) => ({ content }))
  const path = `/v1/stores/${store_id}/write_batch`
  const { refs, log_seq } = await world.ok('POST', path, { items })
  for (const [i, content] of contents.entries())
    await noteWritten(world, { ref: refs[i], store_id, namespace: null, content }, log_seq)
}

const supersede: Act = async (world) => {
  const { model, random } = world
  const old = random.pick(model.live())
  if (!old) return
  const { store_id, namespace } = old
  const content = world.content()
  const body = { old_ref: old.ref, content }
  const before = fromNow(0)
  const answer = await world.ask('POST', `/v1/stores/${store_id}/supersede`, body)
  const latest = model.latest(old)
  if (latest.superseded_by !== null) {
    assert.equal(answer.status, 409, answer.text)
    assert.equal(answer.body.error, 'superseded')
    return
  }
  // A version that does not hold yet cannot have ended already.
  if (answer.body.error === 'order_inverted') {
    assert.ok(latest.valid_from > before)
    return
  }
  assert.ok(latest.valid_from < fromNow(0))
  assert.equal(answer.status, 200, answer.text)
  const { ref, log_seq } = answer.body
  await noteWritten(world, { ref, store_id, namespace, content }, log_seq)
  model.supersede(old.ref, ref, log_seq)
}

const erase: Act = async (world) => {
  const { model, random } = world
  const fact = random.pick(model.live())
  if (!fact) return
  const answer = await world.ok('POST', '/v1/erasure/issue', { fact_ref: fact.ref })
  assert.equal(answer.deleted, true)
  const used = [...model.decisions.values()].filter(({ refs }) => refs.includes(fact.ref))
  const scrubbed: string[] = answer.scrubbed_decision_ids
  assert.deepEqual(scrubbed.toSorted(), used.map(({ decision_id }) => decision_id).toSorted())
  model.erase(fact.ref, answer.log_seq)
}

const eraseAgain: Act = async (world) => {
  const { model, random } = world
  const gone = [...model.facts.values()].filter(({ erased_seq }) => erased_seq !== null)
  const fact = random.pick(gone)
  if (!fact) return
  const answer = await world.ok('POST', '/v1/erasure/issue', { fact_ref: fact.ref })
  assert.equal(answer.deleted, false)
  assert.equal(answer.log_seq, fact.erased_seq)
}

const decide: Act = async (world) => {
  const { model, random } = world
  const store_id = pickStore(world)
  const facts = [random.pick(model.live(store_id)), random.pick(model.live(store_id))]
  const used = [...new Set(facts.filter((fact) => fact !== undefined))]
  const body = {
    store_id,
    model_id: 'model-a',
    query: `Which lantern? ${used[0]?.content ?? ''}`,
    output: 'The one in the hall',
    retrieved_refs: used.map(({ ref }) => ref),
    retrieved_contents: used.map(({ content }) => content),
  }
  const logged = await world.ok('POST', '/v1/decisions/log', body)
  const { decision_id, timestamp, memory_seq } = logged
  const refs = used.map(({ ref }) => ref)
  const decision = { decision_id, store_id, refs, timestamp, memory_seq, redacted: false }
  model.decisions.set(decision_id, { ...decision, scrubbed: new Set() })
}

const scrub: Act = async (world) => {
  const { model, random } = world
  const fact = random.pick(model.live())
  if (!fact) return
  const { ref } = fact
  const { decision_ids } = await world.ok('DELETE', `/v1/decisions/scrub/${ref}`)
  const due = [...model.decisions.values()].filter(
    ({ refs, scrubbed }) => refs.includes(ref) && !scrubbed.has(ref),
  )
  assert.deepEqual(decision_ids.toSorted(), due.map(({ decision_id }) => decision_id).toSorted())
  for (const { scrubbed } of due) scrubbed.add(ref)
}

const redact: Act = async (world) => {
  const { model, random } = world
  const decision = random.pick([...model.decisions.values()])
  if (!decision) return
  const path = `/v1/decisions/${decision.decision_id}/redact`
  const { deleted } = await world.ok('POST', path, {})
  assert.equal(deleted, !decision.redacted)
  decision.redacted = true
}

const roll: Act = async (world) => {
  await world.ok('POST', '/v1/gcrumbs/roll', {})
}

const restart: Act = (world) => world.restart()

/** Acts with their weights. */
const ACTS: readonly (readonly [number, Act])[] = [
  [26, write],
  [6, writeBatch],
  [20, supersede],
  [14, erase],
  [4, eraseAgain],
  [16, decide],
  [5, scrub],
  [4, redact],
  [4, roll],
  [1, restart],
]
const WEIGHT = ACTS.reduce((sum, [weight]) => sum + weight, 0)

export async function act(world: World): Promise<string> {
  let dice = world.random.int(WEIGHT)
  for (const [weight, one] of ACTS) {
    dice -= weight
    if (dice >= 0) continue
    await one(world)
    return one.name
  }
  throw new Error('the weights add up')
}
