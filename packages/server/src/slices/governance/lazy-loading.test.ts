// What policies need is loaded with the first that needs it: a start does without.

import assert from 'node:assert/strict'
import { registerHooks } from 'node:module'
import { test } from 'node:test'

const loaded: string[] = []
registerHooks({
  load(url, context, next) {
    loaded.push(url)
    return next(url, context)
  },
})
// After the hook, which only sees what is loaded then.
const { startTestService } = await import('../../testing/harness.ts')

const ENGINE = '/re2js/'
const RECOGNISERS = '/pii/src/index.ts'
const isLoaded = (part: string) => loaded.some((url) => url.includes(part))

test('a start does without pattern engine and recognisers, which policies load', async (t) => {
  const service = await startTestService()
  t.after(() => service.stop())
  const { api_key: key } = await service.createTenant()
  const ask = async (path: string, body: object) => {
    const answer = await service.request('POST', `/v1${path}`, { key, body })
    assert.ok(answer.status < 300, answer.text)
    return answer.body
  }
  const evaluate = async (): Promise<string> => {
    const context = { query: 'card 4111 1111 1111 1111' }
    return (await ask('/governance/evaluate', { operation: 'custom.own', context })).verdict
  }
  const guard = (policy_type: string, config: object) =>
    ask('/governance/policies', { name: 'a', policy_type, config })

  await ask('/stores/default/write', { content: 'The kettle is on the second shelf.' })
  await evaluate()
  assert.ok(isLoaded('/slices/governance/gate.ts'))
  assert.deepEqual([isLoaded(ENGINE), isLoaded(RECOGNISERS)], [false, false])
  await guard('pii_guard', { patterns: ['[0-9]{9}'] })
  await evaluate()
  assert.deepEqual([isLoaded(ENGINE), isLoaded(RECOGNISERS)], [true, false])
  await guard('pii_guard', { entities: ['CREDIT_CARD'], check_fields: ['query'] })
  assert.equal(await evaluate(), 'denied')
  assert.ok(isLoaded(RECOGNISERS))
})
