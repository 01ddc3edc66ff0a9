// The API explorer as a person meets it: a real page in a real browser, served by a real service.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { type Browser, chromium, type Page } from 'playwright-core'
import { startTestService, type TestService } from '../../packages/server/src/testing/harness.ts'

const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const executablePath = BROWSERS.find((path) => existsSync(path))
let service: TestService
let browser: Browser | undefined

before(async () => {
  service = await startTestService()
  if (executablePath) browser = await chromium.launch({ executablePath, args: QUIET })
})

after(async () => {
  await browser?.close()
  await service.stop()
})

interface Visit {
  readonly page: Page
  /** Errors of the page, and requests that left this machine. */
  readonly complaints: string[]
}

async function open(browser: Browser): Promise<Visit> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(service.url)) complaints.push(`left for ${request.url()}`)
  })
  await page.goto(`${service.url}/docs`)
  return { page, complaints }
}

test('the explorer lists every operation and sends one with the key typed in', async (t) => {
  if (!browser) {
    // Continuous integration installs a browser: there its absence is a failure.
    assert.equal(process.env['CI'], undefined, 'no Chromium found for the page tests')
    return t.diagnostic('no Chromium on this machine: the page was not opened')
  }
  const { api_key } = await service.createTenant('pages')
  const { page, complaints } = await open(browser)
  const listed = await page.locator('nav a, nav button').count()
  const { body: openapi } = await service.request('GET', '/openapi.json')
  const methods = Object.values<object>(openapi.paths).flatMap((path) => Object.keys(path))
  assert.equal(listed, methods.length)

  await page.getByLabel('API key').fill(api_key)
  await page
    .locator('nav a, nav button', { hasText: /^POST\s*\/v1\/stores\/\{store_id\}\/write$/ })
    .click({ timeout: 5_000 })
  await page.getByLabel('store_id').fill('default')
  await page.locator('textarea').first().fill('{"content":"written from the explorer"}')
  await page.getByRole('button', { name: /send/i }).click()
  await page.getByText('"status": "stored"').waitFor({ timeout: 5_000 })
  assert.deepEqual(complaints, [])

  const list = await service.request('GET', '/v1/stores/default/memories', { key: api_key })
  assert.equal(list.body.memories[0].content, 'written from the explorer')
})
