// A service with tenants whose agents run steps, as a client drives them.

import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { readSavedDocuments, type Verdict, verifySavedDocument } from '@custos/proof'
import {
  type Answer,
  startTestService,
  type TestOptions,
  type TestService,
} from '../../../testing/harness.ts'

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

  /** Of the model `model-a`, unless told otherwise. */
  provider(base_url: string, more: Record<string, unknown> = {}): Promise<Answer['body']> {
    const provider = { provider: 'openai', model_id: 'model-a', base_url, api_key: 'sk-secret' }
    return this.ok('POST', '/llm/providers', { ...provider, ...more })
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

  /** As somebody without the service sees it. */
  async verify(run_id: string): Promise<Verdict> {
    const lines = await this.bundle(run_id)
    const text = lines.map((line) => JSON.stringify(line)).join('\n')
    const [document] = readSavedDocuments(text)
    assert.ok(document)
    return verifySavedDocument(document, { keys: await this.keys(), entry: undefined })
  }

  async keys(): Promise<Answer['body']> {
    return (await this.ok('GET', '/gcrumbs/public_key')).keys
  }

  policy(body: Record<string, unknown>): Promise<Answer['body']> {
    return this.ok('POST', '/governance/policies', { name: 'rule', ...body })
  }

  /** Once the run is in another state than those of a run under way. */
  async ended(run_id: string): Promise<Answer['body']> {
    return this.inState(run_id, (state) => !['running', 'waiting_hitl'].includes(state))
  }

  async inState(run_id: string, accept: (state: string) => boolean): Promise<Answer['body']> {
    const until = performance.now() + 30_000
    for (;;) {
      const run = await this.run(run_id)
      if (accept(run.state)) return run
      assert.ok(performance.now() < until, `the run is still ${run.state}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
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
export function openRunScene(options: TestOptions = {}): {
  readonly service: TestService
  tenant(): Promise<RunningTenant>
} {
  let service: TestService
  before(async () => {
    service = await startTestService(options)
  })
  after(() => service.stop())
  return {
    get service() {
      return service
    },
    tenant: () => RunningTenant.create(service),
  }
}
