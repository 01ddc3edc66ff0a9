// Every screen with a key that may only read, and with a key that is limited to one store.

import assert from 'node:assert/strict'
import { newKey, newTenant, visitWith } from './testing/keys.ts'
import { consoleScene, type Scene } from './testing/scene.ts'

const scene = consoleScene({ CUSTOS_AUTH: 'required' })

/** What would change something, on the screens that a reader sees. */
const WRITES = new RegExp(
  [
    '^New ',
    '^Register',
    '^Seal a',
    '^Invoke',
    '^Compose$',
    '^Issue a certificate$',
    '^Install',
    '^Certify',
    '^Generate',
    '^Run checks$',
    '^Keep as baseline$',
    '^Attest',
    '^Delete',
    '^Cancel the',
    '^Destroy',
    '^Create',
  ].join('|'),
)

const LOADING = 'main [class*=loading]'

async function prepare({ local }: Scene) {
  const { api_key: owner } = await newTenant(local, 'harbour')
  const content = 'The ferry is late'
  const { ref } = await local.call('POST', '/v1/stores/default/write', { content }, owner)
  assert.ok(ref > 0)
  const artifact = {
    artifact_ref: 'adapters/support',
    base_model_ref: 'models/base',
    layers: [{ digest: 'a1'.repeat(32) }],
  }
  await local.call('POST', '/v1/artifacts/register', artifact, owner)
  await local.call('POST', '/v1/reports/generate', { framework: 'gdpr' }, owner)
  return owner
}

/** Follows each link of the navigation: nothing may be refused. */
async function walk(given: Scene, key: string): Promise<string[]> {
  const { page, accessible, end } = await visitWith(given, key, '/')
  const links = page.getByRole('navigation', { name: 'Screens' }).getByRole('link')
  await links.first().waitFor()
  const names = await links.allInnerTexts()
  for (const name of names) {
    await page
      .getByRole('navigation', { name: 'Screens' })
      .getByRole('link', { name, exact: true })
      .click()
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    await page.locator(LOADING).first().waitFor({ state: 'detached' })
    assert.deepEqual(await page.getByRole('alert').allInnerTexts(), [], name)
    await accessible()
  }
  await end()
  return names
}

scene('a key that may only read sees no button that writes', async (given) => {
  const owner = await prepare(given)
  const reader = await newKey(given.local, owner, { name: 'reader', class: 'read_only' })
  const { page, end } = await visitWith(given, reader, '/registries/artifacts')
  await page.getByRole('link', { name: 'adapters/support' }).first().waitFor()
  for (const path of ['/registries/artifacts', '/registries/types', '/evidence', '/reputation']) {
    await page.goto(`${given.local.url}/console${path}`)
    await page.locator('h1').first().waitFor()
    await page.locator(LOADING).first().waitFor({ state: 'detached' })
    for (const button of await page.locator('main').getByRole('button').allInnerTexts())
      assert.doesNotMatch(button, WRITES, path)
  }
  await end()
  const names = await walk(given, reader)
  for (const shown of ['Registries', 'Reputation', 'Evidence', 'Manifold'])
    assert.ok(names.includes(shown), shown)
  for (const hidden of ['Webhooks', 'Runs', 'Billing', 'Tenants', 'Keys & access'])
    assert.ok(!names.includes(hidden), hidden)
})

scene('a key that is limited to one store sees the screens it may use', async (given) => {
  const owner = await prepare(given)
  const limited = await newKey(given.local, owner, {
    name: 'limited',
    class: 'tenant',
    allowed_stores: ['default'],
  })
  const names = await walk(given, limited)
  assert.ok(names.includes('Stores'))
  for (const hidden of ['Tenants', 'Runs', 'Webhooks']) assert.ok(!names.includes(hidden), hidden)
})

scene('a link to a screen beyond the rights says which scope it needs', async (given) => {
  const owner = await prepare(given)
  const reader = await newKey(given.local, owner, { name: 'reader', class: 'read_only' })
  const { page, accessible, end } = await visitWith(given, reader, '/access')
  for (const [path, scope] of [
    ['/access', 'keys:admin'],
    ['/webhooks', 'webhooks:admin'],
    ['/tenants', 'admin:platform'],
  ]) {
    await page.goto(`${given.local.url}/console${path}`)
    await page.getByText(`It needs the scope ${scope}.`).waitFor()
    assert.equal(await page.locator('main').getByRole('button').count(), 0)
  }
  await accessible()
  await end()
})
