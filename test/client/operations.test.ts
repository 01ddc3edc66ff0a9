// Every operation of the contract through the client, against a running service.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Custos } from '@custos/client'
import type { OperationSpec } from '@custos/contract'
import type { TestService } from '../../packages/server/src/testing/harness.ts'
import { casesOf } from '../../packages/server/src/testing/sweep.ts'
import { exampleOf, needsOf } from '../conformance/contract/examples.ts'
import { CONSUMING } from '../conformance/contract/testing/consuming.ts'
import { startContractService } from '../conformance/contract/testing/payments.ts'
import { operations, type Sent } from '../conformance/contract/testing/table.ts'
import { buildWorld, type World } from '../conformance/contract/testing/world.ts'
import { runOnWebGlobals } from './testing/browser.ts'

let service: TestService
let shared: World

before(async () => {
  service = await startContractService()
  shared = await buildWorld(service)
})

after(() => service.stop())

const camel = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

/** The arguments of the method, in the order that the client documents. */
function argumentsOf(operation: OperationSpec, { params = {}, query, body, raw, headers }: Sent) {
  const path = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => params[name])
  const sends = operation.body !== undefined || operation.raw_body === true
  const asks = Object.keys(Object(Object(operation.query).properties)).length > 0
  return [
    ...path,
    ...(sends ? [raw ?? body] : []),
    ...(asks ? [query] : []),
    { headers: { ...headers } },
  ]
}

/** What the client returns for the operation: the data, or what could be read of a stream. */
async function callByMethod(custos: Custos, operation: OperationSpec, sent: Sent) {
  const [group = '', verb = ''] = operation.id.split('.')
  const methods: unknown = Reflect.get(custos, camel(group))
  const method: unknown = Reflect.get(Object(methods), camel(verb))
  assert.ok(typeof method === 'function', `${operation.id} has no method`)
  const result: unknown = method(...argumentsOf(operation, sent))
  if (!isStream(result)) return result
  const read: unknown[] = []
  for await (const item of result) {
    read.push(item)
    if (operation.reply_type === 'text/event-stream') break
  }
  return read
}

const isStream = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value

async function callExample(operation: OperationSpec, newClient: typeof newCustos): Promise<void> {
  const consumes = CONSUMING.has(operation.id)
  const own = consumes ? await buildWorld(service, needsOf(operation.id)) : shared
  const { tenant, ids } = own
  const apiKey = operation.access.startsWith('operator') ? service.operator_key : tenant.api_key
  const custos = newClient({ url: service.url, apiKey })
  const result = await callByMethod(custos, operation, exampleOf(operation.id, ids))
  assert.ok(result !== undefined && result !== null, operation.id)
  if (Array.isArray(result) && operation.reply_type !== undefined)
    assert.ok(result.length > 0, `${operation.id} streamed nothing`)
}

const newCustos = (options: { url: string; apiKey: string }): Custos => new Custos(options)

// The others lead a browser elsewhere.
const called = operations.filter(({ status }) => status !== 302)

describe('every operation can be called by its method', () => {
  for (const operation of called) test(operation.id, () => callExample(operation, newCustos))
})

describe('bundled, with web globals alone, operations can be called by their methods', () => {
  let bundled: typeof newCustos
  before(async () => {
    // The calls above have used up what the first one had.
    shared = await buildWorld(service)
    const program = `import { Custos } from '@custos/client'
      globalThis.newCustos = (options) => new Custos(options)`
    bundled = (await runOnWebGlobals(program))['newCustos']
  })
  for (const operation of casesOf(called, 24))
    test(operation.id, () => callExample(operation, bundled))
})
