// Bad input of every kind: a 4xx that says what is wrong, and not a row is changed.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { limits } from '@custos/contract'
import type { TestService } from '../../../packages/server/src/testing/harness.ts'
import { exampleOf } from './examples.ts'
import { BAD_IMPORT_LINES, badBodies } from './testing/bad-bodies.ts'
import { startContractService } from './testing/payments.ts'
import { difference, rowCounts } from './testing/rows.ts'
import { operations } from './testing/table.ts'
import { assertClientError, assertRefusal, send } from './testing/tenant.ts'
import { buildWorld, type World } from './testing/world.ts'
import { wrongFields } from './testing/wrong-fields.ts'

let service: TestService
let world: World

before(async () => {
  service = await startContractService()
  world = await buildWorld(service)
})

after(() => service.stop())

/** Runs the requests and asserts that no row came or went. */
async function changingNothing(act: () => Promise<void>): Promise<void> {
  const before = await rowCounts(service)
  await act()
  assert.deepEqual(difference(before, await rowCounts(service)), {})
}

const writing = operations.filter(({ method, body, body_type }) => {
  const takesJson = body !== undefined && body_type !== 'application/x-ndjson'
  return takesJson && (method === 'POST' || method === 'PUT')
})

describe('bodies that no operation may take', () => {
  for (const operation of writing)
    test(`${operation.id} refuses each with a 4xx and changes nothing`, () =>
      changingNothing(async () => {
        const key = operation.access === 'operator' ? service.operator_key : world.tenant.api_key
        for (const { name, sent } of badBodies(exampleOf(operation.id, world.ids))) {
          const answer = await send(service, operation.id, sent, { key })
          assertClientError(answer, `${operation.id} with ${name}`)
          // They hide in a member that nothing declares, and are refused before that is.
          assert.doesNotMatch(answer.text, /extra_forbidden/, `${operation.id} with ${name}`)
        }
      }))
})

test('memory.import refuses a bad line after a good one, and keeps neither', () =>
  changingNothing(async () => {
    const good = Buffer.from('{"content":"a good line"}\n')
    for (const [name, line] of Object.entries(BAD_IMPORT_LINES)) {
      const answer = await world.tenant.ask('memory.import', {
        params: { store_id: world.ids.store_id },
        raw: Buffer.concat([good, Buffer.from(line), Buffer.from('\n')]),
        headers: { 'content-type': 'application/x-ndjson' },
      })
      assertRefusal(answer, 'import_refused', name)
      assert.match(JSON.stringify(answer.body), /\b2\b/, `${name}: the line is named`)
    }
  }))

test('memory.import refuses a header with a field it does not know', () =>
  changingNothing(async () => {
    const answer = await world.tenant.ask('memory.import', {
      params: { store_id: world.ids.store_id },
      raw: '{"custos_export":1,"namespace":"x"}\n{"content":"a good line"}\n',
      headers: { 'content-type': 'application/x-ndjson' },
    })
    assertRefusal(answer, 'import_refused', 'a header')
    assert.equal(answer.body.line, 1)
  }))

test('requests that are wrong in one field say which rule they break and change nothing', () =>
  changingNothing(async () => {
    for (const [id, sent, code] of wrongFields(world.ids))
      assertRefusal(await world.tenant.ask(id, sent), code, `${id} ${JSON.stringify(sent)}`)
  }))

const PATHS = [
  '/v1/stores/%',
  '/v1/stores/%zz/write',
  '/v1/stores/%ff%fe',
  '/v1/stores/%00',
  '/v1/stores/a%2Fb/stats',
  '/v1/stores/%ed%a0%80',
  '/v1/stores/__proto__',
  '/v1/stores/constructor/stats',
  '/v1/stores/..%2f..%2fetc%2fpasswd',
  '/v1//stores',
  '/v1/stores/x/memories/1e3',
  '/v1/stores/x/memories/9223372036854775808',
  '/v1/stores/x/memories/-1',
  '/v1/decisions/%00',
  `/v1/decisions/${'a'.repeat(10_000)}`,
  `/v1/stores/${'a'.repeat(limits.label_chars + 1)}`,
  '/v1/erasure/fact/abc',
  '/v1/gcrumbs/epochs/0',
  '/v1/gcrumbs/epochs/1/proof',
  '/v1/gcrumbs/epochs/1/proof?seq=%20',
  '/v1/gcrumbs/epochs/1/proof?seq=1&seq=2',
  '/v1/jobs/UPPERCASE',
  '/v1/jobs/ffffffffffffffffffffffff%0a',
  '/v1/cloud/tenants/%2e%2e',
  '/v1/unknown',
  '/V1/STORES',
]

test('paths that name nothing, or cannot be read, answer a 4xx in our shape', () =>
  changingNothing(async () => {
    for (const path of PATHS) {
      const answer = await service.request('GET', path, { key: world.tenant.api_key })
      assertClientError(answer, path)
    }
  }))

/** What came back over a bare connection until it was closed or an answer was complete. */
function exchange(request: string): Promise<string> {
  const { hostname, port } = new URL(service.url)
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(Number(port), hostname, () => socket.write(request))
    socket.setTimeout(2_000, () => socket.end())
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1')
      if (/"request_id":[^}]*\}/.test(text)) socket.end()
    })
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
  })
}

test('headers that are junk answer a 4xx in our shape, or close the connection', () =>
  changingNothing(async () => {
    const key = `authorization: Bearer ${world.tenant.api_key}`
    const post = 'POST /v1/stores HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json'
    const junk = [
      `GET /v1/stores HTTP/1.1\r\nhost: localhost\r\nx-\u0001: 1\r\n\r\n`,
      `GET /v1/stores HTTP/1.1\r\nhost: localhost\r\n${key}\r\n folded\r\n\r\n`,
      `GET /v1/stores HTTP/1.1\r\n${key}\r\n\r\n`,
      `${post}\r\n${key}\r\ncontent-length: -1\r\n\r\n`,
      `${post}\r\n${key}\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}`,
      `${post}\r\n${key}\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}`,
      `${post}\r\n${key}\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n`,
      `${post}\r\n${key}\r\ntransfer-encoding: gzip\r\n\r\n{}`,
      'GET http://[::1 HTTP/1.1\r\nhost: localhost\r\n\r\n',
      'PROPFIND /v1/stores HTTP/1.1\r\nhost: localhost\r\n\r\n',
      `${'x'.repeat(70_000)}\r\n\r\n`,
      '\u0016\u0003\u0001\u0002\u0000',
    ]
    for (const request of junk) {
      const text = await exchange(request)
      assert.match(text, /^HTTP\/1\.1 4\d\d /, JSON.stringify(request.slice(0, 120)))
      assert.match(text, /"error":"[a-z_]+"/, text)
    }
  }))

test('an Idempotency-Key that is no visible ASCII is refused before anything is done', () =>
  changingNothing(async () => {
    for (const operation of operations.filter(({ idempotent }) => idempotent)) {
      const sent = exampleOf(operation.id, world.ids)
      for (const given of ['two words', 'tab\there', 'é']) {
        const headers = { ...sent.headers, 'idempotency-key': given }
        const key = operation.access === 'operator' ? service.operator_key : world.tenant.api_key
        const answer = await send(service, operation.id, { ...sent, headers }, { key })
        assertRefusal(answer, 'validation', `${operation.id} ${given}`)
      }
    }
  }))
