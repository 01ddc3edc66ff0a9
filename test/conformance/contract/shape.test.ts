// The shape of requests and answers of every operation: replies, slashes, methods, validation.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { OperationSpec } from '@custos/contract'
import { Compile } from 'typebox/compile'
import type { Answer, TestService } from '../../../packages/server/src/testing/harness.ts'
import { exampleOf, examples, needsOf } from './examples.ts'
import { CONSUMING } from './testing/consuming.ts'
import { startContractService } from './testing/payments.ts'
import { methodsOn, operations, pathOf, queryOf } from './testing/table.ts'
import { assertRefusal, send } from './testing/tenant.ts'
import { buildWorld, GHOSTS, type World } from './testing/world.ts'
import { missingFields, objectOf, type Wrong, wrongBodies, wrongTexts } from './testing/wrong.ts'

let service: TestService
let world: World

before(async () => {
  service = await startContractService()
  world = await buildWorld(service)
})

after(() => service.stop())

const keyFor = ({ access }: OperationSpec): string | undefined => {
  if (access === 'public') return undefined
  return access === 'operator' ? service.operator_key : world.tenant.api_key
}

test('every operation has an example, and every example an operation', () => {
  const ids = operations.map(({ id }) => id)
  assert.deepEqual(Object.keys(examples).sort(), ids.sort())
  assert.equal(new Set(ids).size, ids.length)
})

function linesOf(operation: OperationSpec, { text, headers }: Answer): unknown[] {
  if (operation.status === 302) {
    assert.ok(headers.get('location'))
    assert.equal(text, '')
    return [null]
  }
  const { reply_type } = operation
  if (reply_type === 'image/svg+xml' || reply_type === 'application/octet-stream') {
    assert.equal(headers.get('content-type'), reply_type)
    return [text]
  }
  if (reply_type === 'text/plain') {
    assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8')
    return [text]
  }
  if (operation.reply_type === 'text/event-stream') {
    assert.equal(headers.get('content-type'), 'text/event-stream')
    const frames = [...text.matchAll(/^data: (.*)$/gm)]
    assert.ok(frames.length > 0)
    return frames.map(([, data = '']) => JSON.parse(data))
  }
  if (operation.reply_type !== 'application/x-ndjson') return [JSON.parse(text)]
  assert.equal(headers.get('content-type'), 'application/x-ndjson')
  const lines = text.split('\n')
  assert.equal(lines.pop(), '', 'the last line ends with a line feed')
  return lines.map((line) => JSON.parse(line))
}

describe('the example of an operation', () => {
  for (const operation of operations)
    test(`${operation.id} answers with its status, its schema and the caller's id`, async () => {
      const { ids, tenant } = CONSUMING.has(operation.id)
        ? await buildWorld(service, needsOf(operation.id))
        : world
      const sent = exampleOf(operation.id, ids)
      const headers = { ...sent.headers, 'x-request-id': `id-of.${operation.id}` }
      const key = operation.access === 'tenant' ? tenant.api_key : keyFor(operation)
      const own = operation.access === 'operator_or_self' ? tenant.api_key : key
      const answer = await send(service, operation.id, { ...sent, headers }, { key: own })
      assert.equal(answer.status, operation.status, answer.text)
      assert.equal(answer.headers.get('x-request-id'), `id-of.${operation.id}`)
      const reply = Compile(operation.reply)
      for (const line of linesOf(operation, answer))
        assert.ok(reply.Check(line), JSON.stringify([reply.Errors(line).slice(0, 3), line]))
    })
})

describe('both slash forms', () => {
  for (const operation of operations)
    test(`${operation.id} answers the same status with and without a trailing slash`, async () => {
      const ids = CONSUMING.has(operation.id) ? GHOSTS : world.ids
      const key = keyFor(operation)
      const ask = (slash: '' | '/') =>
        // Made anew: some things can be made once only.
        send(service, operation.id, exampleOf(operation.id, ids), { key, slash })
      const plain = await ask('')
      const slashed = await ask('/')
      assert.equal(slashed.status, plain.status, slashed.text)
      if (operation.status !== 302) assert.equal(slashed.headers.get('location'), null)
    })
})

