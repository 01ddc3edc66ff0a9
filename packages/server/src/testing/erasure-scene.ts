// A tenant with a store, and an agent that writes, decides and erases: the start of erasure tests.

import assert from 'node:assert/strict'
import { type Answer, startTestService, type TestOptions, type TestService } from './harness.ts'

export interface Scene {
  readonly service: TestService
  readonly tenant_id: string
  readonly api_key: string
  readonly store_id: string
  api(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>
  /** The ref of a new memory. */
  write(content: string, options?: Readonly<Record<string, unknown>>): Promise<number>
  supersede(old_ref: number, content: string): Promise<number>
  /** The id of a new decision that used the refs. */
  decide(decision: Readonly<Record<string, unknown>>): Promise<string>
  issue(fact_ref: number, more?: Readonly<Record<string, unknown>>): Promise<Answer>
  stop(options?: { keep?: boolean }): Promise<void>
}

/** The same tenant of a service that was stopped and started again on its directory. */
export interface Known {
  readonly tenant_id: string
  readonly api_key: string
  readonly store_id: string
}

export async function openScene(options: TestOptions = {}, known?: Known): Promise<Scene> {
  const service = await startTestService(options)
  const tenant = known ?? (await service.createTenant())
  const { tenant_id, api_key } = tenant
  const api: Scene['api'] = (method, path, body, headers) =>
    service.request(method, path, {
      key: api_key,
      ...(body === undefined ? {} : { body }),
      ...(headers === undefined ? {} : { headers }),
    })
  const ok = async (method: string, path: string, body: unknown) => {
    const answer = await api(method, path, body)
    assert.ok(answer.status < 300, `${path}: ${answer.status} ${answer.text}`)
    return answer.body
  }
  const store_id: string = known?.store_id ?? (await ok('POST', '/v1/stores', {})).store_id
  return {
    service,
    tenant_id,
    api_key,
    store_id,
    api,
    write: async (content, more = {}) =>
      (await ok('POST', `/v1/stores/${store_id}/write`, { content, options: more })).ref,
    supersede: async (old_ref, content) =>
      (await ok('POST', `/v1/stores/${store_id}/supersede`, { old_ref, content })).ref,
    decide: async (decision) =>
      (await ok('POST', '/v1/decisions/log', { store_id, model_id: 'model-a', ...decision }))
        .decision_id,
    issue: (fact_ref, more = {}) => api('POST', '/v1/erasure/issue', { fact_ref, ...more }),
    stop: (how) => service.stop(how),
  }
}
