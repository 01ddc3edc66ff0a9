// Single sign-on as a person meets it: a certified provider, the service, a real browser.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { after, type TestContext, test } from 'node:test'
import { chromium, type Page } from 'playwright-core'
import { startTxtServer } from '../../packages/server/src/platform/egress/testing/dns-server.ts'
import {
  CLIENT,
  startOpenIdProvider,
} from '../../packages/server/src/slices/identity/testing/open-id-provider.ts'
import { connect, SSO_EGRESS } from '../../packages/server/src/slices/identity/testing/sso-scene.ts'
import { startTestService } from '../../packages/server/src/testing/harness.ts'
import { BROWSERS, consoleScene, QUIET } from './testing/scene.ts'

const OPERATOR_KEY = 'operator-key-of-the-cli-tests-0123'
const ends: (() => void)[] = []
const names = await startTxtServer({ after: (end) => void ends.push(end) })
after(() => {
  for (const end of ends) end()
})
const local = consoleScene({ CUSTOS_AUTH: 'required', CUSTOS_DNS_SERVERS: names.address })

async function openBrowser(t: TestContext) {
  const executablePath = BROWSERS.find((path) => existsSync(path))
  if (!executablePath) return null
  const browser = await chromium.launch({ executablePath, args: QUIET })
  t.after(() => browser.close())
  // The certificate of the provider is one of tests.
  return browser.newContext({ ignoreHTTPSErrors: true })
}

/** The forms of the provider. */
async function signInThere(page: Page, login: string): Promise<void> {
  await page.locator('input[name=login]').fill(login)
  await page.locator('input[name=password]').fill('any')
  await page.locator('button[type=submit]').click()
  await page.locator('button[type=submit]', { hasText: /continue/i }).click()
}

test("a person signs in with 'identity.authorize' and is signed out by the provider", async (t) => {
  const context = await openBrowser(t)
  if (!context) {
    assert.equal(process.env['CI'], undefined, 'no Chromium found')
    return t.diagnostic('no Chromium on this machine: nobody signed in')
  }
  const service = await startTestService({ config: { egress: SSO_EGRESS } })
  t.after(() => service.stop())
  const provider = await startOpenIdProvider(t)
  const { connection, tenant } = await connect(service, provider.issuer, { ...CLIENT })
  await provider.register(connection)
  const page = await context.newPage()
  page.setDefaultTimeout(15_000)
  const addresses: string[] = []
  page.on('request', (request) => addresses.push(request.url()))

  await page.goto(`${service.url}/console/log?tenant=${tenant.tenant_id}`)
  await page.getByRole('link', { name: 'Sign in with Example Corp' }).click()
  await signInThere(page, 'ana')
  await page.getByRole('heading', { level: 1, name: 'Audit log' }).waitFor()
  assert.equal(new URL(page.url()).pathname, '/console/log')
  const cookies = await context.cookies(service.url)
  const session = cookies.find(({ name }) => name === 'custos_session')
  assert.ok(session?.httpOnly)
  assert.equal(session.sameSite, 'Lax')
  assert.equal(
    cookies.find(({ name }) => name === 'custos_login'),
    undefined,
  )
  const stored = await page.evaluate<string>(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])',
  )
  for (const text of [...addresses, stored]) assert.ok(!text.includes(session.value), text)

  const other = await context.newPage()
  await other.goto(`${provider.issuer}/session/end`)
  await other.locator('button[value=yes]').click()
  await other.getByText(/sign-out success/i).waitFor()
  for (let tries = 0; tries < 100; tries += 1)
    if ((await context.request.get(`${service.url}/v1/portal/me`)).status() === 401) break
  await page.reload()
  await page.getByRole('heading', { name: 'Sign in to Custos' }).waitFor()
})

local('connections are made and looked at in the console', async ({ local: { url }, visit }) => {
  const send = async (path: string, key: string, body: object) => {
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    assert.equal(response.status, 201)
    return (await response.json()) as { readonly api_key: string; readonly tenant_id: string }
  }
  const { api_key } = await send('/v1/cloud/tenants', OPERATOR_KEY, { name: 'harbour' })
  const { page, accessible, fits, end } = await visit('/sign-on', { statuses: [401, 422] })
  await accessible()
  await page.getByLabel('API key').fill(api_key)
  await page.keyboard.press('Enter')
  await page.getByText('No connections').waitFor()
  await accessible()
  await page.getByRole('button', { name: 'New connection' }).click()
  await page.getByLabel('Name').fill('Harbour <img src=x>')
  await page.getByLabel('Issuer').fill('https://10.0.0.1')
  await page.getByLabel('Client id').fill('custos')
  await page.getByRole('button', { name: 'Connect' }).click()
  await page.getByRole('alert').getByText('url_refused').waitFor()
  await page.getByLabel('Issuer').fill('https://login.harbour.invalid')
  await accessible()
  await page.getByRole('button', { name: 'Connect' }).click()
  await page.getByText('/v1/portal/sso/callback').waitFor()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('button', { name: /^Manage Harbour/ }).click()
  await page.getByRole('button', { name: 'Test' }).click()
  await page.getByText('Something is wrong: unreachable.').waitFor()
  await accessible()
  const domain = page.getByLabel('Domain of e-mail addresses')
  await domain.fill('Harbour.example')
  await domain.press('Enter')
  await page.getByText('The record is not there yet.').waitFor()
  const record = page.getByRole('region', { name: 'TXT record of harbour.example' })
  names.texts.set('harbour.example', [(await record.innerText()).trim()])
  await accessible()
  await page.getByRole('button', { name: 'Prove' }).click()
  await page.getByText('harbour.example belongs to this connection.').waitFor()
  await page.getByRole('button', { name: 'Drop harbour.example' }).click()
  await accessible()
  await page.getByRole('button', { name: 'Drop', exact: true }).last().click()
  await page.getByText('none: invitations are not taken through it').waitFor()
  await page.getByRole('button', { name: 'Switch off' }).click()
  await page.getByRole('button', { name: 'Switch on' }).waitFor()
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('button', { name: 'Delete' }).last().click()
  await page.getByText('No connections').waitFor()
  await page.setViewportSize({ width: 390, height: 900 })
  await fits()
  await end()
})
