// The OpenAPI document, the explorer's files and the edges of reading bodies.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import * as contract from '@custos/contract'
import fc from 'fast-check'
import { Refusal } from '../platform/refusal.ts'
import { compileDefaults } from './defaults.ts'
import { parseJsonBody } from './json-body.ts'
import { buildOpenapi } from './openapi.ts'
import { send, startTestServer, type TestServer } from './testing/edge-server.ts'

let service: TestServer

before(async () => {
  service = await startTestServer()
})

after(() => service.stop())

/** Every operation of the contract, whichever group it is in. */
function allOperations(): contract.OperationSpec[] {
  return Object.values(contract).flatMap((group) => {
    if (typeof group !== 'object' || group === null) return []
    return Object.values(group).filter(isOperation)
  })
}

const isOperation = (value: unknown): value is contract.OperationSpec =>
  typeof value === 'object' && value !== null && 'id' in value && 'refuses' in value

const operations = allOperations()
const document = JSON.parse(JSON.stringify(buildOpenapi(operations, '1.2.3')))

interface Described {
  operationId: string
  responses: Record<string, { description?: string; content?: object }>
  parameters?: { name: string; in: string; required: boolean; schema: object }[]
  security: object[]
}

function described(): [path: string, method: string, operation: Described][] {
  return Object.entries(document.paths as Record<string, Record<string, Described>>).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, operation]): [string, string, Described] => [
        path,
        method,
        operation,
      ]),
  )
}

test('the document has the members OpenAPI 3.1 requires', () => {
  assert.equal(document.openapi, '3.1.0')
  assert.equal(typeof document.info.title, 'string')
  assert.equal(document.info.version, '1.2.3')
  assert.ok(operations.length > 10)
  assert.equal(described().length, operations.length)
})

test('ids are unique, path parameters are declared and required, responses described', () => {
  const ids = described().map(([, , { operationId }]) => operationId)
  assert.equal(new Set(ids).size, ids.length)
  for (const [path, method, operation] of described()) {
    const at = `${method} ${path}`
    const inPath = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path')
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    assert.deepEqual(inPath.map(({ name }) => name).sort(), named.sort(), at)
    assert.ok(
      inPath.every(({ required }) => required),
      at,
    )
    const parameters = (operation.parameters ?? []).map(({ name, in: where }) => `${where} ${name}`)
    assert.equal(new Set(parameters).size, parameters.length, at)
    for (const [status, response] of Object.entries(operation.responses)) {
      assert.match(status, /^[1-5]\d\d$/, at)
      assert.equal(typeof response.description, 'string', at)
    }
  }
})

test('every reference resolves and every security scheme is declared', () => {
  const text = JSON.stringify(document)
  for (const [, name] of text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g))
    assert.ok(document.components.schemas[name ?? ''], name)
  for (const [, , { security }] of described())
    for (const scheme of security.flatMap(Object.keys))
      assert.ok(document.components.securitySchemes[scheme], scheme)
})

test('each operation says who may call it and how it refuses', () => {
  for (const operation of operations) {
    const shown = document.paths[operation.path][operation.method.toLowerCase()]
    assert.equal(shown['x-access'], operation.access)
    assert.equal(shown['x-scope'], operation.scope)
    for (const code of operation.refuses) {
      assert.ok(shown['x-refusals'].includes(code), `${operation.id} ${code}`)
      assert.ok(shown.responses[contract.refusals[code].status])
    }
    assert.equal(shown.security.length === 0, operation.access === 'public')
    assert.equal(shown['x-refusals'].includes('unauthenticated'), operation.access !== 'public')
  }
})

test('the document and the explorer are public, and the page asks nobody else', async () => {
  const openapi = await send(`${service.url}/openapi.json`, 'GET')
  assert.equal(openapi.body.openapi, '3.1.0')
  for (const path of ['/docs', '/docs/', '/docs/explorer.js', '/docs/explorer.css']) {
    const got = await send(`${service.url}${path}`, 'GET')
    assert.equal(got.status, 200, path)
    assert.match(got.headers.get('content-security-policy') ?? '', /default-src 'none'/)
    assert.ok(!/https?:\/\//.test(got.text.replaceAll('http://www.w3.org/', '')), path)
    assert.ok(!/ style=| onclick=|<script>/.test(got.text), path)
  }
  const wrong = await send(`${service.url}/docs`, 'POST', { body: {} })
  assert.equal(wrong.headers.get('allow'), 'GET, HEAD')
})

test('any bytes either parse to what JSON.parse gives or are refused, never fail', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array(),
        fc.json().map((text) => Buffer.from(text)),
      ),
      (bytes) => {
        const buffer = Buffer.from(bytes)
        try {
          assert.deepEqual(parseJsonBody(buffer), JSON.parse(buffer.toString('utf8')))
        } catch (error) {
          assert.ok(error instanceof Refusal)
          assert.equal(error.status, 422)
        }
      },
    ),
  )
})

test('any JSON value we would write ourselves is taken as it is', () => {
  const plain = fc.jsonValue({ maxDepth: 5, stringUnit: 'grapheme' }).filter(isPlain)
  fc.assert(
    fc.property(plain, (value) => {
      assert.deepEqual(
        parseJsonBody(Buffer.from(JSON.stringify(value))),
        JSON.parse(JSON.stringify(value)),
      )
    }),
  )
})

// What the edge refuses on purpose is tested by name.
function isPlain(value: unknown): boolean {
  const text = JSON.stringify(value)
  return !/__proto__|constructor|\\u0000|\\ud|e\+|\d{16}/.test(text)
}

test('defaults fill what is missing, at every level, and never share an object', () => {
  const fill = compileDefaults({
    type: 'object',
    properties: {
      list: { type: 'array', default: [] },
      inner: {
        anyOf: [{ type: 'object', properties: { n: { default: 1 } } }, { type: 'null' }],
      },
    },
  })
  assert.ok(fill)
  const one: Record<string, unknown> = { inner: {} }
  const two: Record<string, unknown> = { inner: null, list: [1] }
  fill(one)
  fill(two)
  assert.deepEqual(one, { inner: { n: 1 }, list: [] })
  assert.deepEqual(two, { inner: null, list: [1] })
  const three: Record<string, unknown> = {}
  fill(three)
  assert.notEqual(one['list'], three['list'])
  fill('not an object')
  assert.equal(compileDefaults({ type: 'string' }), null)
})
