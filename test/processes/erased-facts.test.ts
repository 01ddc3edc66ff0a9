// Once an erasure is answered, no process shows the fact again, however hard it is asked.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Client, createTenant } from '../crash/testing/client.ts'
import { readEverything } from '../crash/testing/read-everything.ts'
import { at, clientsOf, openFleet } from './testing/fleet.ts'

const FACTS = 20
const READERS = 6

interface Told {
  readonly ref: number
  readonly word: string
  readonly decision_id: string
}

/** Facts that each have a word of their own, and decisions that quote them. */
async function tell(client: Client, store_id: string): Promise<Told[]> {
  const told: Told[] = []
  for (let i = 0; i < FACTS; i += 1) {
    const word = `zq${String(i).padStart(4, '0')}`
    const content = `The crate ${word} stands in the hall`
    const { ref } = await client.ok('POST', `/v1/stores/${store_id}/write`, { body: { content } })
    const body = {
      store_id,
      model_id: 'model-a',
      query: `Where is the crate? ${content}`,
      output: `in the hall: ${content}`,
      retrieved_refs: [ref],
      retrieved_contents: [content],
    }
    const { decision_id } = await client.ok('POST', '/v1/decisions/log', { body })
    told.push({ ref, word, decision_id })
  }
  return told
}

/** One look at what could still show a fact; the answer's text. */
async function look(client: Client, store_id: string, told: Told, turn: number): Promise<string> {
  const store = `/v1/stores/${store_id}`
  const paths = [
    `${store}/memories/${told.ref}`,
    `/v1/decisions/${told.decision_id}`,
    `/v1/decisions/${told.decision_id}/replay`,
    `${store}/memories?limit=100`,
    `${store}/export`,
  ]
  const path = paths[turn % (paths.length + 1)]
  if (path !== undefined) return (await client.ask('GET', path)).text
  const body = { query: 'the crate in the hall', budget_tokens: 5_000 }
  const answer = await client.ask('POST', `${store}/retrieve`, { body })
  assert.equal(answer.status, 200, answer.text)
  return answer.text
}

test('an answer that begins after an erasure was answered elsewhere never shows it', async (t) => {
  const fleet = await openFleet(t)
  const servers = await fleet.start(2)
  const { api_key } = await createTenant(at(servers, 0))
  const clients = clientsOf(servers, api_key)
  const [one, other] = [at(clients, 0), at(clients, 1)]
  const { store_id } = await one.ok('POST', '/v1/stores', { body: {} })
  const all = await tell(one, store_id)
  // It has everything in memory before anything is erased.
  assert.ok((await readEverything(other, 'the crate in the hall')).includes(at(all, 0).word))

  const erased = new Set<string>()
  let looks = 0
  const read = async (first: number) => {
    for (let turn = first; erased.size < all.length; turn += 1) {
      const gone = [...erased]
      // The one being erased just now, and any other.
      const told = all[Math.min(erased.size, all.length - 1)] ?? at(all, 0)
      const text = await look(other, store_id, turn % 2 ? told : at(all, turn % FACTS), turn >> 1)
      for (const word of gone)
        assert.ok(!text.includes(word), `${word} was shown after its erasure`)
      looks += 1
    }
  }
  const readers = Promise.all(Array.from({ length: READERS }, (_, i) => read(i * 3)))
  for (const { ref, word } of all) {
    await one.ok('POST', '/v1/erasure/issue', { body: { fact_ref: ref } })
    erased.add(word)
  }
  await readers
  assert.ok(looks > FACTS)
  const words = all.map(({ word }) => word).join(' ')
  for (const client of clients) {
    const shown = await readEverything(client, 'the crate in the hall')
    for (const word of words.split(' ')) assert.ok(!shown.includes(word), word)
  }
  t.diagnostic(`${looks} looks while ${FACTS} facts were erased`)
})
