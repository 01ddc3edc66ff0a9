// Takes pictures of screens of the console on a service with sample data, light and dark.
//   npm run pictures -- <directory> [name of a screen ...]

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { serveLocally } from '../../packages/cli/src/testing/serve-locally.ts'
import { newTenant, OPERATOR_KEY } from './testing/keys.ts'
import { makeSampleTenant } from './testing/sample-tenant.ts'

const HEIGHT = 900
const [directory = 'screenshots', ...only] = process.argv.slice(2)
mkdirSync(directory, { recursive: true })

const ends: (() => void | Promise<void>)[] = []
const local = await serveLocally({ after: (end) => void ends.push(end) })
const made = await makeSampleTenant(local)
/** Where people sign in, and operators see tenants. */
const required = await serveLocally(
  { after: (end) => void ends.push(end) },
  { env: { CUSTOS_AUTH: 'required' } },
)
const tenant = await newTenant(required, 'Harbour')
for (const name of ['Quay', 'Lighthouse']) await newTenant(required, name)
await required.call(
  'POST',
  '/v1/portal/sso/connections',
  { name: 'Harbour', issuer: 'https://login.harbour.example', client_id: 'custos' },
  tenant.api_key,
)

const screens: Readonly<Record<string, string>> = {
  overview: '/',
  stores: '/stores',
  memory: '/stores/default?q=Where+does+Ana+sit',
  'one-memory': '/stores/default/memories/2',
  timeline: '/stores/default/timeline',
  decisions: '/decisions',
  decision: `/decisions/${made.decision_id}`,
  approvals: '/approvals',
  approval: `/approvals/${made.approval_id}`,
  policies: '/policies',
  policy: `/policies/${made.policy_id}`,
  'registries-artifacts': '/registries/artifacts',
  'registries-corpora': '/registries/corpora',
  'registries-types': '/registries/types',
  'registries-actions': '/registries/actions',
  'registries-compositions': '/registries/compositions',
  'registries-landing': '/registries/landing',
  record: `/registries/artifacts/${made.artifact_id}`,
  reputation: `/reputation?agent=${encodeURIComponent('invoices@harbour')}`,
  agents: '/agents',
  agent: `/agents/${made.agent_id}`,
  runs: '/runs',
  run: `/runs/${made.run_id}`,
  erasure: '/erasure',
  certificate: `/erasure/${made.certificate_id}`,
  subjects: '/subjects',
  'subject-request': `/subjects/${made.request_id}`,
  retention: '/retention',
  log: '/log',
  entry: '/log/3',
  live: '/live',
  evidence: '/evidence',
  report: `/evidence/${made.report_id}`,
  manifold: '/manifold?lens=paid',
  access: '/access',
  usage: '/usage',
  health: '/health',
  'sign-on': '/sign-on',
  webhooks: '/webhooks',
  webhook: `/webhooks/${made.webhook_id}`,
  billing: '/billing',
}

const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
const looks = [1440, 390].flatMap((width) => [
  { width, colorScheme: 'light' as const },
  { width, colorScheme: 'dark' as const },
])
/** All screens in one window. */
async function takeAll({ width, colorScheme }: (typeof looks)[number]): Promise<void> {
  const page = await browser.newPage({ viewport: { width, height: HEIGHT }, colorScheme })
  page.setDefaultTimeout(120_000)
  const end = colorScheme === 'dark' ? '-dark' : ''
  const isWanted = (name: string) => only.length === 0 || only.includes(name)
  const take = async (name: string, url: string) => {
    await page.goto(url)
    await page.locator('h1').first().waitFor()
    await page.locator('main [class*=loading]').first().waitFor({ state: 'detached' })
    await page.waitForTimeout(400)
    await page.screenshot({ path: join(directory, `${name}-${width}${end}.png`) })
  }
  for (const [name, path] of Object.entries(screens))
    if (isWanted(name)) await take(name, `${local.url}/console${path}`)
  const home = `${required.url}/console`
  if (isWanted('sign-in')) await take('sign-in', `${home}?tenant=${tenant.tenant_id}`)
  if (['tenants', 'tenant'].some(isWanted)) {
    await page.goto(home)
    await page.getByLabel('API key').fill(OPERATOR_KEY)
    await page.keyboard.press('Enter')
    await page.getByLabel('API key').waitFor({ state: 'detached' })
  }
  if (isWanted('tenants')) await take('tenants', `${home}/tenants`)
  if (isWanted('tenant')) await take('tenant', `${home}/tenants/${tenant.tenant_id}`)
  await page.close()
}

await Promise.all(looks.map(takeAll))
await browser.close()
for (const end of ends.reverse()) await end()
