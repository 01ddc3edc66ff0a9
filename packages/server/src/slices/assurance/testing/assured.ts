// A tenant with something in every place that a check looks at.

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import type { Answer, RequestOptions, TestService } from '../../../testing/harness.ts'

export class AssuredTenant {
  readonly service: TestService
  readonly tenant_id: string
  readonly key: string

  private constructor(service: TestService, made: { tenant_id: string; api_key: string }) {
    this.service = service
    this.tenant_id = made.tenant_id
    this.key = made.api_key
  }

  static async create(service: TestService): Promise<AssuredTenant> {
    return new AssuredTenant(service, await service.createTenant())
  }

  ask(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    return this.service.request(method, `/v1${path}`, { key: this.key, ...options })
  }

  async ok(method: string, path: string, body?: unknown): Promise<Answer['body']> {
    const answer = await this.ask(method, path, body === undefined ? {} : { body })
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.body
  }

  async refused(method: string, path: string, body?: unknown): Promise<string> {
    const answer = await this.ask(method, path, body === undefined ? {} : { body })
    assert.ok(answer.status >= 400 && answer.status < 500, answer.text)
    return answer.body.error
  }

  /** The run at its end, however long it takes. */
  async run(body: object = {}): Promise<Answer['body']> {
    let run = await this.ok('POST', '/assurance/run', body)
    while (run.status === 'running') {
      await delay(50)
      run = await this.ok('GET', `/assurance/runs/${run.run_id}`)
    }
    return run
  }

  /** Names of the checks that a run of all of them finds wanting. */
  async failing(): Promise<string[]> {
    const { checks_results } = await this.run()
    return Object.keys(checks_results).filter((name) => checks_results[name].status === 'fail')
  }

  /** Two memories, one of them erased with a certificate, a decision, a policy, a checkpoint. */
  async fill(): Promise<{ store_id: string; kept: number; erased: number; policy_id: string }> {
    const { store_id } = await this.ok('POST', '/stores', { name: 'Diary' })
    const write = async (content: string) =>
      (await this.ok('POST', `/stores/${store_id}/write`, { content })).ref
    const [kept, erased] = [await write('Ada lives in Kiel'), await write('Ben lives in Ulm')]
    await this.ok('POST', '/decisions/log', {
      store_id,
      model_id: 'm-1',
      query: 'Where does Ada live?',
      output: 'In Kiel',
      retrieved_refs: [kept],
      retrieved_scores: [1],
    })
    await this.ok('POST', '/erasure/issue', { fact_ref: erased })
    const config = { max_tokens_per_request: 4_000 }
    const policy = { name: 'Budget', policy_type: 'token_budget', config }
    const { policy_id } = await this.ok('POST', '/governance/policies', policy)
    await this.ok('POST', '/gcrumbs/roll')
    return { store_id, kept, erased, policy_id }
  }
}
