// What a program with a mistake is told: one sentence that says what to do, never a stack trace.

import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { custosApproval, custosGuard, custosMemory, custosTools } from '@custos/adapters/ai'
import { CustosChatHistory, CustosRetriever } from '@custos/adapters/langchain'
import { CustosStore } from '@custos/adapters/langgraph'
import { CustosMemoryStorage, custosRecall } from '@custos/adapters/mastra'
import { CustosSession } from '@custos/adapters/openai-agents'
import { Custos, CustosError } from '@custos/client'
import { startTestService, type TestService } from '../../packages/server/src/testing/harness.ts'

let service: TestService
let apiKey: string
/** Some other program that answers. */
let other: Server

before(async () => {
  service = await startTestService()
  apiKey = (await service.createTenant()).api_key
  other = createServer((request, response) => {
    response.statusCode = request.url?.includes('absent') ? 404 : 200
    response.end('<html>hello</html>')
  })
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
})
after(async () => {
  other.close()
  await service?.stop()
})

/** Calls as a program without types does, whose mistakes no compiler has seen. */
function untyped(...options: readonly unknown[]) {
  const custos: Custos = Reflect.construct(Custos, options)
  return {
    memoryOf: (...args: readonly unknown[]) => Reflect.apply(custos.memoryOf, custos, args),
    call: (verb: string, ...args: readonly unknown[]) =>
      Reflect.apply(Reflect.get(custos.memory, verb), custos.memory, args),
  }
}

const SAID: readonly [what: string, sentence: RegExp, act: () => unknown][] = [
  ['no options', /url must be an http or https address/, () => untyped()],
  ['an option of another client', /url must be an http/, () => untyped({ baseUrl: service.url })],
  ['no scheme', /such as http:\/\/127\.0\.0\.1:8420/, () => untyped({ url: '127.0.0.1:8420' })],
  [
    'half a character in an id',
    /^memory\.get_store: store_id is missing or not an id$/,
    () => untyped({ url: service.url, apiKey }).call('getStore', 'a\ud800'),
  ],
  ['an empty key', /^apiKey is empty/, () => untyped({ url: service.url, apiKey: '' })],
  [
    'another port',
    /no answer from http:\S+ \([^)]+\): check that the service runs there/,
    () => untyped({ url: 'http://127.0.0.1:9', apiKey, retries: 0 }).call('listStores'),
  ],
  [
    'https of a service without',
    /no answer from https:\S+ \(ERR_SSL_\w+\): check that/,
    () => {
      const url = service.url.replace('http:', 'https:')
      return untyped({ url, apiKey, retries: 0 }).call('listStores')
    },
  ],
  [
    'a path that is none',
    /No such route\. Check that `url` is the base address/,
    () => untyped({ url: `${service.url}/v1`, apiKey }).call('listStores'),
  ],
  [
    'another server',
    /did not answer like a Custos service: check `url`/,
    () => untyped({ url: urlOf(other), apiKey }).call('listStores'),
  ],
  [
    'another server, asked for lines',
    /did not answer like a Custos service: check `url`/,
    () => new Custos({ url: urlOf(other), apiKey }).memory.export('default').withResponse(),
  ],
  [
    'another server, asked for a file',
    /did not answer like a Custos service: check `url`/,
    () => new Custos({ url: urlOf(other), apiKey }).reports.download('one', { format: 'pdf' }),
  ],
  [
    'another server that has no such page',
    /did not answer like a Custos service: check `url`/,
    () => untyped({ url: `${urlOf(other)}/absent`, apiKey }).call('listStores'),
  ],
  [
    'no key',
    /401 .*Pass a key of a tenant/,
    () => untyped({ url: service.url }).call('listStores'),
  ],
  [
    'a key that is none',
    /401 .*Pass a key of a tenant of this service as `apiKey`/,
    () => untyped({ url: service.url, apiKey: 'cst_wrong' }).call('listStores'),
  ],
  [
    'a store that is misspelt',
    /No such store\. Create the store with memory\.createStore, or use 'default'/,
    () => untyped({ url: service.url, apiKey }).call('write', 'defualt', { content: 'x' }),
  ],
  [
    'another field',
    /body\.content: Field required; body\.text: there is no such property/,
    () => untyped({ url: service.url, apiKey }).call('write', 'default', { text: 'x' }),
  ],
  [
    'a text for a body',
    /body: must be object/,
    () => untyped({ url: service.url, apiKey }).call('write', 'default', 'x'),
  ],
  ['no store', /memoryOf needs a store/, () => untyped({ url: service.url, apiKey }).memoryOf()],
]

for (const [what, sentence, act] of SAID)
  test(`${what} is told in one sentence`, async () => {
    await assert.rejects(
      async () => act(),
      (error) => {
        assert.ok(error instanceof CustosError, String(error))
        assert.match(error.message, sentence)
        assert.doesNotMatch(error.message, /\n/)
        return true
      },
    )
  })

test('an adapter without a client says what to pass', () => {
  const constructors = { CustosChatHistory, CustosRetriever, CustosStore, CustosSession }
  const functions = { custosMemory, custosTools, custosApproval, custosRecall }
  const made: Record<string, () => unknown> = {
    custosGuard: () => Reflect.apply(custosGuard, null, [{}]),
  }
  for (const [name, make] of Object.entries({ ...constructors, CustosMemoryStorage }))
    made[name] = () => Reflect.construct(make, [])
  for (const [name, make] of Object.entries(functions))
    made[name] = () => Reflect.apply(make, null, [])
  for (const [name, make] of Object.entries(made))
    assert.throws(make, { name: 'TypeError', message: new RegExp(`^${name} needs a client: pass`) })
  const client = new Custos({ url: service.url, apiKey })
  assert.throws(() => Reflect.construct(CustosChatHistory, [{ client }]), /needs a sessionId/)
})

function urlOf(server: Server): string {
  // A TCP server has an address object, never a path.
  const { port } = server.address() as AddressInfo
  return `http://127.0.0.1:${port}`
}
