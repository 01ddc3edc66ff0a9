// Concurrent use of a service until it is killed; every answer is noted as a promise.

import assert from 'node:assert/strict'
import { type Answer, type Client, Interrupted } from './client.ts'
import type { KnownFact, Promises, Retry } from './promises.ts'
import type { Random } from './random.ts'

const OPEN_MAX = 60

export interface LoadParts {
  readonly client: Client
  readonly store_id: string
  readonly promises: Promises
  readonly random: Random
  /** Part of every content and key, so that rounds never repeat one another. */
  readonly round: number
  /** Memories that one of the workers erases, one after another, before it does anything else. */
  readonly doomed?: readonly KnownFact[]
}

/** Runs workers until the service is gone; resolves when all of them have noticed. */
export async function runLoad(parts: LoadParts, workers: number): Promise<void> {
  await Promise.all(Array.from({ length: workers }, (_, i) => new Worker(parts, i).run()))
}

/** One client's stream of requests; it supersedes and erases only what it wrote itself. */
class Worker {
  readonly #parts: LoadParts
  readonly #name: string
  #count = 0
  /** Open heads of its own. */
  readonly #open: KnownFact[] = []
  readonly #decided: string[] = []
  readonly #doomed: KnownFact[]

  constructor(parts: LoadParts, index: number) {
    this.#parts = parts
    this.#doomed = index === 0 ? [...(parts.doomed ?? [])] : []
    this.#name = `${parts.round}x${index}`
  }

  async run(): Promise<void> {
    const { random } = this.#parts
    try {
      while (this.#doomed.length > 0) await this.#erase(this.#doomed)
      for (;;) {
        const dice = random.int(100)
        if (dice < 30) await this.#write()
        else if (dice < 45) await this.#writeBatch()
        else if (dice < 60) await this.#supersede()
        else if (dice < 75) await this.#decide()
        else if (dice < 90) await this.#erase()
        else if (dice < 93) await this.#redact()
        else if (dice < 94) await this.#deleteStore()
        else await this.#roll()
      }
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error
    }
  }

  #content(): string {
    this.#count += 1
    return `The shelf zk${this.#name}${String(this.#count).padStart(6, '0')}q holds blue boxes`
  }

