// The four things that can be erased, each with what surrounds it: before, asked for, after.

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { verifyEnvelope } from '@custos/proof'
import { type Answer, type Client, Interrupted } from './client.ts'
import { readEverything } from './read-everything.ts'

const WAITS_MAX = 600

/** The state of an interrupted erasure after a restart. */
export type Outcome = 'undone' | 'complete'

export interface Subject {
  readonly contents: readonly string[]
  /** Asks for the erasure and waits for its end; throws Interrupted when it was cut off. */
  erase(client: Client): Promise<void>
  /** Fails when the state is neither that of before nor that of after. */
  outcome(client: Client): Promise<Outcome>
  /** Asks again: there is a certificate afterwards, and what was beside the subject is there. */
  again(client: Client): Promise<void>
}

export interface Scenario {
  readonly name: string
  /** Writes what is to be erased; `word` makes its contents its own. */
  prepare(client: Client, word: string): Promise<Subject>
}

const contentOf = (word: string, n: number) =>
  `Ravi ${word}n${n} Subramanian keeps bees at 14 Hill Road`

async function store(client: Client): Promise<string> {
  return (await client.ok('POST', '/v1/stores', { body: { name: 'erasures' } })).store_id
}

const write = (client: Client, store_id: string, content: string): Promise<Answer['body']> =>
  client.ok('POST', `/v1/stores/${store_id}/write`, { body: { content } })

interface Decided {
  readonly refs: readonly number[]
  readonly contents: readonly string[]
  readonly query: string
}

async function decide(client: Client, store_id: string, used: Decided): Promise<string> {
  const body = {
    store_id,
    model_id: 'model-a',
    query: used.query,
    output: 'It was noted',
    retrieved_refs: used.refs,
    retrieved_contents: used.contents,
    parameters: { note: used.query },
  }
  return (await client.ok('POST', '/v1/decisions/log', { body })).decision_id
}

async function assertCertified(
  client: Client,
  certificate: Answer['body'],
  outcome = 'erased',
): Promise<void> {
  const { keys } = await client.ok('GET', '/v1/gcrumbs/public_key')
  const verdict = await verifyEnvelope({ type: 'certificate', certificate }, { keys })
  assert.ok(verdict.valid, verdict.reason)
  assert.equal(certificate.outcome, outcome)
  const shown = await client.ok('GET', `/v1/erasure/${certificate.certificate_id}`)
  assert.equal(shown.signature, certificate.signature)
}

async function assertNowhere(client: Client, contents: readonly string[]): Promise<void> {
  const [words = ''] = contents
  const texts = await readEverything(client, words)
  for (const content of contents) assert.ok(!texts.includes(content), `still shown: ${content}`)
}

/** A newer version of a memory, used by two decisions that repeat it, one with another memory. */
const factScenario: Scenario = {
  name: 'a memory that decisions used',
  async prepare(client, word) {
    const store_id = await store(client)
    const [before, content, beside] = [1, 2, 3].map((n) => contentOf(word, n))
    assert.ok(before && content && beside)
    const { ref: old } = await write(client, store_id, before)
    const path = `/v1/stores/${store_id}`
    const body = { old_ref: old, content }
    const { ref } = await client.ok('POST', `${path}/supersede`, { body })
    const { ref: other } = await write(client, store_id, beside)
    const query = `About ${content}`
    const one = await decide(client, store_id, { refs: [ref], contents: [content], query })
    const two = { refs: [ref, other], contents: [content, beside], query }
    const ids = [one, await decide(client, store_id, two)]
    return {
      contents: [content],
      async erase(client) {
        await client.ok('POST', '/v1/erasure/issue', { body: { fact_ref: ref } })
      },
      async outcome(client) {
        const fact = await client.ask('GET', `${path}/memories/${ref}`)
        const found = await client.ask('GET', `/v1/erasure/fact/${ref}`)
        if (fact.status === 200) {
          assert.equal(fact.body.content, content)
          assert.equal(found.status, 404)
          const { query } = await client.ok('GET', `/v1/decisions/${one}`)
          assert.ok(query.includes(content), 'a decision was scrubbed without a certificate')
          return 'undone'
        }
        assert.equal(found.status, 200, found.text)
        await assertCertified(client, found.body)
        assert.deepEqual(found.body.scrubbed_decision_ids.toSorted(), ids.toSorted())
        await assertNowhere(client, [content])
        return 'complete'
      },
      async again(client) {
        const issued = await client.ok('POST', '/v1/erasure/issue', { body: { fact_ref: ref } })
        await assertCertified(client, issued)
        await assertNowhere(client, [content])
        assert.equal((await client.ok('GET', `${path}/memories/${old}`)).superseded_by, null)
        assert.equal((await client.ok('GET', `${path}/memories/${other}`)).content, beside)
      },
    }
  },
}

