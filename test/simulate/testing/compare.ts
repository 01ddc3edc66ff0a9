// Holds the service to the model: what is current, what is shown, what is gone, what is proven.

import assert from 'node:assert/strict'
import type { Answer } from '../../../packages/server/src/testing/harness.ts'
import type { ModelDecision, ModelFact } from './model.ts'
import type { World } from './world.ts'

const MARKER = '[REDACTED — GDPR Article 17]'
const QUERY = 'which lantern hangs in the hall'
const BUDGET = 1_000_000

/** After every step: the counts and what is current now. */
export async function compareCurrent(world: World): Promise<void> {
  const { model } = world
  for (const store_id of model.stores) {
    const numbers = await world.ok('GET', `/v1/stores/${store_id}/stats`)
    const live = model.live(store_id)
    assert.equal(numbers.facts, live.length)
    const superseded = live.filter((fact) => model.latest(fact).superseded_by !== null)
    assert.equal(numbers.superseded, superseded.length)
    const facts = [...model.facts.values()].filter((fact) => fact.store_id === store_id)
    assert.equal(numbers.erased, facts.length - live.length)
    for (const namespace of [null, 'team']) await compareRetrieve(world, { store_id, namespace })
  }
}

interface Asked {
  readonly store_id: string
  readonly namespace: string | null
  readonly as_of?: string
  /** A log entry whose time is asked for. */
  readonly known?: Answer['body']
}

async function compareRetrieve(world: World, asked: Asked): Promise<void> {
  const { store_id, namespace, as_of, known } = asked
  const options = {
    budget_tokens: BUDGET,
    ...(namespace === null ? {} : { tenant_id: namespace }),
    ...(as_of === undefined ? {} : { as_of }),
    ...(known === undefined ? {} : { known_at: known.created_at }),
  }
  const path = `/v1/stores/${store_id}/retrieve`
  const past = as_of ?? known?.created_at
  for (;;) {
    const [before, answer, after] = [
      now(),
      await world.ok('POST', path, { query: QUERY, options }),
      now(),
    ]
    const seq = known?.seq ?? answer.log_seq
    const state = (at: string) => world.model.stateAt(store_id, { seq, at, namespace })
    const expected = state(past ?? before)
    // A memory began to hold while it was asked for: ask again.
    if (past === undefined && String(expected) !== String(state(after))) continue
    assertRetrieved(world, answer, expected, JSON.stringify(options))
    return
  }
}

const now = (): string => new Date().toISOString().replace('Z', '999Z')

function assertRetrieved(
  { model }: World,
  { memories, tokens_used }: Answer['body'],
  expected: readonly number[],
  note: string,
): void {
  const refs: number[] = memories.map(({ ref }: { ref: number }) => ref)
  assert.deepEqual(
    refs.toSorted((a, b) => a - b),
    expected,
    note,
  )
  for (const { ref, content } of memories) assert.equal(content, model.facts.get(ref)?.content)
  assert.ok(tokens_used <= BUDGET)
}

/** At intervals: everything that can be read, against everything the model knows. */
export async function compareAll(world: World): Promise<void> {
  const crumbs = await world.all('/v1/gcrumbs/breadcrumbs', 'breadcrumbs')
  await compareMemories(world)
  await compareDecisions(world)
  await comparePast(world, crumbs)
  await compareErased(world)
  const verdict = await world.ok('GET', '/v1/gcrumbs/verify?full=true')
  assert.equal(verdict.status, 'intact', JSON.stringify(verdict))
  assert.equal(verdict.tree_size, crumbs.length)
}

async function compareMemories(world: World): Promise<void> {
  const { model } = world
  for (const store_id of model.stores) {
    const shown = await world.all(`/v1/stores/${store_id}/memories`, 'memories')
    const expected = model.live(store_id).sort((a, b) => a.ref - b.ref)
    assert.deepEqual(
      shown.map(({ ref }) => ref),
      expected.map(({ ref }) => ref),
    )
    for (const [i, fact] of expected.entries()) compareMemory(world, shown[i], fact)
  }
}

