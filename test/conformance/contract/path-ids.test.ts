// A text in a path that can be no id is answered exactly like an id that nothing has.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { refusals } from '@custos/contract'
import type { Answer, TestService } from '../../../packages/server/src/testing/harness.ts'
import { exampleOf } from './examples.ts'
import { startContractService } from './testing/payments.ts'
import { operations } from './testing/table.ts'
import { assertRefusal, send } from './testing/tenant.ts'
import { buildWorld, GHOSTS, type World } from './testing/world.ts'

let service: TestService
let world: World

before(async () => {
  service = await startContractService()
  world = await buildWorld(service)
})

after(() => service.stop())

const MALFORMED = [
  'x',
  'F'.repeat(32),
  'g'.repeat(24),
  'two words',
  'a\0b',
  'a\nb',
  "' or 1=1 --",
  'é\u{1f600}',
  '__proto__',
  'a'.repeat(300),
  'b'.repeat(9_000),
]

/** An answer without what differs from one request to the next. */
const comparable = ({ status, text, headers }: Answer): unknown => ({
  status,
  text: text
    .replaceAll(/"request_id":"[^"]*"/g, '"request_id":""')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'),
  type: headers.get('content-type'),
})

const paramsOf = (params: unknown): [string, { type?: unknown }][] => {
  const { properties } = Object(params)
  return Object.entries(properties ?? {})
}

describe('an id in a path', () => {
  for (const operation of operations) {
    const texts = paramsOf(operation.params).filter(([, { type }]) => type === 'string')
    if (texts.length === 0) continue
    test(`${operation.id} answers a malformed one like an unknown one`, async () => {
      const sent = exampleOf(operation.id, world.ids)
      const ghosts = exampleOf(operation.id, GHOSTS)
      const keys = {
        tenant: [world.tenant.api_key],
        either: [world.tenant.api_key],
        operator: [service.operator_key],
        operator_or_self: [world.tenant.api_key, service.operator_key],
        public: [undefined],
      }[operation.access]
      for (const [name] of texts)
        for (const key of keys) {
          const ask = (value: string | number | undefined) =>
            send(
              service,
              operation.id,
              { ...sent, params: { ...sent.params, [name]: value ?? '' } },
              { key },
            )
          const unknown = await ask(ghosts.params?.[name])
          const code = unknown.body?.error
          if (operation.access !== 'public')
            assert.ok(code in refusals && unknown.status === 404, `${name}: ${unknown.text}`)
          for (const value of MALFORMED)
            assert.deepEqual(comparable(await ask(value)), comparable(unknown), `${name} ${value}`)
        }
    })
  }
})

describe('a number in a path', () => {
  for (const operation of operations) {
    const numbers = paramsOf(operation.params).filter(([, { type }]) => type === 'integer')
    for (const [name] of numbers)
      test(`${operation.id} refuses ${name} that is no integer`, async () => {
        const sent = exampleOf(operation.id, world.ids)
        for (const value of ['x', '1.5', '1e3', '-1', '\0', '9'.repeat(20)]) {
          const params = { ...sent.params, [name]: value }
          const answer = await world.tenant.ask(operation.id, { ...sent, params })
          assertRefusal(answer, 'validation', `${operation.id} ${name} ${value}`)
          assert.deepEqual(answer.body.detail[0].loc, ['path', name])
        }
      })
  }
})
