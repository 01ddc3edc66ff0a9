// A service with two tenants, and runs of the suite against it.

import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { type ConformanceResult, GMP_CAPABILITIES, runConformance } from '@custos/conformance'
import {
  startTestService,
  type TestService,
} from '../../../../packages/server/src/testing/harness.ts'

/** What the service declares. */
export const SEVEN = GMP_CAPABILITIES.slice(0, 7)

/** Started and stopped with the tests of the file. */
export function openScene() {
  const keys = { own: '', other: '' }
  let service: TestService
  before(async () => {
    service = await startTestService()
    keys.own = (await service.createTenant('conformance')).api_key
    keys.other = (await service.createTenant('another')).api_key
  })
  after(() => service.stop())
  return {
    keys,
    /** Of the first tenant. */
    request: (method: string, path: string, body?: unknown) =>
      service.request(method, path, { body, key: keys.own }),
    run: (options: Partial<Parameters<typeof runConformance>[0]> = {}) =>
      runConformance({ url: service.url, api_key: keys.own, measure: false, ...options }),
    /** Without `default`, which every tenant has. */
    async storesOf(key: string): Promise<{ store_id: string; name: string }[]> {
      const { status, body } = await service.request('GET', '/v1/stores', { key })
      assert.equal(status, 200)
      return body.stores.filter(({ store_id }: { store_id: string }) => store_id !== 'default')
    },
    async restricted(body: object): Promise<string> {
      const answer = await service.request('POST', '/v1/keys', { body, key: keys.own })
      assert.equal(answer.status, 201, answer.text)
      return answer.body.api_key
    },
  }
}

export function by(result: ConformanceResult, capability: string) {
  const found = result.capabilities.find((c) => c.capability === capability)
  assert.ok(found, capability)
  return found
}
