// The bundled client on a page of another origin: it works where the service lists the origin.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { parseConfig } from '../../packages/server/src/config/config.ts'
import { ConfigError } from '../../packages/server/src/config/env.ts'
import { startTestService, type TestService } from '../../packages/server/src/testing/harness.ts'
import { bundleForPage, launchBrowser } from './testing/browser.ts'

const PROGRAM = `
import { ConnectionError, Custos } from '@custos/client'
globalThis.run = async (url, apiKey) => {
  const custos = new Custos({ url, apiKey, retries: 0 })
  const stop = new AbortController()
  const stream = custos.streams.events({ signal: stop.signal })[Symbol.asyncIterator]()
  await stream.next()
  const body = { content: 'Ana lives in Porto' }
  const options = { idempotencyKey: 'once', requestId: 'from-the-page' }
  const { requestId } = await custos.memory.write('default', body, options).withResponse()
  const again = await custos.memory.write('default', body, options).withResponse()
  const replayed = again.response.headers.get('idempotency-replayed')
  let seen = await stream.next()
  while (seen.value.event !== 'memory.written') seen = await stream.next()
  stop.abort()
  await custos.memory.delete('default', { ref: again.data.ref })
  const absent = await custos.memory.stats('absent').catch((error) => error.code)
  return JSON.stringify({ requestId, replayed, event: seen.value.event, absent })
}
globalThis.fail = (url, apiKey) =>
  new Custos({ url, apiKey, retries: 0 }).memory.stats('default').then(
    () => 'answered',
    (error) => (error instanceof ConnectionError ? 'no connection' : String(error)))`

const page = createServer((_request, response) => {
  response.setHeader('content-type', 'text/html')
  response.end('<!doctype html><title>client</title>')
})

let browser: Browser | null
let service: TestService

before(async () => {
  await new Promise<void>((resolve) => page.listen(0, '127.0.0.1', resolve))
  service = await startTestService({ config: { cors_origins: [originOf('127.0.0.1')] } })
  browser = await launchBrowser()
})
after(async () => {
  await browser?.close()
  await service.stop()
  page.close()
})

/** The same page under two names, which are two origins. */
function originOf(host: '127.0.0.1' | 'localhost'): string {
  const address = page.address()
  assert.ok(typeof address === 'object' && address)
  return `http://${host}:${address.port}`
}

async function evaluateAt(origin: string, name: 'run' | 'fail'): Promise<string> {
  assert.ok(browser)
  const { api_key } = await service.createTenant()
  const opened = await browser.newPage()
  try {
    await opened.goto(origin)
    await opened.addScriptTag({ content: await bundleForPage(PROGRAM) })
    const args = [service.url, api_key].map((text) => JSON.stringify(text)).join()
    return String(await opened.evaluate(`${name}(${args})`))
  } finally {
    await opened.close()
  }
}

test('a page of a listed origin writes, deletes, reads headers and follows events', async (t) => {
  if (!browser) return t.diagnostic('no Chromium on this machine')
  assert.deepEqual(JSON.parse(await evaluateAt(originOf('127.0.0.1'), 'run')), {
    requestId: 'from-the-page',
    replayed: 'true',
    event: 'memory.written',
    absent: 'store_not_found',
  })
})

test('a page of another origin reaches nothing', async (t) => {
  if (!browser) return t.diagnostic('no Chromium on this machine')
  assert.equal(await evaluateAt(originOf('localhost'), 'fail'), 'no connection')
})

test('the setting takes exact origins only', () => {
  const parse = (text: string) => parseConfig({ CUSTOS_CORS_ORIGINS: text }).cors_origins
  assert.deepEqual(parse('https://app.example, http://localhost:5173'), [
    'https://app.example',
    'http://localhost:5173',
  ])
  assert.deepEqual(parseConfig({}).cors_origins, [])
  const wrong = [
    '*',
    'null',
    'app.example',
    'https://*.example',
    'https://app.example/page',
    'file:///x',
  ]
  for (const text of wrong)
    assert.throws(
      () => parse(text),
      (error) =>
        error instanceof ConfigError &&
        error.message === 'CUSTOS_CORS_ORIGINS must be origins such as https://console.example',
      text,
    )
})
