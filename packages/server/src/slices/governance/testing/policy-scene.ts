// A service, and for each test a tenant of its own that makes policies and is held to them.

import assert from 'node:assert/strict'
import { after, before, beforeEach } from 'node:test'
import { type Answer, startTestService, type TestService } from '../../../testing/harness.ts'

/** The store every tenant has. */
export const STORE = '/stores/default'

type Headers = Readonly<Record<string, string>>

export interface PolicyScene {
  readonly service: TestService
  readonly tenant_id: string
  /** As the tenant; paths begin behind `/v1`. */
  ask(method: string, path: string, body?: unknown, headers?: Headers): Promise<Answer>
  /** The body of an answer that is no refusal. */
  ok(method: string, path: string, body?: unknown): Promise<Answer['body']>
  /** The id of a new policy. */
  policy(policy_type: string, config: object, more?: object): Promise<string>
  evaluate(request: object, headers?: Headers): Promise<Answer['body']>
  importLines(lines: readonly object[]): Promise<Answer>
}

/** One service for all tests of the file; to be called where its tests are declared. */
export function openPolicyScene(): PolicyScene {
  let service: TestService
  let tenant: { tenant_id: string; api_key: string }
  before(async () => {
    service = await startTestService()
  })
  beforeEach(async () => {
    tenant = await service.createTenant()
  })
  after(() => service.stop())

  const ask: PolicyScene['ask'] = (method, path, body, headers = {}) =>
    service.request(method, `/v1${path}`, {
      key: tenant.api_key,
      headers,
      ...(body === undefined ? {} : { body }),
    })
  return {
    get service() {
      return service
    },
    get tenant_id() {
      return tenant.tenant_id
    },
    ask,
    async ok(method, path, body) {
      const answer = await ask(method, path, body)
      assert.ok(answer.status < 300, answer.text)
      return answer.body
    },
    async policy(policy_type, config, more = {}) {
      const body = { name: `a ${policy_type}`, policy_type, config, ...more }
      const made = await ask('POST', '/governance/policies', body)
      assert.equal(made.status, 200, made.text)
      return made.body.policy_id
    },
    async evaluate(request, headers) {
      const { status, body, text } = await ask('POST', '/governance/evaluate', request, headers)
      assert.equal(status, 200, text)
      return body
    },
    importLines: (lines) =>
      service.request('POST', `/v1${STORE}/import`, {
        key: tenant.api_key,
        raw: lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
        headers: { 'content-type': 'application/x-ndjson' },
      }),
  }
}
