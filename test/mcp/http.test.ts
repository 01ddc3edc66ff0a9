// `/mcp` of the service, with clients of both protocol eras.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as HttpV2,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import * as v1Http from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { startTestService, type TestService } from '../../packages/server/src/testing/harness.ts'
import { type AnyClient, called, INFO, namesOf } from './testing/calls.ts'

let service: TestService
let tenant: { tenant_id: string; api_key: string }

before(async () => {
  service = await startTestService()
  tenant = await service.createTenant()
})
after(() => service.stop())

const address = (query = '') => new URL(`${service.url}/mcp${query}`)
const withKey = (key: string) => ({ requestInit: { headers: { authorization: `Bearer ${key}` } } })

interface ClientWishes {
  readonly query?: string
  readonly key?: string
  readonly answer?: boolean
}

async function openV1({ query, key = tenant.api_key }: ClientWishes = {}): Promise<AnyClient> {
  const client = new ClientV1(INFO, { capabilities: {} })
  await client.connect(new v1Http.StreamableHTTPClientTransport(address(query), withKey(key)))
  return client
}

async function openV2(wanted: ClientWishes = {}, mode?: 'auto') {
  const { query, key = tenant.api_key, answer } = wanted
  const capabilities = answer === undefined ? {} : { elicitation: { form: {} } }
  const client = new ClientV2(INFO, {
    capabilities,
    ...(mode ? { versionNegotiation: { mode } } : {}),
  })
  if (answer !== undefined)
    client.setRequestHandler('elicitation/create', async () =>
      answer ? { action: 'accept', content: { confirm: true } } : { action: 'cancel' },
    )
  await client.connect(new HttpV2(address(query), withKey(key)))
  return client
}

for (const [era, open] of [
  ['a v1 client', openV1],
  ['a v2 client', (wanted?: ClientWishes) => openV2(wanted)],
  ['a v2 client that negotiates', (wanted?: ClientWishes) => openV2(wanted, 'auto')],
] as const)
  describe(era, () => {
    test('lists, saves, finds and forgets in two calls over HTTP', async () => {
      const client = await open()
      try {
        assert.deepEqual(await namesOf(client), [
          'memory_search',
          'memory_save',
          'memory_get',
          'memory_forget',
        ])
        const content = `${era} parks the bicycle in the cellar`
        const saved = await called(client, 'memory_save', { content })
        assert.equal(saved.failed, false, saved.text)
        const { ref } = saved.data
        const found = await called(client, 'memory_search', { query: 'where is the bicycle' })
        assert.ok(found.data.memories.some((one: { ref: number }) => one.ref === ref))
        const asked = await called(client, 'memory_forget', { ref })
        assert.equal(asked.data.outcome, 'not_confirmed')
        const { confirm_token } = asked.data
        const gone = await called(client, 'memory_forget', { ref, confirm_token })
        assert.equal(gone.data.outcome, 'erased', gone.text)
        const kept = await service.request('GET', `/v1/stores/default/memories/${ref}`, {
          key: tenant.api_key,
        })
        assert.equal(kept.status, 404)
      } finally {
        await client.close()
      }
    })
  })

test('a person decides by a form over HTTP, and one who cancels keeps the memory', async () => {
  for (const answer of [false, true]) {
    const client = await openV2({ answer }, 'auto')
    try {
      const { data } = await called(client, 'memory_save', { content: `form over HTTP ${answer}` })
      const gone = await called(client, 'memory_forget', { ref: data.ref })
      assert.equal(gone.data.outcome, answer ? 'erased' : 'not_confirmed', gone.text)
      const got = await called(client, 'memory_get', { ref: data.ref })
      assert.equal(got.failed, answer)
    } finally {
      await client.close()
    }
  }
})

test('a confirmation of one tenant does not confirm for another', async () => {
  const other = await service.createTenant('other')
  const [mine, theirs] = [await openV2(), await openV2({ key: other.api_key })]
  const first = await called(mine, 'memory_save', { content: 'the same words' })
  const second = await called(theirs, 'memory_save', { content: 'the same words' })
  const { confirm_token } = (await called(mine, 'memory_forget', { ref: first.data.ref })).data
  const crossed = await called(theirs, 'memory_forget', { ref: second.data.ref, confirm_token })
  assert.equal(crossed.failed, true, crossed.text)
  const unknown = await called(theirs, 'memory_get', { ref: first.data.ref })
  if (first.data.ref !== second.data.ref) assert.equal(unknown.failed, true)
  await mine.close()
  await theirs.close()
})

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
const ACCEPT = { accept: 'application/json, text/event-stream' }

