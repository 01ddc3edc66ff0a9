// The pages that problems point at, over a real connection.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { refusals, remedies } from '@custos/contract'
import { send, startTestServer, type TestServer } from './testing/edge-server.ts'

let service: TestServer

before(async () => {
  service = await startTestServer()
})

after(() => service.stop())

const get = (path: string, accept?: string) =>
  send(`${service.url}${path}`, 'GET', accept === undefined ? {} : { headers: { accept } })

test('the type of a problem leads to a page that says what happened and what to do', async () => {
  const { body } = await get('/v1/keys')
  const page = await get(new URL(body.type, service.url).pathname)
  assert.equal(page.status, 200)
  assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
  assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/)
  assert.ok(page.text.includes(refusals.unauthenticated.title))
})

test('every code has its page, public, and the index leads to each of them', async () => {
  const index = await get('/errors')
  for (const [code, { status, title }] of Object.entries(refusals)) {
    assert.ok(index.text.includes(`href="/errors/${code}"`), code)
    const page = await get(`/errors/${code}`)
    assert.equal(page.status, 200, code)
    assert.ok(page.text.includes(`<strong>${status}</strong> ${title}.`), code)
  }
  assert.equal((await get('/errors/')).text, index.text)
})

test('texts are escaped, and code in backticks is code', async () => {
  assert.ok(remedies.unauthenticated.advice.includes('`Authorization: Bearer <key>`'))
  const { text } = await get('/errors/unauthenticated')
  assert.ok(text.includes('<code>Authorization: Bearer &lt;key&gt;</code>'))
})

test('the start page leads to what there is, and is JSON for clients that ask for it', async () => {
  const page = await get('/')
  assert.equal(page.status, 200)
  assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
  assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/)
  assert.doesNotMatch(page.text, /<script/)
  const json = await get('/', 'application/json')
  assert.equal(json.headers.get('content-type'), 'application/json; charset=utf-8')
  assert.deepEqual([json.body.service, json.body.auth], ['custos', 'required'])
  for (const link of Object.values(json.body.links)) {
    assert.ok(page.text.includes(`href="${link}"`), String(link))
    assert.equal((await get(String(link))).status, 200, String(link))
  }
  const browser = await get('/', 'text/html,application/xhtml+xml,*/*;q=0.8')
  assert.equal(browser.text, page.text)
  assert.equal((await get('/docs', 'application/json')).headers.get('vary'), null)
})

test('a code that does not exist is no route, and a page takes no other method', async () => {
  for (const path of ['/errors/nope', '/errors/validation/more', '/errors/constructor'])
    assert.equal((await get(path)).body.error, 'route_not_found', path)
  const posted = await send(`${service.url}/errors/validation`, 'POST', { body: {} })
  assert.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD'])
})
