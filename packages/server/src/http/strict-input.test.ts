// What is not declared is refused: names in bodies and queries, repeated keys, methods, hosts.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { Hex16, JsonObject, Label, Nullable, operation, Ref } from '@custos/contract'
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import {
  makeTenant,
  type Sent,
  send,
  startTestServer,
  type TestServer,
} from './testing/edge-server.ts'

let service: TestServer
let key: string

before(async () => {
  service = await startTestServer()
  key = (await makeTenant(service.url)).api_key
})

after(() => service.stop())

const ECHO = '/probe/stores/s1/echo'
const ask = (method: string, path: string, sent: Sent = {}) =>
  send(`${service.url}${path}`, method, { key, ...sent })

const unknown = (loc: (string | number)[], meant?: string) => ({
  loc,
  msg: `there is no such property${meant ? `; did you mean \`${meant}\`?` : ''}`,
  type: 'extra_forbidden',
})

/** Asks with a body and asserts every problem of the answer. */
async function assertProblems(path: string, body: unknown, problems: object[]): Promise<void> {
  const got = await ask('POST', path, { body })
  assert.equal(got.status, 422, got.text)
  assert.equal(got.body.error, 'validation')
  assert.deepEqual(got.body.detail, problems)
}

test('an unknown name in a body is refused at any depth, with the name it may mean', async () => {
  await assertProblems(ECHO, { flga: true }, [unknown(['body', 'flga'], 'flag')])
  await assertProblems(ECHO, { nothing_like_it: 'a secret' }, [
    unknown(['body', 'nothing_like_it']),
  ])
  await assertProblems(ECHO, { options: { depht: 1 } }, [
    unknown(['body', 'options', 'depht'], 'depth'),
  ])
  await assertProblems(ECHO, { items: [{ content: 'a' }, { content: 'b', wieght: 2 }] }, [
    unknown(['body', 'items', 1, 'wieght'], 'weight'),
  ])
  const long = 'k'.repeat(3_000)
  await assertProblems(ECHO, { [long]: 1 }, [unknown(['body', long.slice(0, 100)])])
  await assertProblems(ECHO, { 'a/b~c': 1 }, [unknown(['body', 'a/b~c'])])
})

test('every unknown name and every other problem is listed together, twenty at most', async () => {
  const names = Array.from({ length: 30 }, (_, i) => `unknown_name_${i}`)
  const body = { flag: 1, ...Object.fromEntries(names.map((name) => [name, 1])) }
  const { detail } = (await ask('POST', ECHO, { body })).body
  assert.equal(detail.length, 20)
  const few = { flag: 1, limit: 2, options: { depth: 'x', dept: 1 } }
  const got = await ask('POST', ECHO, { body: few })
  const found = got.body.detail.map(({ loc, type }: { loc: string[]; type: string }) => [
    loc.slice(1).join('.'),
    type,
  ])
  assert.deepEqual(found, [
    ['limit', 'extra_forbidden'],
    ['flag', 'bool_type'],
    ['options.dept', 'extra_forbidden'],
    ['options.depth', 'int_type'],
  ])
})

test('a union of objects explains the one that was most likely meant', async () => {
  await assertProblems(ECHO, { either: { label: 'a', color: 'red' } }, [
    unknown(['body', 'either', 'color'], 'colour'),
  ])
  await assertProblems(ECHO, { either: { left: 1, rigth: 2 } }, [
    { loc: ['body', 'either', 'right'], msg: 'Field required', type: 'missing' },
    unknown(['body', 'either', 'rigth'], 'right'),
  ])
  const scalar = await ask('POST', ECHO, { body: { either: 5 } })
  assert.deepEqual(
    scalar.body.detail.map(({ type }: { type: string }) => type),
    ['string_type', 'dict_type', 'dict_type'],
  )
})

test('an unknown query parameter is refused, whether or not the operation has any', async () => {
  await assertProblems(`${ECHO}?limt=3`, {}, [unknown(['query', 'limt'], 'limit')])
  await assertProblems(`${ECHO}?limit=3&namespace=a&namespace=b`, {}, [
    unknown(['query', 'namespace']),
  ])
  for (const name of ['token', '__proto__', 'constructor', 'toString', '']) {
    const got = await ask('GET', `/probe/things/stats?${name}=secret`)
    assert.equal(got.status, 422, name)
    assert.deepEqual(got.body.detail, [unknown(['query', name])])
    assert.ok(!got.text.includes('secret'))
  }
  assert.equal((await ask('GET', '/probe/things/stats?')).status, 200)
})

test('an operation without a body takes none, an empty object or null, and no names', async () => {
  for (const raw of ['', '{}', ' { } ', 'null'])
    assert.equal((await ask('DELETE', '/probe/things/ab12', { raw })).status, 200, raw)
  const got = await ask('DELETE', '/probe/things/ab12', { body: { dry_run: true } })
  assert.deepEqual([got.status, got.body.detail], [422, [unknown(['body', 'dry_run'])]])
  for (const raw of ['[]', '1', '"x"', '{'])
    assert.equal((await ask('DELETE', '/probe/things/ab12', { raw })).status, 422, raw)
  const form = {
    raw: 'dry_run=true',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  }
  assert.equal((await ask('DELETE', '/probe/things/ab12', form)).status, 415)
})

test('what existing clients send is dropped before a handler sees it', async () => {
  const body = {
    signing_key: null,
    items: [{ content: 'a', weight: 1, app: { name: 'x' } }],
    options: { depth: 1, app: 'x' },
  }
  const got = await ask('POST', `${ECHO}?app=x&app=y&limit=1`, { body })
  assert.equal(got.status, 200, got.text)
  assert.deepEqual(got.body.query, { limit: 1 })
  assert.deepEqual(got.body.body, { items: [{ content: 'a', weight: 1 }], options: { depth: 1 } })
  await assertProblems(ECHO, { app: 1 }, [unknown(['body', 'app'])])
})

test('a key that occurs twice in a body is refused with its place', async () => {
  const raw = '{"options":{"depth":1,"d\\u0065pth":9}}'
  const got = await ask('POST', ECHO, { raw })
  assert.equal(got.status, 422)
  assert.deepEqual(got.body.detail, [
    { loc: ['body', 'options', 'depth'], msg: 'This key occurs twice', type: 'duplicate_key' },
  ])
})

test('any text in a path reaches the handler; what can be no id as one that is none', async () => {
  const ids = { ab12: 'ab12', 'not%20hex': 'not hex', 'a%00b': '\u0001', '%07': '\u0001' }
  for (const [sent, received] of Object.entries({ ...ids, ['x'.repeat(9_000)]: '\u0001' })) {
    const got = await ask('DELETE', `/probe/things/${sent}`)
    assert.equal(got.status, 200, got.text)
    assert.deepEqual(got.body.params, { id: received })
  }
})

test('405 lists the methods of that very path, and they are the ones that work', async () => {
  for (const method of ['DELETE', 'POST', 'PUT', 'PATCH', 'OPTIONS', 'PROPFIND', 'QUERY'])
    for (const path of ['/probe/things/stats', '/probe/things/stats/', '/probe/things/st%61ts']) {
      const got = await ask(method, path)
      assert.equal(got.status, 405, `${method} ${path} ${got.text}`)
      assert.equal(got.headers.get('allow'), 'GET, HEAD')
    }
  const thing = await ask('GET', '/probe/things/other')
  assert.deepEqual([thing.status, thing.headers.get('allow')], [405, 'DELETE'])
  assert.equal((await ask('GET', '/probe/lines;x?count=1')).status, 404)
})

/** The status line that a request over a bare connection is answered with. */
function statusOf(request: string): Promise<string> {
  const { hostname, port } = new URL(service.url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(request))
    socket.once('data', (bytes) => {
      socket.destroy()
      resolve(bytes.toString('latin1').slice(0, 'HTTP/1.1 200'.length))
    })
    socket.on('error', reject)
  })
}

test('a request that names two hosts is refused, even if both are the same', async () => {
  const get = 'GET /health HTTP/1.1\r\n'
  assert.equal(await statusOf(`${get}Host: a\r\n\r\n`), 'HTTP/1.1 200')
  assert.equal(await statusOf(`${get}Host: a\r\nhost: b\r\n\r\n`), 'HTTP/1.1 400')
  assert.equal(await statusOf(`${get}HOST: a\r\nx-y: z\r\nHost: a\r\n\r\n`), 'HTTP/1.1 400')
  assert.equal(await statusOf(`${get}\r\n`), 'HTTP/1.1 400')
})

test('a request with two headers Authorization is refused: nobody can tell who calls', async () => {
  const get = 'GET /health HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer one\r\n'
  assert.equal(await statusOf(`${get}\r\n`), 'HTTP/1.1 200')
  assert.equal(await statusOf(`${get}authorization: Bearer two\r\n\r\n`), 'HTTP/1.1 400')
})

const Item = Type.Object({ name: Type.String(), labels: Type.Optional(JsonObject) })
const open = Type.Object({
  items: Type.Optional(Type.Array(Item)),
  item: Type.Optional(Nullable(Item)),
  either: Type.Optional(Type.Union([Type.String(), Item])),
  counts: Type.Optional(Type.Record(Type.String(), Item)),
  pair: Type.Optional(Type.Tuple([Item, Type.Integer()])),
  free: Type.Optional(Type.Object({ known: Type.Boolean() }, { additionalProperties: true })),
})
const params = Type.Object({ id: Hex16, named: Label, plain: Type.String(), ref: Ref })
const declared = operation({
  id: 'probe.declared',
  method: 'POST',
  path: '/probe/{id}/{named}/{plain}/{ref}',
  summary: 'Shows what becomes of its schemas',
  access: 'tenant',
  params,
  body: open,
  status: 200,
  reply: Type.Unknown(),
  refuses: [],
})
const closed = Compile(declared.body)

const item = { name: 'a' }
const misspelt = { ...item, nmae: 'b' }

test('a misspelt name is refused at every depth of a closed schema', () => {
  for (const body of [
    { itmes: [] },
    { items: [item, misspelt] },
    { item: misspelt },
    { either: misspelt },
    { counts: { any: misspelt } },
    { pair: [misspelt, 1] },
  ]) {
    assert.ok(Compile(open).Check(body), JSON.stringify(body))
    assert.ok(!closed.Check(body), JSON.stringify(body))
  }
})

test('what was valid without unknown names stays valid in a closed schema', () => {
  for (const body of [
    {},
    { items: [item], item, either: item, counts: { any: item }, pair: [item, 1] },
    { item: null, either: 'text' },
    { item: { name: 'a', labels: { 'of the caller': { and: ['what', 'it', 'holds'] } } } },
    { free: { known: true, further: 1 } },
  ])
    assert.ok(closed.Check(body), JSON.stringify(body))
})

test('closing a schema leaves the schema itself as it was', () => {
  assert.ok(Compile(open).Check({ further: 1 }))
  assert.ok(!('additionalProperties' in open))
})

test('any text is an id in a path, while a number has to be one', () => {
  const valid = Compile(declared.params)
  const good = { id: 'x', named: '', plain: 'x'.repeat(1_000), ref: 1 }
  assert.ok(valid.Check(good))
  assert.ok(!valid.Check({ ...good, ref: 'x' }))
  assert.ok(!valid.Check({ ...good, id: 1 }))
  assert.ok(!Compile(params).Check(good), 'the schema itself is as it was')
})