const storeScenario: Scenario = {
  name: 'a store',
  async prepare(client, word) {
    const store_id = await store(client)
    const contents = [1, 2, 3, 4].map((n) => contentOf(word, n))
    const items = contents.map((content) => ({ content }))
    const path = `/v1/stores/${store_id}`
    const { refs } = await client.ok('POST', `${path}/write_batch`, { body: { items } })
    const query = `About ${contents[1]}`
    await decide(client, store_id, { refs, contents, query })
    const gone = async (client: Client): Promise<boolean> => {
      const { status } = await client.ask('GET', path)
      return status === 404
    }
    const certified = async (client: Client) => {
      for (const ref of refs)
        await assertCertified(client, await client.ok('GET', `/v1/erasure/fact/${ref}`))
      await assertNowhere(client, contents)
    }
    return {
      contents,
      async erase(client) {
        await client.ok('DELETE', path)
        await waitUntil(() => gone(client))
      },
      async outcome(client) {
        const { status, body } = await client.ask('GET', path)
        if (status === 200 && body.state === 'active') {
          assert.equal(body.facts, refs.length)
          return 'undone'
        }
        // The job is durable before the request is answered, and goes on by itself.
        await waitUntil(() => gone(client))
        await certified(client)
        return 'complete'
      },
      async again(client) {
        const { status } = await client.ask('DELETE', path)
        assert.ok(status === 202 || status === 404)
        await waitUntil(() => gone(client))
        await certified(client)
      },
    }
  },
}

const redactScenario: Scenario = {
  name: "a decision's own text",
  async prepare(client, word) {
    const store_id = await store(client)
    const [kept, query] = [contentOf(word, 1), contentOf(word, 2)]
    const { ref } = await write(client, store_id, kept)
    const decision_id = await decide(client, store_id, { refs: [ref], contents: [kept], query })
    const path = `/v1/decisions/${decision_id}`
    return {
      contents: [query],
      async erase(client) {
        await client.ok('POST', `${path}/redact`, { body: {} })
      },
      async outcome(client) {
        const decision = await client.ok('GET', path)
        assert.deepEqual(decision.retrieved_contents, [kept])
        const certificates = await client.all('/v1/erasure', 'certificates')
        const found = certificates.find((one) => one.decision_id === decision_id)
        if (decision.query === query) {
          assert.equal(found, undefined)
          return 'undone'
        }
        assert.ok(found, 'the text is gone and there is no certificate')
        await assertCertified(client, found)
        await assertNowhere(client, [query])
        return 'complete'
      },
      async again(client) {
        await assertCertified(client, await client.ok('POST', `${path}/redact`, { body: {} }))
        await assertNowhere(client, [query])
        assert.deepEqual((await client.ok('GET', path)).retrieved_contents, [kept])
      },
    }
  },
}

let labels = 700_000_000

/** A number that is no memory, with a text of the caller's in two decisions. */
const labelScenario: Scenario = {
  name: 'a number that only decisions name',
  async prepare(client, word) {
    const store_id = await store(client)
    labels += 1
    const [ref, content] = [labels, contentOf(word, 1)]
    const used = { refs: [ref], contents: [content], query: `About ${content}` }
    const ids = [await decide(client, store_id, used), await decide(client, store_id, used)]
    return {
      contents: [content],
      async erase(client) {
        await client.ok('POST', '/v1/erasure/issue', { body: { fact_ref: ref } })
      },
      async outcome(client) {
        const found = await client.ask('GET', `/v1/erasure/fact/${ref}`)
        if (found.status === 404) {
          for (const id of ids) {
            const { query } = await client.ok('GET', `/v1/decisions/${id}`)
            assert.ok(query.includes(content), 'a decision was scrubbed without a certificate')
          }
          return 'undone'
        }
        await assertCertified(client, found.body, 'already_absent')
        assert.deepEqual(found.body.scrubbed_decision_ids.toSorted(), ids.toSorted())
        await assertNowhere(client, [content])
        return 'complete'
      },
      async again(client) {
        const issued = await client.ok('POST', '/v1/erasure/issue', { body: { fact_ref: ref } })
        await assertCertified(client, issued, 'already_absent')
        await assertNowhere(client, [content])
      },
    }
  },
}

export const scenarios: readonly Scenario[] = [
  factScenario,
  storeScenario,
  redactScenario,
  labelScenario,
]

async function waitUntil(done: () => Promise<boolean>): Promise<void> {
  for (let waits = 0; waits < WAITS_MAX; waits += 1) {
    if (await done()) return
    await delay(10)
  }
  assert.fail('waited in vain')
}

/** Whether the request was cut off. */
export async function isInterrupted(act: () => Promise<void>): Promise<boolean> {
  try {
    await act()
    return false
  } catch (error) {
    if (error instanceof Interrupted) return true
    throw error
  }
}
