// Every list with many rows and hostile names: its first page comes soon, and is one page long.

import assert from 'node:assert/strict'
import { limits } from '@custos/contract'
import { roundsOf } from '../../../packages/server/src/testing/sweep.ts'
import { consoleScene, HOSTILE, type Scene } from '../testing/scene.ts'

const scene = consoleScene()
const ROWS = roundsOf(60, 10_000)
/** Of what takes a search of everything to make: more than a page. */
const SOME = 52
/** As many as there may be of each. */
const AGENTS = Math.min(ROWS, 500)
const STORES = Math.min(ROWS, 1_000)
const KEYS = Math.min(ROWS, limits.keys_per_tenant)
const PEOPLE = Math.min(ROWS, limits.users_per_tenant)
const WEBHOOKS = 20
/** Fewer than the runs that may be under way at a time. */
const AT_ONCE = 10
const PAGE_ROWS = 50
const SOON_MS = 10_000

const SCREENS = [
  '/stores',
  '/decisions',
  '/approvals',
  '/policies',
  '/registries/artifacts',
  '/reputation',
  '/agents',
  '/runs',
  '/subjects',
  '/log',
  '/evidence',
  '/access',
  '/sign-on',
  '/webhooks',
]
const OTHERS = ['/', '/stores/default', '/retention', '/live', '/manifold', '/usage', '/billing']

const nameOf = (i: number): string => `${(HOSTILE[i % HOSTILE.length] ?? '').slice(0, 190)} ${i}`

/** Makes rows, some at once. */
async function many(count: number, make: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const work = async () => {
    while (next < count) await make(next++)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

/** Each searches everything there is: they come first. */
async function fillSearched({ local: { call } }: Scene): Promise<void> {
  const post = (path: string, body: object) => call('POST', path, body)
  await many(SOME, async () => {
    const find = { text: 'nobody of this name' }
    const { digest } = await post('/v1/erasure/subject', { find, preview: true })
    await post('/v1/erasure/subject', { find, expect_digest: digest })
  })
  await many(SOME, (i) => post('/v1/reports/generate', { framework: 'gdpr', title: nameOf(i) }))
}

async function fill({ local: { call } }: Scene): Promise<void> {
  const post = (path: string, body: object) => call('POST', path, body)
  await many(ROWS, (i) => post('/v1/stores/default/write', { content: `${nameOf(i)} is late` }))
  await many(ROWS, (i) =>
    post('/v1/decisions/log', {
      store_id: 'default',
      model_id: nameOf(i),
      query: nameOf(i),
      output: nameOf(i),
      retrieved_refs: [],
      retrieved_contents: [],
      retrieved_scores: [],
      token_count: 1,
      latency_ms: 1,
    }),
  )
  const agents: string[] = []
  await many(AGENTS, async (i) => {
    const made = await post('/v1/orchestrator/agents', { name: nameOf(i), model_id: nameOf(i) })
    agents.push((made as unknown as { readonly agent_id: string }).agent_id)
  })
  await many(ROWS, async (i) => {
    const run = await post('/v1/orchestrator/runs', { agent_id: agents[i % agents.length] })
    const { run_id } = run as unknown as { readonly run_id: string }
    // There may be few at a time.
    await post(`/v1/orchestrator/runs/${run_id}/cancel`, {})
  })
}

async function fillRecords({ local: { call } }: Scene): Promise<void> {
  const post = (path: string, body: object) => call('POST', path, body)
  await many(STORES, (i) => post('/v1/stores', { store_id: `s${i}`, name: nameOf(i) }))
  await many(KEYS, (i) => post('/v1/keys', { name: nameOf(i), class: 'read_only' }))
  await many(PEOPLE, (i) =>
    post('/v1/cloud/tenants/local/users', {
      email: `person-${i}@harbour.example`,
      name: nameOf(i),
      roles: ['viewer'],
    }),
  )
  const layers = (i: number) => [{ digest: i.toString(16).padStart(64, '0') }]
  const artifact = (i: number) =>
    post('/v1/artifacts/register', {
      artifact_ref: nameOf(i),
      base_model_ref: 'base/model',
      layers: layers(i),
    })
  await many(ROWS, artifact)
  await post('/v1/governance/policies', {
    name: nameOf(0),
    policy_type: 'hitl_required',
    config: { operations: ['artifacts.register'] },
  })
  await many(ROWS, (i) => artifact(ROWS + i))
  await many(ROWS, (i) =>
    post('/v1/governed/decisions', {
      decision: 'certify',
      reason: `the amount of order ${i} is within it`,
      invoice_id: `INV-${i}`,
      agent_handle: `agent-${i}@harbour`,
    }),
  )
  for (let i = 0; i < limits.sso_connections; i += 1)
    await post('/v1/portal/sso/connections', {
      name: nameOf(i),
      issuer: 'https://login.harbour.example',
      client_id: nameOf(i),
    })
  for (let i = 0; i < WEBHOOKS; i += 1)
    await post('/v1/webhooks', {
      url: 'http://127.0.0.1:9/x',
      description: nameOf(i),
      events: ['*'],
    })
}

scene('every list shows its first page soon, whatever there is', async (given) => {
  await fillSearched(given)
  await fill(given)
  await fillRecords(given)
  for (const path of [...SCREENS, ...OTHERS]) {
    const begun = performance.now()
    const { page, fits, end } = await given.visit(path)
    await page.locator('main [class*=loading]').first().waitFor({ state: 'detached' })
    if (SCREENS.includes(path))
      assert.ok(
        await page
          .locator('main table tbody tr')
          .first()
          .waitFor()
          .then(
            () => true,
            () => false,
          ),
        `${path} shows no row`,
      )
    const took = performance.now() - begun
    assert.ok(took < SOON_MS, `${path} took ${Math.round(took)} ms`)
    // What is live is as long as what happened.
    const tables = SCREENS.includes(path) ? await page.locator('main table').all() : []
    for (const table of tables)
      assert.ok((await table.locator('tbody tr').count()) <= PAGE_ROWS, path)
    assert.equal(await page.locator('main img[src="x"]').count(), 0, path)
    await fits()
    await page.setViewportSize({ width: 390, height: 900 })
    await fits()
    await end()
  }
})
