// A person with many memories, whose erasure is killed: what there must be of it in the end.

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { detectEnvelope, verifyEnvelope } from '@custos/proof'
import { type Answer, type Client, Interrupted } from './client.ts'

const SUBJECT = '/v1/erasure/subject'
const BATCH = 500
const WAIT_MS = 50
const WAITS_MAX = 12_000

export interface Person {
  readonly name: string
  readonly store_id: string
  readonly refs: readonly number[]
  readonly decision_ids: readonly string[]
}

/** Writes memories and decisions about somebody, and as many memories about others. */
export async function writePerson(client: Client, name: string, facts: number): Promise<Person> {
  const { store_id } = await client.ok('POST', '/v1/stores', { body: { name: 'people' } })
  const path = `/v1/stores/${store_id}`
  const refs: number[] = []
  for (let at = 0; at < facts; at += BATCH) {
    const count = Math.min(BATCH, facts - at)
    const items = Array.from({ length: count }, (_, i) => ({
      content: `${name} Subramanian wrote note ${at + i} about bees`,
    }))
    const written = await client.ok('POST', `${path}/write_batch`, { body: { items } })
    refs.push(...written.refs)
  }
  await client.ok('POST', `${path}/write`, { body: { content: 'The office opens at nine' } })
  const [old_ref] = refs
  const newer = await client.ok('POST', `${path}/supersede`, {
    body: { old_ref, content: 'No more notes are written' },
  })
  refs.push(newer.ref)
  const decision_ids: string[] = []
  for (const n of [1, 2]) {
    const query = `What has ${name} Subramanian written (${n})?`
    const body = {
      store_id,
      model_id: 'model-a',
      query,
      output: 'Notes',
      retrieved_refs: [refs[n]],
    }
    decision_ids.push((await client.ok('POST', '/v1/decisions/log', { body })).decision_id)
  }
  return { name, store_id, refs, decision_ids: decision_ids.sort() }
}

/** Null: it was cut off before the answer came. */
export async function askErasure(client: Client, { name }: Person): Promise<string | null> {
  try {
    const find = { text: `${name} subramanian` }
    const { digest } = await client.ok('POST', SUBJECT, { body: { find, preview: true } })
    const body = { find, expect_digest: digest }
    return (await client.ok('POST', SUBJECT, { body })).request_id
  } catch (error) {
    if (error instanceof Interrupted) return null
    throw error
  }
}

/** Of a request without an answer: the newest, where it has begun at all. */
export async function newestRequest(client: Client): Promise<string> {
  const { requests } = await client.ok('GET', `${SUBJECT}?limit=1`)
  assert.equal(requests.length, 1)
  return requests[0].request_id
}

/** Waits for its end; throws Interrupted when the service ends first. */
export async function untilDone(client: Client, request_id: string): Promise<void> {
  for (let waits = 0; waits < WAITS_MAX; waits += 1) {
    const { completed_at } = await client.ok('GET', `${SUBJECT}/${request_id}`)
    if (completed_at !== null) return
    await delay(WAIT_MS)
  }
  assert.fail('the erasure did not come to its end')
}

/**
 * Every memory and decision is gone, each with one certificate; one manifest lists them all and
 * verifies offline with them; nothing of the person can be read.
 */
export async function checkErased(
  client: Client,
  request_id: string,
  { name, store_id, refs, decision_ids }: Person,
): Promise<void> {
  const lines: Answer['body'][] = await client.lines(
    `${SUBJECT}/${request_id}/manifest?format=bundle`,
  )
  const { keys } = await client.ok('GET', '/v1/gcrumbs/public_key')
  const verdict = await verifyEnvelope(detectEnvelope(lines), { keys })
  assert.ok(verdict.valid, verdict.reason)
  const [manifest, ...certificates] = lines
  const listed = manifest.entries.map(
    (entry: Answer['body']) => entry.fact_ref ?? entry.decision_id,
  )
  assert.deepEqual(listed, [...refs, ...decision_ids])
  assert.equal(certificates.length, refs.length + decision_ids.length)
  const mine = new Set<unknown>([...refs, ...decision_ids])
  const all = await client.all('/v1/erasure', 'certificates')
  const subjects = all.map(({ fact_ref, decision_id }) => decision_id ?? fact_ref)
  assert.equal(new Set(subjects).size, subjects.length, 'one subject has two certificates')
  assert.equal(subjects.filter((subject) => mine.has(subject)).length, certificates.length)
  const left = await client.lines(`/v1/stores/${store_id}/export`)
  assert.equal(left.length, 2, 'the header, and what is not about the person')
  const { text } = await client.ask('GET', '/v1/decisions/export')
  assert.ok(!text.includes(name))
  const events = await client.all('/v1/gcrumbs/breadcrumbs', 'breadcrumbs')
  const ends = events.filter(
    ({ event_type, subject }) => event_type === 'subject.erased' && subject === request_id,
  )
  assert.equal(ends.length, 1)
}
