// A tenant whose agents decide and are judged, over HTTP.

import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { type Answer, startTestService, type TestService } from '../../../testing/harness.ts'

type Body = Answer['body']

export interface Scene {
  readonly service: TestService
  /** A tenant of its own. */
  tenant(): Promise<Party>
}

/** A tenant, through one of its keys. */
export class Party {
  readonly service: TestService
  readonly tenant_id: string
  readonly key: string

  constructor(service: TestService, known: { tenant_id: string; api_key: string }) {
    this.service = service
    this.tenant_id = known.tenant_id
    this.key = known.api_key
  }

  ask(method: string, path: string, body?: unknown, headers = {}): Promise<Answer> {
    const sent = { key: this.key, headers, ...(body === undefined ? {} : { body }) }
    return this.service.request(method, `/v1${path}`, sent)
  }

  async ok(method: string, path: string, body?: unknown): Promise<Body> {
    const answer = await this.ask(method, path, body)
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.body
  }

  /** The code of the refusal. */
  async refused(method: string, path: string, body?: unknown): Promise<[number, string]> {
    const answer = await this.ask(method, path, body)
    assert.ok(answer.status >= 400, `${method} ${path}: ${answer.status} ${answer.text}`)
    return [answer.status, answer.body.error]
  }

  async withKey(scopes: readonly string[]): Promise<Party> {
    const { api_key } = await this.ok('POST', '/keys', { class: 'service', scopes })
    return new Party(this.service, { tenant_id: this.tenant_id, api_key })
  }

  decide(agent_handle: string, invoice_id: string | null, more = {}): Promise<Body> {
    const body = { decision: 'certify', agent_handle, invoice_id, ...more }
    return this.ok('POST', '/governed/decisions', body)
  }

  outcome(invoice_ref: string, outcome: string, more = {}): Promise<Body> {
    return this.ok('POST', '/governed/outcomes', { invoice_ref, outcome, ...more })
  }

  review(invoice_ref: string, reviewer_handle: string, rating: number, more = {}): Promise<Body> {
    const body = { invoice_ref, reviewer_handle, rating, ...more }
    return this.ok('POST', '/governed/reviews', body)
  }

  score(agent_handle: string, query = ''): Promise<Body> {
    return this.ok('GET', `/cgr/scores/${encodeURIComponent(agent_handle)}${query}`)
  }

  /** Certifies and reports the outcomes, one referent each. */
  async earn(agent_handle: string, outcomes: readonly string[], more = {}): Promise<void> {
    for (const [at, outcome] of outcomes.entries()) {
      await this.decide(agent_handle, `${agent_handle} ${at}`, more)
      await this.outcome(`${agent_handle} ${at}`, outcome)
    }
  }

  /** A reviewer whose rating of `count` referents was compared with what became of them. */
  async observe(reviewer: string, count: number, rating: number): Promise<void> {
    for (let at = 0; at < count; at += 1) {
      await this.review(`of ${reviewer} ${at}`, reviewer, rating)
      await this.outcome(`of ${reviewer} ${at}`, 'paid')
    }
  }
}

export function openScene(): Scene {
  let service: TestService | undefined
  before(async () => {
    service = await startTestService()
  })
  after(() => service?.stop())
  const started = (): TestService => {
    assert.ok(service)
    return service
  }
  return {
    get service() {
      return started()
    },
    tenant: async () => new Party(started(), await started().createTenant()),
  }
}