function compareMemory({ model, tenant_id }: World, shown: Answer['body'], fact: ModelFact): void {
  const { valid_from, valid_until, superseded_by } = model.latest(fact)
  assert.equal(shown.content, fact.content)
  assert.equal(shown.superseded_by, superseded_by)
  assert.equal(shown.valid_from, valid_from)
  assert.equal(shown.valid_until, valid_until)
  assert.equal(
    shown.tenant_id,
    fact.namespace === null ? tenant_id : `${tenant_id}/${fact.namespace}`,
  )
}

async function compareDecisions(world: World): Promise<void> {
  const { model } = world
  const shown = await world.all('/v1/decisions', 'decisions')
  assert.deepEqual(
    shown.map(({ decision_id }) => decision_id).toSorted(),
    [...model.decisions.keys()].toSorted(),
  )
  for (const decision of shown) {
    const expected = model.decisions.get(decision.decision_id)
    assert.ok(expected)
    compareDecision(world, decision, expected)
    await compareReplay(world, expected)
  }
}

function compareDecision({ model }: World, shown: Answer['body'], expected: ModelDecision): void {
  const { refs, scrubbed, redacted } = expected
  const hidden = (ref: number) => scrubbed.has(ref) || model.facts.get(ref)?.erased_seq !== null
  assert.deepEqual(shown.retrieved_refs, refs)
  refs.forEach((ref, i) => {
    const content = hidden(ref) ? MARKER : model.facts.get(ref)?.content
    assert.equal(shown.retrieved_contents[i], content)
  })
  const [first] = refs
  const told = first === undefined ? '' : model.facts.get(first)?.content
  const query = first !== undefined && hidden(first) ? MARKER : told
  assert.equal(shown.query, redacted ? MARKER : `Which lantern? ${query}`)
  assert.equal(shown.output, redacted ? MARKER : 'The one in the hall')
}

async function compareReplay(world: World, expected: ModelDecision): Promise<void> {
  const { model } = world
  const { decision_id, refs, timestamp } = expected
  const replayed = await world.ok('GET', `/v1/decisions/${decision_id}/replay`)
  const state = model.replayed(expected, timestamp)
  const shown: { ref: number; content: string | null; erased: boolean }[] = replayed.memory_state
  assert.deepEqual(
    shown.map(({ ref, content }) => [ref, content]),
    [...state],
  )
  for (const { content, erased } of shown) assert.equal(erased, content === null)
  const gone = refs.filter((ref) => model.facts.get(ref)?.erased_seq !== null)
  assert.deepEqual(replayed.facts_since_deleted.toSorted(), gone.toSorted())
}

/** The past as it was valid, as it was known, and both. */
async function comparePast(world: World, crumbs: readonly Answer['body'][]): Promise<void> {
  const { random, model } = world
  for (let i = 0; i < 4; i += 1) {
    const store_id = random.pick(model.stores) ?? ''
    const namespace = random.int(3) === 0 ? 'team' : null
    const known = random.pick(crumbs)
    const as_of = random.pick(crumbs)?.created_at
    await compareRetrieve(world, { store_id, namespace, as_of })
    await compareRetrieve(world, { store_id, namespace, known })
    await compareRetrieve(world, { store_id, namespace, known, as_of })
  }
}

async function compareErased(world: World): Promise<void> {
  const { model } = world
  const texts = [(await world.ask('GET', '/v1/decisions/export')).text]
  for (const store_id of model.stores) {
    const path = `/v1/stores/${store_id}`
    texts.push((await world.ask('GET', `${path}/export`)).text)
    texts.push((await world.ask('GET', `${path}/audit`)).text)
  }
  const all = texts.join('\n')
  const erased = [...model.facts.values()].filter(({ erased_seq }) => erased_seq !== null)
  for (const { content, ref } of erased) assert.ok(!all.includes(content), `ref ${ref} is shown`)
  const certificates = await world.all('/v1/erasure', 'certificates')
  const ofFacts = certificates.filter(({ fact_ref }) => fact_ref !== null)
  assert.equal(ofFacts.length, erased.length)
}
