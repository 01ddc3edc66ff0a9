// A service with tenants whose agents run steps, as a client drives them.

import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { type Answer, startTestService, type TestService } from '../../../testing/harness.ts'

export class RunningTenant {
  readonly service: TestService
  readonly tenant_id: string
  readonly api_key: string
  agent_id = ''

  constructor(service: TestService, known: { tenant_id: string; api_key: string }) {
    this.service = service
    this.tenant_id = known.tenant_id
    this.api_key = known.api_key
  }

  static async create(service: TestService): Promise<RunningTenant> {
    const tenant = new RunningTenant(service, await service.createTenant())
    await tenant.ok('POST', '/stores', { store_id: 'notes' })
    const agent = { name: 'researcher', model_id: 'model-a', memory_stores: ['notes'] }
    tenant.agent_id = (await tenant.ok('POST', '/orchestrator/agents', agent)).agent_id
    return tenant
  }

  /** Paths begin behind `/v1`. */
  ask(
    method: string,
    path: string,
    body?: unknown,
    options: { key?: string; idempotency?: string } = {},
  ): Promise<Answer> {
    return this.service.request(method, `/v1${path}`, {
      key: options.key ?? this.api_key,
      ...(options.idempotency && { headers: { 'idempotency-key': options.idempotency } }),
      ...(body === undefined ? {} : { body }),
    })
  }

  async ok(method: string, path: string, body?: unknown): Promise<Answer['body']> {
    const answer = await this.ask(method, path, body)
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.body
  }

  async remember(content: string): Promise<number> {
    return (await this.ok('POST', '/stores/notes/write', { content })).ref
  }

  async start(more: Record<string, unknown> = {}): Promise<string> {
    const body = { agent_id: this.agent_id, ...more }
    return (await this.ok('POST', '/orchestrator/runs', body)).run_id
  }

  begin(run_id: string, body: Record<string, unknown>): Promise<Answer> {
    return this.ask('POST', `/orchestrator/runs/${run_id}/steps`, body)
  }

  async permitted(run_id: string, body: Record<string, unknown>): Promise<Answer['body']> {
    return this.ok('POST', `/orchestrator/runs/${run_id}/steps`, body)
  }

  step(run_id: string, step_id: string): Promise<Answer['body']> {
    return this.ok('GET', `/orchestrator/runs/${run_id}/steps/${step_id}`)
  }

  complete(run_id: string, step_id: string, more: Record<string, unknown> = {}): Promise<Answer> {
    const body = { output: 'an answer', tokens_in: 10, tokens_out: 5, ...more }
    return this.ask('POST', `/orchestrator/runs/${run_id}/steps/${step_id}/complete`, body)
  }

  call(run_id: string, step_id: string, body: Record<string, unknown>): Promise<Answer> {
    return this.ask('POST', `/orchestrator/runs/${run_id}/steps/${step_id}/calls`, body)
  }

  run(run_id: string): Promise<Answer['body']> {
    return this.ok('GET', `/orchestrator/runs/${run_id}`)
  }

  async bundle(run_id: string): Promise<Answer['body'][]> {
    const answer = await this.ask('GET', `/orchestrator/runs/${run_id}/bundle`)
    assert.equal(answer.status, 200, answer.text)
    return answer.text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  }

  async keys(): Promise<Answer['body']> {
    return (await this.ok('GET', '/gcrumbs/public_key')).keys
  }

  policy(body: Record<string, unknown>): Promise<Answer['body']> {
    return this.ok('POST', '/governance/policies', { name: 'rule', ...body })
  }

  /** Types of the log's entries, oldest first. */
  async events(): Promise<string[]> {
    const { breadcrumbs } = await this.ok('GET', '/gcrumbs/breadcrumbs?limit=1000')
    return breadcrumbs
      .toSorted((a: { seq: number }, b: { seq: number }) => a.seq - b.seq)
      .map(({ event_type }: { event_type: string }) => event_type)
  }
}

/** One service for all tests of the file; to be called where its tests are declared. */
export function openRunScene(): {
  readonly service: TestService
  tenant(): Promise<RunningTenant>
} {
  let service: TestService
  before(async () => {
    service = await startTestService()
  })
  after(() => service.stop())
  return {
    get service() {
      return service
    },
    tenant: () => RunningTenant.create(service),
  }
}