describe('HEAD', () => {
  for (const operation of operations.filter(({ method, once }) => method === 'GET' && !once))
    test(`${operation.id} answers it with the status and type of GET, without a body`, async () => {
      const sent = exampleOf(operation.id, world.ids)
      const path = pathOf(operation, sent) + queryOf(sent)
      const key = keyFor(operation)
      const options = key === undefined ? {} : { key }
      const [head, get] = [
        await service.request('HEAD', path, options),
        await service.request('GET', path, options),
      ]
      assert.deepEqual([head.status, head.text], [get.status, ''])
      assert.equal(head.headers.get('content-type'), get.headers.get('content-type'))
    })
})

const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS']

describe('other methods', () => {
  for (const operation of operations)
    test(`the path of ${operation.id} answers 405 with Allow to methods it lacks`, async () => {
      const path = pathOf(operation, exampleOf(operation.id, world.ids))
      const known = methodsOn(path)
      for (const method of METHODS.filter((name) => !known.has(name))) {
        const answer = await service.request(method, path, { key: world.tenant.api_key })
        assert.equal(answer.headers.get('allow'), [...known].sort().join(', '), method)
        if (method === 'HEAD') assert.equal(answer.status, 405)
        else assertRefusal(answer, 'method_not_allowed', `${method} ${path}`)
      }
    })
})

function assertPointsAt(answer: Answer, { loc, value }: Wrong, about: string): void {
  assertRefusal(answer, 'validation', about)
  const found = answer.body.detail.map((entry: { loc: unknown[] }) =>
    JSON.stringify(entry.loc.slice(0, loc.length)),
  )
  assert.ok(found.includes(JSON.stringify(loc)), `${about}: ${answer.text}`)
  assert.ok(!answer.text.includes('canary'), `${about} repeats the input: ${answer.text}`)
  if (typeof value === 'string') assert.ok(!answer.text.includes(value), about)
}

describe('bodies of a wrong type', () => {
  for (const operation of operations) {
    const { body: schema, body_type } = operation
    if (!schema || body_type === 'application/x-ndjson') continue
    test(`${operation.id} says which field is wrong and never repeats it`, async () => {
      const sent = exampleOf(operation.id, world.ids)
      const body = objectOf(sent.body)
      const ask = (changed: unknown) =>
        send(service, operation.id, { ...sent, body: changed }, { key: keyFor(operation) })
      // Of an operation of many items, nothing at all is a list as well.
      const none = Array.isArray(sent.body) ? {} : []
      for (const whole of [none, 'canary-text', 12, true, null])
        assertRefusal(await ask(whole), 'validation', `${operation.id} ${JSON.stringify(whole)}`)
      for (const wrong of wrongBodies(schema)) {
        const about = `${operation.id} ${wrong.name} = ${JSON.stringify(wrong.value)}`
        assertPointsAt(await ask({ ...body, [wrong.name]: wrong.value }), wrong, about)
      }
      for (const name of missingFields(schema)) {
        const { [name]: _, ...rest } = body
        const answer = await ask(rest)
        assertRefusal(answer, 'validation', `${operation.id} without ${name}`)
        assert.deepEqual(answer.body.detail[0].loc, ['body', name])
        assert.equal(answer.body.detail[0].type, 'missing')
      }
    })
  }
})

describe('parameters of a wrong type', () => {
  for (const operation of operations) {
    if (!operation.query && !operation.params) continue
    test(`${operation.id} says which parameter is wrong and never repeats it`, async () => {
      const sent = exampleOf(operation.id, world.ids)
      const key = keyFor(operation)
      for (const wrong of wrongTexts(operation.query, 'query')) {
        const query = { ...sent.query, [wrong.name]: wrong.value }
        const about = `${operation.id} ${wrong.name} = ${wrong.value}`
        assertPointsAt(await send(service, operation.id, { ...sent, query }, { key }), wrong, about)
      }
      for (const wrong of wrongTexts(operation.params, 'path')) {
        const params = { ...sent.params, [wrong.name]: wrong.value }
        const about = `${operation.id} ${wrong.name} = ${wrong.value}`
        const answer = await send(service, operation.id, { ...sent, params }, { key })
        assertPointsAt(answer, wrong, about)
      }
    })
  }
})

test('request ids that would not be harmless in a log are replaced', async () => {
  for (const given of ['two words', 'x'.repeat(65), 'a"b', '{}']) {
    const { headers } = await service.request('GET', '/health', {
      headers: { 'x-request-id': given },
    })
    assert.match(headers.get('x-request-id') ?? '', /^[0-9a-f]{16}$/)
  }
})
