// The OpenAPI document, the explorer's files and the edges of reading bodies.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import * as contract from '@custos/contract'
import fc from 'fast-check'
import { parseJsonBody } from '../../platform/input/json-text.ts'
import { Refusal } from '../../platform/refusal.ts'
import { Shape } from '../../platform/validation.ts'
import { compileDefaults } from '../coerce-and-default.ts'
import { send, startTestServer, type TestServer } from '../testing/edge-server.ts'
import { buildOpenapi } from './openapi.ts'

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

interface Reference {
  $ref?: string
}

interface Described {
  operationId: string
  summary: string
  description: string
  requestBody?: { content: Record<string, { schema: object; example?: unknown }> }
  responses: Record<string, Reference & { description?: string; content?: object }>
  parameters?: (Reference & { name: string; in: string; required?: boolean; schema: object })[]
  security?: object[]
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
  for (const { name, description } of document.tags) assert.ok(description, name)
})

test('ids are unique, path parameters are declared and required, responses described', () => {
  const ids = described().map(([, , { operationId }]) => operationId)
  assert.equal(new Set(ids).size, ids.length)
  for (const [path, method, operation] of described()) {
    const at = `${method} ${path}`
    const given = (operation.parameters ?? []).map((parameter) => resolve(parameter))
    const inPath = given.filter((parameter) => parameter.in === 'path')
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    assert.deepEqual(inPath.map(({ name }) => name).sort(), named.sort(), at)
    assert.ok(
      inPath.every(({ required }) => required),
      at,
    )
    const parameters = given.map(({ name, in: where }) => `${where} ${name}`)
    assert.equal(new Set(parameters).size, parameters.length, at)
    for (const [status, response] of Object.entries(operation.responses)) {
      assert.match(status, /^([1-5]\d\d|default)$/, at)
      assert.equal(typeof resolve(response).description, 'string', at)
    }
  }
})

/** What a reference points to, with what is said beside it; anything else as it is. */
function resolve<T extends Reference>(part: T): T {
  if (part.$ref === undefined) return part
  const names = part.$ref.replace(/^#\//, '').split('/')
  const target = names.reduce((at, name) => at[name], document)
  assert.ok(target, part.$ref)
  const { $ref: _, ...beside } = part
  return { ...target, ...beside }
}

interface Visited {
  readonly value: Record<string, unknown>
  readonly at: string
}

/** Every object of the document but examples, with where it is. */
function* visit(value: unknown, at = '#'): Generator<Visited> {
  if (!isObject(value)) return
  if (!Array.isArray(value)) yield { value, at }
  for (const [name, member] of Object.entries(value))
    if (name !== 'example' && name !== 'examples') yield* visit(member, `${at}/${name}`)
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

test('every reference resolves, every component is used, every security scheme declared', () => {
  const used = new Set<string>()
  for (const { value } of visit(document)) {
    if (typeof value['$ref'] !== 'string') continue
    resolve({ $ref: value['$ref'] })
    used.add(value['$ref'])
  }
  const { securitySchemes, ...components } = document.components
  for (const [kind, members] of Object.entries<object>(components))
    for (const name of Object.keys(members))
      assert.ok(used.has(`#/components/${kind}/${name}`), `${kind} ${name} is not used`)
  for (const { security } of [document, ...described().map(([, , operation]) => operation)])
    for (const scheme of (security ?? []).flatMap(Object.keys)) assert.ok(securitySchemes[scheme])
})

test('every field of every schema and every parameter has a description', () => {
  for (const { value, at } of visit(document)) {
    if (isSchema(value) && isObject(value['properties']))
      for (const [name, field] of Object.entries(value['properties']))
        assert.ok(isObject(field) && resolve(field)['description'], `${at} ${name}`)
    if (value['in'] === 'path' || value['in'] === 'query')
      assert.ok(value['description'], `${at} ${value['name']}`)
  }
})

const isSchema = ({ type }: Record<string, unknown>): boolean =>
  type === 'object' || (Array.isArray(type) && type.includes('object'))

test('no object and no list of values is written out twice: it is a named schema', () => {
  const places = new Map<string, string>()
  for (const { value, at } of visit(document)) {
    const named = isSchema(value) && isObject(value['properties'])
    if (!named && !Array.isArray(value['enum'])) continue
    if (Object.keys(value['properties'] ?? value['enum'] ?? {}).length < 2) continue
    const text = JSON.stringify(structureOf(value))
    const earlier = places.get(text)
    assert.ok(earlier === undefined || isComponent(at), `${earlier} and ${at}: give it a title`)
    places.set(text, at)
  }
})

const isComponent = (at: string): boolean => at.split('/').length === 4

/** A schema without its annotations. */
function structureOf(value: unknown): unknown {
  if (!isObject(value) || Array.isArray(value)) return value
  const members = Object.entries(value).filter(
    ([name, member]) =>
      name !== 'default' && !(name === 'description' && typeof member === 'string'),
  )
  return Object.fromEntries(members.map(([name, member]) => [name, structureOf(member)]))
}

test('schemas of one name are the same, whatever is said of them where they are used', () => {
  const byName = new Map<string, string>()
  for (const { params, query, body, reply, accepted, preview } of operations)
    for (const { value, at } of visit([params, query, body, reply, accepted, preview])) {
      const { title, about: _, description: __, default: ___, ...rest } = value
      if (typeof title !== 'string') continue
      const text = JSON.stringify(rest)
      assert.equal(byName.get(title) ?? text, text, `${title} at ${at}`)
      byName.set(title, text)
    }
})

test('an operation says what it does and when to use it, and shows a valid body', () => {
  for (const { id, summary, description, body, example } of operations) {
    assert.match(summary, /^[A-Z][a-z-]+s .*[^.]$/, id)
    assert.match(description ?? '', /\.$/, id)
    if (body === undefined) continue
    assert.ok(example !== undefined, `${id} has no example`)
    new Shape(body, id).assert(structuredClone(example))
  }
})

test('each operation says who may call it and how it refuses', () => {
  assert.deepEqual(document['x-common-refusals'], contract.COMMON_REFUSALS)
  const refused = document.components.responses.Refused
  for (const code of contract.COMMON_REFUSALS) {
    const { status, title } = contract.refusals[code]
    assert.ok(refused.description.includes(`${status} \`${code}\`: ${title}`), code)
  }
  for (const operation of operations) {
    const shown = document.paths[operation.path][operation.method.toLowerCase()]
    assert.equal(shown['x-access'], operation.access)
    assert.equal(shown['x-scope'], operation.scope)
    for (const code of operation.refuses) {
      assert.ok(shown['x-refusals'].includes(code), `${operation.id} ${code}`)
      const { status } = contract.refusals[code]
      const { description } = shown.responses[status]
      assert.ok(description.includes(`\`${code}\``), `${operation.id} ${code}`)
    }
    assert.deepEqual(shown.responses.default, { $ref: '#/components/responses/Refused' })
    assert.equal(shown.security?.length === 0, operation.access === 'public')
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
