// Random stores and budgets, in process and over HTTP: what breaks the promise of the budget.

import Type from 'typebox'
import {
  openInProcess,
  type PlainFact,
  type PlainRequest,
} from '../packages/server/src/slices/memory/testing/in-process-retrieval.ts'
import { below, seededRandom } from './data/random.ts'
import { readerOf } from './data/shape.ts'
import type { Service } from './process.ts'
import { randomFacts, randomRequest } from './random-stores.ts'
import { countO200k } from './tokens.ts'

/** Requests put to one random store. */
const REQUESTS_A_STORE = 50
const FACTS_MAX = 60
const HTTP_FACTS_MAX = 200

export interface BudgetRun {
  readonly requests: number
  readonly stores: number
  /** One line each; empty: the promise held. */
  readonly violations: readonly string[]
  /** Answers that spent nine tenths of their budget or more: the edge was reached. */
  readonly nearly_full: number
}

interface AnsweredRequest {
  readonly request: PlainRequest
  readonly contents: readonly string[]
  readonly tokens_used: number
}

/** Why an answer breaks the promise; null when it does not. */
export function violationOf({ request, contents, tokens_used }: AnsweredRequest): string | null {
  const counted = contents.reduce((sum, content) => sum + countO200k(content), 0)
  const { budget_tokens, top_k, query } = request
  const of = `for a budget of ${budget_tokens}, query ${JSON.stringify(query)}`
  if (counted > budget_tokens) return `${counted} tokens ${of}`
  if (counted !== tokens_used) return `${counted} tokens, said to be ${tokens_used}, ${of}`
  if (top_k !== null && contents.length > top_k)
    return `${contents.length} memories of ${top_k} ${of}`
  return null
}

class Tally {
  #requests = 0
  #stores = 0
  #nearlyFull = 0
  readonly #violations: string[] = []

  get requests(): number {
    return this.#requests
  }

  addStore(): void {
    this.#stores += 1
  }

  add(answered: AnsweredRequest): void {
    this.#requests += 1
    const { budget_tokens } = answered.request
    if (budget_tokens > 0 && answered.tokens_used >= 0.9 * budget_tokens) this.#nearlyFull += 1
    const violation = violationOf(answered)
    if (violation !== null) this.#violations.push(`store ${this.#stores}: ${violation}`)
  }

  result(): BudgetRun {
    return {
      requests: this.#requests,
      stores: this.#stores,
      violations: this.#violations,
      nearly_full: this.#nearlyFull,
    }
  }
}

/** Ranking and packing in this process; the tokens of what they return are counted again. */
export async function runInProcess(requests: number, seed: number): Promise<BudgetRun> {
  const random = seededRandom(seed)
  const tally = new Tally()
  while (tally.requests < requests) {
    const facts = randomFacts(random, FACTS_MAX)
    const store = await openInProcess(facts)
    tally.addStore()
    for (let i = 0; i < REQUESTS_A_STORE && tally.requests < requests; i += 1) {
      const request = randomRequest(random)
      const { packed, tokens_used } = store.retrieve(request)
      const contents = packed.map((at) => facts[at]?.content ?? '')
      tally.add({ request, contents, tokens_used })
    }
  }
  return tally.result()
}

const readCreated = readerOf(Type.Object({ store_id: Type.String() }))
const readRetrieved = readerOf(
  Type.Object({
    memories: Type.Array(Type.Object({ content: Type.String() })),
    tokens_used: Type.Integer(),
  }),
)

/** The same through the service, whose stores also change while they are asked. */
export async function runOverHttp(
  service: Service,
  requests: number,
  seed: number,
): Promise<BudgetRun> {
  const random = seededRandom(seed)
  const tally = new Tally()
  while (tally.requests < requests) {
    const { store_id } = readCreated((await service.post('/v1/stores', {})).body)
    tally.addStore()
    const write = async (facts: readonly PlainFact[]) => {
      const items = facts.map(({ content, metadata }) => ({ content, options: { metadata } }))
      await service.post(`/v1/stores/${store_id}/write_batch`, { items })
    }
    await write(randomFacts(random, HTTP_FACTS_MAX))
    for (let i = 0; i < REQUESTS_A_STORE && tally.requests < requests; i += 1) {
      if (below(random, 10) === 0) await write(randomFacts(random, 3))
      const request = randomRequest(random)
      const { body } = await service.post(`/v1/stores/${store_id}/retrieve`, request)
      const { memories, tokens_used } = readRetrieved(body)
      tally.add({ request, contents: memories.map(({ content }) => content), tokens_used })
    }
  }
  return tally.result()
}
