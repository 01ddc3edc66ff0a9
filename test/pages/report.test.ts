// A report's page as a person meets it: in a real browser, wide and narrow, from a real service.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { type Browser, chromium } from 'playwright-core'
import { startTestService, type TestService } from '../../packages/server/src/testing/harness.ts'

const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const QUIET = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-sync']
const TITLE = `<img src="http://127.0.0.1:9/x"> Έλεγχος 审计 🧾`

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

async function open(browser: Browser, width: number) {
  const { api_key: key } = await service.createTenant('pages')
  const body = { report_type: 'full_audit', title: TITLE }
  const made = await service.request('POST', '/v1/reports/generate', { key, body })
  const page = await browser.newPage({
    viewport: { width, height: 900 },
    extraHTTPHeaders: { authorization: `Bearer ${key}` },
  })
  const complaints: string[] = []
  const address = `${service.url}/v1/reports/${made.body.report_id}/download?format=html`
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => complaints.push(message.text()))
  page.on('request', (request) => {
    if (request.url() !== address && !request.url().startsWith('data:'))
      complaints.push(`asked for ${request.url()}`)
  })
  await page.goto(address)
  return { page, complaints, report: made.body }
}

for (const width of [1280, 400])
  test(`the page 'reports.download' gives asks for nothing and fits ${width} pixels`, async (t) => {
    if (!browser) {
      // Continuous integration installs a browser: there its absence is a failure.
      assert.equal(process.env['CI'], undefined, 'no Chromium found for the page tests')
      return t.diagnostic('no Chromium on this machine: the page was not opened')
    }
    const { page, complaints, report } = await open(browser, width)
    assert.equal(await page.locator('h1').innerText(), TITLE)
    const wide = await page.evaluate('document.documentElement.scrollWidth')
    assert.equal(wide, width)
    const charts = page.locator('svg.chart')
    assert.equal(await charts.count(), 2)
    for (const chart of await charts.all())
      assert.ok(((await chart.boundingBox())?.height ?? 0) > 60)
    // The overview's last column is there without moving sideways.
    const findings = await page.locator('table.rows td .finding').all()
    assert.ok(findings.length >= report.sections.length)
    for (const finding of findings) {
      const box = await finding.boundingBox()
      assert.ok(box && box.x >= 0 && box.x + box.width <= width)
    }
    assert.deepEqual(complaints, [])
    await page.close()
  })

test('the explorer gives a PDF as a file to keep, and shows no bytes of it', async (t) => {
  if (!browser) {
    assert.equal(process.env['CI'], undefined, 'no Chromium found for the page tests')
    return t.diagnostic('no Chromium on this machine: the page was not opened')
  }
  const { api_key: key } = await service.createTenant('pages')
  const made = await service.request('POST', '/v1/reports/generate', {
    key,
    body: { report_type: 'gdpr' },
  })
  const page = await browser.newPage({ acceptDownloads: true })
  const complaints: string[] = []
  page.on('console', (message) => complaints.push(message.text()))
  await page.goto(`${service.url}/docs`)
  await page.getByLabel('API key').fill(key)
  await page
    .locator('nav a, nav button', { hasText: /^GET\s*\/v1\/reports\/\{report_id\}\/download$/ })
    .click()
  await page.getByLabel('report_id').fill(made.body.report_id)
  const format = page.getByLabel('format')
  if (await format.evaluate('(field) => field.tagName === "SELECT"'))
    await format.selectOption('pdf')
  else await format.fill('pdf')
  await page.getByRole('button', { name: /send/i }).click()
  const link = page.getByRole('link', { name: /^custos_gdpr_\d{8}\.pdf$/ })
  const [download] = await Promise.all([page.waitForEvent('download'), link.click()])
  const bytes = readFileSync(await download.path())
  assert.equal(bytes.subarray(0, 5).toString(), '%PDF-')
  assert.deepEqual(complaints, [])
  await page.close()
})
