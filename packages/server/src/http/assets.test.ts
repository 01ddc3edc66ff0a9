// The pages that problems point at, over a real connection.

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { refusals, remedies } from '@custos/contract'
import { loadConsole, loadVerifyPage } from './assets.ts'
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

test('the verify page is served with the policy it states, and may not be framed', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'custos-page-')), 'verify.html')
  const missing = await loadVerifyPage(pathToFileURL(file))
  assert.match(String(missing.content), /npm run build:verify-page/)
  assert.equal(missing.policy, undefined)
  const policy = `default-src 'none'; script-src 'sha256-abc'`
  writeFileSync(file, `<meta http-equiv="Content-Security-Policy" content="${policy}">page`)
  const built = await loadVerifyPage(pathToFileURL(file))
  assert.equal(built.policy, `${policy}; frame-ancestors 'none'`)
  const page = await get('/verify')
  assert.equal(page.status, 200)
  assert.match(page.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/)
  assert.equal(page.headers.get('referrer-policy'), 'no-referrer')
  assert.equal(page.headers.get('cross-origin-opener-policy'), 'same-origin')
})

test('CUSTOS_CONSOLE=off removes the console, the verify page and the links to them', async () => {
  const bare = await startTestServer({ env: { CUSTOS_CONSOLE: 'off' } })
  try {
    for (const path of ['/verify', '/console', '/console/stores'])
      assert.equal((await send(`${bare.url}${path}`, 'GET')).body.error, 'route_not_found', path)
    assert.doesNotMatch((await send(bare.url, 'GET')).text, /verify|console/i)
  } finally {
    await bare.stop()
  }
})

test('the console is a page under its own policy at every address below /console', async () => {
  const dist = mkdtempSync(join(tmpdir(), 'custos-console-'))
  const address = pathToFileURL(`${dist}/`)
  const missing = await loadConsole(address)
  assert.match(String(missing.get('/console')?.content), /npm run build:console/)
  mkdirSync(join(dist, 'assets'))
  writeFileSync(join(dist, 'index.html'), '<div id="root"></div>')
  writeFileSync(join(dist, 'assets/index-abc.js'), 'export {}')
  const built = await loadConsole(address)
  assert.match(built.get('/console/assets/index-abc.js')?.caching ?? '', /immutable/)
  for (const path of ['/console', '/console/', '/console/stores/default?q=a']) {
    const page = await get(path)
    assert.equal(page.status, 200, path)
    assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
    assert.equal(page.headers.get('cache-control'), 'no-store')
    const policy = page.headers.get('content-security-policy') ?? ''
    for (const part of [
      "default-src 'none'",
      "script-src 'self';",
      "style-src 'self';",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ])
      assert.ok(policy.includes(part), part)
  }
  for (const path of ['/console/assets/none.js', '/console/assets/../../package.json', '/consoles'])
    assert.equal((await get(path)).body.error, 'route_not_found', path)
  const posted = await send(`${service.url}/console/stores`, 'POST', { body: {} })
  assert.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD'])
})