test('without a valid key /mcp answers 401 and says which credential it takes', async () => {
  for (const key of ['wrong', undefined]) {
    const { status, headers, body } = await service.request('POST', '/mcp', {
      body: LIST,
      headers: ACCEPT,
      ...(key ? { key } : {}),
    })
    assert.equal(status, 401)
    assert.match(headers.get('www-authenticate') ?? '', /^Bearer /)
    assert.equal(body.error, 'unauthenticated')
  }
  await assert.rejects(openV2({ key: 'wrong' }))
})

test('an operator, another method, media type or option is refused in words', async () => {
  const post = (path: string, options = {}) =>
    service.request('POST', path, { key: tenant.api_key, body: LIST, headers: ACCEPT, ...options })
  assert.equal((await post('/mcp', { key: service.operator_key })).body.error, 'tenant_required')
  for (const method of ['GET', 'DELETE']) {
    const reply = await service.request(method, '/mcp', { key: tenant.api_key })
    assert.equal(reply.status, 405)
    assert.equal(reply.headers.get('allow'), 'POST')
  }
  const plain = { ...ACCEPT, 'content-type': 'text/plain' }
  assert.equal((await post('/mcp', { headers: plain })).status, 415)
  for (const query of ['?tools=none', '?stores=x', '?store=', '?store=a&store=b'])
    assert.equal((await post(`/mcp${query}`)).status, 422, query)
  const differs = { ...ACCEPT, 'x-custos-store': 'a' }
  assert.equal((await post('/mcp?store=b', { headers: differs })).status, 422)
})

test('a request without its members has invalid parameters, and each is named', async () => {
  const ask = async (method: string, params?: object) => {
    const response = await fetch(address(), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${tenant.api_key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const { error } = JSON.parse(/^data: (.*)$/m.exec(await response.text())?.[1] ?? '')
    return [error.code, error.message]
  }
  const [code, message] = await ask('initialize', { capabilities: {} })
  assert.equal(code, -32_602)
  assert.match(message, /^Invalid params: params\.protocolVersion: .*; params\.clientInfo: /)
  for (const [method, params] of [
    ['initialize', undefined],
    ['resources/read', {}],
    ['prompts/get', {}],
    ['tools/list', { cursor: 7 }],
  ] as const) {
    const [code, message] = await ask(method, params)
    assert.equal(code, -32_602, method)
    assert.match(message, /^Invalid params: params/, method)
  }
  assert.deepEqual(await ask('no/such'), [-32_601, 'Method not found'])
})

test('a store that is missing, or not of this key, is one sentence with its code', async () => {
  const other = await service.createTenant('owner')
  await service.request('POST', '/v1/stores', {
    key: other.api_key,
    body: { store_id: 'private' },
  })
  for (const store of ['private', 'nowhere']) {
    const client = await openV2({ query: `?store=${store}` })
    const found = Object(
      await client.callTool({ name: 'memory_search', arguments: { query: 'anything' } }),
    )
    assert.equal(found.isError, true)
    assert.equal(found._meta['custos/error'].code, 'store_not_found')
    assert.equal(found._meta['custos/error'].status, 404)
    assert.match(found.content[0].text, /^No such store\.$/)
    await client.close()
  }
})

test('an argument that the service does not take is one sentence about it', async () => {
  const client = await openV2()
  const { failed, text } = await called(client, 'memory_search', { query: 'x'.repeat(300_000) })
  assert.equal(failed, true)
  assert.match(text, /^body\.query: [^\n]+ has more than 262144 bytes\.$/)
  await client.close()
})

test('a key of one namespace reads and writes it, and is offered no other', async () => {
  const made = await service.request('POST', '/v1/keys', {
    key: tenant.api_key,
    body: { scopes: ['memory:read', 'memory:write'], namespace: 'alice' },
  })
  assert.equal(made.status, 201, made.text)
  const whole = await openV2()
  await called(whole, 'memory_save', { content: 'The vault code is in the root' })
  const alice = await openV2({ key: made.body.api_key })
  const saved = await called(alice, 'memory_save', { content: 'Alice has the vault code too' })
  assert.equal(saved.failed, false, saved.text)
  const { data } = await called(alice, 'memory_search', { query: 'vault code' })
  assert.deepEqual(
    data.memories.map((one: { ref: number }) => one.ref),
    [saved.data.ref],
  )
  const { tools } = await alice.listTools()
  for (const { name, inputSchema } of tools)
    assert.ok(!('namespace' in (inputSchema.properties ?? {})), name)
  const offered = (await whole.listTools()).tools.find(({ name }) => name === 'memory_search')
  assert.ok('namespace' in (offered?.inputSchema.properties ?? {}))
  await alice.close()
  await whole.close()
})