  #note(ref: number, content: string, store_id = this.#parts.store_id): KnownFact {
    const fact = { ref, store_id, content }
    const { facts } = this.#parts.promises
    assert.ok(!facts.has(ref), `ref ${ref} was given out twice`)
    facts.set(ref, fact)
    return fact
  }

  #keep(fact: KnownFact): void {
    this.#open.push(fact)
    if (this.#open.length > OPEN_MAX) this.#open.shift()
  }

  #take(facts = this.#open): KnownFact | undefined {
    const { random } = this.#parts
    const [taken] = facts.splice(random.int(Math.max(1, facts.length)), 1)
    return taken
  }

  /** Sends with an idempotency key; cut off, it is to be asked again after the restart. */
  async #keyed(path: string, body: unknown, contents: readonly string[]): Promise<Answer['body']> {
    const { client, promises } = this.#parts
    this.#count += 1
    const retry: Retry = { path, key: `key-${this.#name}-${this.#count}`, body, contents }
    try {
      return await client.ok('POST', path, { body, headers: { 'idempotency-key': retry.key } })
    } catch (error) {
      if (error instanceof Interrupted) promises.retries.push(retry)
      throw error
    }
  }

  async #write(): Promise<void> {
    const { store_id, promises } = this.#parts
    const content = this.#content()
    const { ref, log_seq } = await this.#keyed(`/v1/stores/${store_id}/write`, { content }, [
      content,
    ])
    this.#keep(this.#note(ref, content))
    const payload = { count: 1, first_ref: ref, last_ref: ref }
    promises.claim({ seq: log_seq, event_type: 'memory.written', payload })
  }

  async #writeBatch(): Promise<void> {
    const { store_id, promises } = this.#parts
    const contents = Array.from({ length: 5 }, () => this.#content())
    const items = contents.map((content) => ({ content }))
    const path = `/v1/stores/${store_id}/write_batch`
    const { refs, log_seq } = await this.#keyed(path, { items }, contents)
    contents.forEach((content, i) => {
      this.#keep(this.#note(refs[i], content))
    })
    const payload = { count: 5, first_ref: refs[0], last_ref: refs.at(-1) }
    promises.claim({ seq: log_seq, event_type: 'memory.written', payload })
  }

  async #supersede(): Promise<void> {
    const { store_id, promises } = this.#parts
    const old = this.#take()
    if (!old) return
    const content = this.#content()
    const body = { old_ref: old.ref, content }
    const answer = await this.#keyed(`/v1/stores/${store_id}/supersede`, body, [content])
    promises.superseded.set(old.ref, answer.ref)
    this.#keep(this.#note(answer.ref, content))
    const payload = { ref: answer.ref, old_ref: old.ref }
    promises.claim({ seq: answer.log_seq, event_type: 'memory.superseded', payload })
  }

  async #decide(): Promise<void> {
    const { store_id, promises, random } = this.#parts
    const used = [random.pick(this.#open), random.pick(this.#open)].filter((f) => f !== undefined)
    const facts = [...new Map(used.map((fact) => [fact.ref, fact])).values()]
    const output = this.#content()
    const body = {
      store_id,
      model_id: 'model-a',
      query: `Which shelf? ${facts[0]?.content ?? ''}`,
      output,
      retrieved_refs: facts.map(({ ref }) => ref),
      retrieved_contents: facts.map(({ content }) => content),
    }
    const { decision_id, log_seq } = await this.#keyed('/v1/decisions/log', body, [])
    const refs = facts.map(({ ref }) => ref)
    promises.decisions.set(decision_id, { decision_id, refs, output })
    this.#decided.push(decision_id)
    const payload = { refs: refs.length }
    promises.claim({ seq: log_seq, event_type: 'decision.logged', subject: decision_id, payload })
  }

  async #erase(facts = this.#open): Promise<void> {
    const { client, promises, random } = this.#parts
    const fact = this.#take(facts)
    if (!fact) return
    const { ref, store_id } = fact
    promises.doubtfulErasures.add(ref)
    if (random.int(2) === 0) {
      const path = `/v1/stores/${store_id}/delete`
      const { erasure_certificate_id } = await client.ok('POST', path, { body: { ref } })
      promises.erased.set(ref, erasure_certificate_id)
    } else {
      const body = { fact_ref: ref }
      const issued = await client.ok('POST', '/v1/erasure/issue', { body })
      assert.equal(issued.deleted, true)
      promises.erased.set(ref, issued.certificate_id)
      const { log_seq: seq, certificate_id: subject } = issued
      promises.claim({ seq, event_type: 'memory.erased', subject, payload: { ref } })
    }
    promises.doubtfulErasures.delete(ref)
  }

  async #redact(): Promise<void> {
    const { client, promises } = this.#parts
    const decision_id = this.#decided.pop()
    if (decision_id === undefined) return
    promises.doubtfulRedactions.add(decision_id)
    const issued = await client.ok('POST', `/v1/decisions/${decision_id}/redact`, { body: {} })
    promises.redacted.set(decision_id, issued.certificate_id)
    promises.doubtfulRedactions.delete(decision_id)
  }

  async #deleteStore(): Promise<void> {
    const { client, promises } = this.#parts
    const { store_id } = await client.ok('POST', '/v1/stores', { body: { name: this.#name } })
    const contents = Array.from({ length: 4 }, () => this.#content())
    const items = contents.map((content) => ({ content }))
    const path = `/v1/stores/${store_id}/write_batch`
    const { refs } = await client.ok('POST', path, { body: { items } })
    contents.forEach((content, i) => {
      this.#note(refs[i], content, store_id)
    })
    promises.doubtfulStores.add(store_id)
    await client.ok('DELETE', `/v1/stores/${store_id}`)
    promises.doubtfulStores.delete(store_id)
    promises.deletedStores.add(store_id)
  }

  async #roll(): Promise<void> {
    const { client, promises } = this.#parts
    const answer = await client.ask('POST', '/v1/gcrumbs/roll', { body: {} })
    assert.equal(answer.status, 200, answer.text)
    promises.checkpoint(answer.body)
  }
}
