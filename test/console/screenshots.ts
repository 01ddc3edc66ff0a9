// Takes pictures of screens of the console on a service with sample data, light and dark.
//   npm run pictures -- <directory> [name of a screen ...]

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { serveLocally } from '../../packages/cli/src/testing/serve-locally.ts'
import { makeSampleTenant } from './testing/sample-tenant.ts'

const HEIGHT = 900
const [directory = 'screenshots', ...only] = process.argv.slice(2)
mkdirSync(directory, { recursive: true })

const ends: (() => void | Promise<void>)[] = []
const local = await serveLocally({ after: (end) => void ends.push(end) })
const made = await makeSampleTenant(local)
const screens: Readonly<Record<string, string>> = {
  overview: '/',
  stores: '/stores',
  memory: '/stores/default?q=Where+does+Ana+sit',
  timeline: '/stores/default/timeline',
  decisions: '/decisions',
  approvals: '/approvals',
  policies: '/policies',
  'registries-artifacts': '/registries/artifacts',
  'registries-compositions': '/registries/compositions',
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
for (const { width, colorScheme } of looks) {
  const page = await browser.newPage({ viewport: { width, height: HEIGHT }, colorScheme })
  const end = colorScheme === 'dark' ? '-dark' : ''
  for (const [name, path] of Object.entries(screens)) {
    if (only.length > 0 && !only.includes(name)) continue
    await page.goto(`${local.url}/console${path}`)
    await page.locator('h1').first().waitFor()
    await page.locator('main [class*=loading]').first().waitFor({ state: 'detached' })
    await page.waitForTimeout(400)
    await page.screenshot({ path: join(directory, `${name}-${width}${end}.png`) })
  }
  await page.close()
}
await browser.close()
for (const end of ends.reverse()) await end()
