// The registries of the console: one layout for all six, with the record, its members and proof.

import assert from 'node:assert/strict'
import { checkLooks, consoleScene, HOSTILE, type Scene } from './testing/scene.ts'

const scene = consoleScene()
const REGISTRIES = ['artifacts', 'corpora', 'types', 'actions', 'compositions', 'landing']
const LAYER = 'a1'.repeat(32)
const [IMAGE = ''] = HOSTILE

const artifactOf = (ref: string) => ({
  artifact_ref: ref,
  base_model_ref: 'models/base',
  layers: [{ digest: LAYER }],
})

const register = ({ local }: Scene, ref: string) =>
  local.call('POST', '/v1/artifacts/register', artifactOf(ref))

scene('each registry that is empty says so', async (given) => {
  for (const registry of REGISTRIES) {
    const { page, end } = await given.visit(`/registries/${registry}`)
    await page.getByText('Nothing is registered yet').waitFor()
    await end()
  }
  await checkLooks(given, '/registries/artifacts')
})

scene('an artifact is registered by keyboard, verified here and by the service', async (given) => {
  const { page, accessible, end } = await given.visit('/registries/artifacts')
  await page.getByRole('button', { name: 'Register an artifact' }).first().press('Enter')
  const dialog = page.getByRole('dialog')
  await accessible()
  await dialog.getByLabel('Name').focus()
  await page.keyboard.type(IMAGE)
  await dialog.getByLabel('Base model').fill('models/base')
  await dialog.getByLabel('Digests of the layers').fill(LAYER)
  await dialog.getByRole('button', { name: 'Register an artifact' }).press('Enter')
  await page.getByRole('heading', { level: 1, name: IMAGE, exact: true }).waitFor()
  assert.equal(await page.locator('main img').count(), 0)
  await page.getByText(LAYER).first().waitFor()
  await page.getByRole('button', { name: 'Verify here' }).click()
  await page.getByText('VALID', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Ask the service to verify' }).click()
  await page.getByText('The record verifies.').waitFor()
  const { pathname } = new URL(page.url())
  await end()
  await checkLooks(given, pathname.replace('/console', ''))
})

scene('a corpus shows its sources, and a proof of one verifies here', async (given) => {
  const { page, accessible, end } = await given.visit('/registries/corpora')
  await page.getByRole('button', { name: 'Seal a corpus' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('Support letters')
  await dialog.getByLabel('Sources').fill(`letters | CC-BY-4.0\n${IMAGE} | | consent`)
  const statements = { representativeness: 'all regions', bias_examination: 'by hand' }
  await dialog.getByLabel('Statements').fill(JSON.stringify(statements))
  await dialog.getByRole('button', { name: 'Seal a corpus' }).click()
  await page.getByRole('heading', { level: 1, name: 'Support letters' }).waitFor()
  await page.getByRole('button', { name: 'Proof of letters' }).click()
  await dialog.getByRole('button', { name: 'Verify here' }).click()
  await dialog.getByText('VALID', { exact: true }).waitFor()
  await accessible()
  await end()
})

scene('a type has versions, and a template is tried before it is installed', async (given) => {
  const spec = { properties: { weight: { type: 'number' } } }
  const type = { kind: 'object', name: 'Parcel', spec }
  await given.local.call('POST', '/v1/world-model/types', type)
  const more = { ...type, spec: { properties: { size: { type: 'number' } } } }
  await given.local.call('POST', '/v1/world-model/types', more)
  const { page, accessible, end } = await given.visit('/registries/types')
  await page.getByRole('button', { name: 'Install a template' }).click()
  await page.getByRole('button', { name: 'Dry run' }).click()
  await page.getByText(/It would register \d+ types/).waitFor()
  await accessible()
  await page.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('link', { name: 'Parcel' }).first().click()
  await page.getByText('2, the newest').waitFor()
  await page.getByRole('combobox', { name: 'Version' }).selectOption('1')
  await page.getByRole('region', { name: 'Spec', exact: true }).getByText('weight').waitFor()
  await end()
})

scene('an action is invoked, a composition made and a certificate issued', async (given) => {
  const type = { kind: 'action', name: 'refund', spec: { required_trust_tier: 'basic' } }
  await given.local.call('POST', '/v1/world-model/types', type)
  const { page, end } = await given.visit('/registries/actions')
  const dialog = page.getByRole('dialog')
  const open = async (registry: string, verb: string) => {
    await page.getByRole('link', { name: registry, exact: true }).click()
    await page.getByRole('button', { name: verb }).first().click()
  }
  const send = (verb: string) => dialog.getByRole('button', { name: verb }).click()
  const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true })
  await open('Actions', 'Invoke an action')
  await dialog.getByLabel('Action').fill('refund')
  await dialog.getByLabel('Applies to').fill('INV-1')
  await dialog.getByLabel('On behalf of').fill('ana')
  await dialog.getByLabel('Parameters').fill('{')
  await send('Invoke an action')
  await dialog.getByRole('alert').getByText('Parameters is not a JSON object').waitFor()
  await dialog.getByLabel('Parameters').fill('{"amount": 5}')
  await send('Invoke an action')
  await heading('refund').waitFor()
  await page.goto(`${given.local.url}/console/registries/compositions`)
  await open('Compositions', 'Compose')
  await dialog.getByLabel('Name of the result').fill('stacks/support')
  await dialog
    .getByLabel('Members')
    .fill('models/base | Apache-2.0 | certified\nmodels/x | MIT | certified')
  await dialog.getByLabel('On behalf of').fill('ana')
  await send('Compose')
  await heading('stacks/support').waitFor()
  await page.getByText('compatible', { exact: true }).waitFor()
  await page.getByText('only claimed').first().waitFor()
  await page.goto(`${given.local.url}/console/registries/landing`)
  await open('Landing', 'Issue a certificate')
  await dialog.getByLabel('Artifact').fill('adapters/support')
  await dialog.getByLabel('Base model').fill('models/base')
  await dialog.getByLabel('Digests of the layers').fill(LAYER)
  await dialog.getByLabel('Data', { exact: true }).fill(`{"merkle_root": "${'5'.repeat(64)}"}`)
  await dialog.getByLabel('On behalf of').fill('ana')
  await dialog.getByLabel('Reference of the delegation').fill('d-1')
  await send('Issue a certificate')
  await heading('adapters/support').waitFor()
  await page.getByRole('button', { name: 'Verify here' }).click()
  await page.getByText('VALID', { exact: true }).waitFor()
  const { pathname } = new URL(page.url())
  await end()
  await checkLooks(given, pathname.replace('/console', ''))
  await checkLooks(given, '/registries/landing')
})

scene('many records and hostile names are text, and fit', async (given) => {
  for (const name of HOSTILE) await register(given, name)
  for (let i = 0; i < 60; i += 1) await register(given, `adapters/${i}`)
  await checkLooks(given, '/registries/artifacts')
  const { page, end } = await given.visit('/registries/artifacts')
  const rows = page.getByRole('table', { name: 'Artifacts' }).locator('tbody tr')
  await rows.first().waitFor()
  assert.equal(await rows.count(), 50)
  await page.getByRole('button', { name: 'Next page' }).click()
  await page.getByRole('link', { name: HOSTILE[1] ?? '', exact: true }).waitFor()
  assert.equal(await page.locator('main img').count(), 0)
  await end()
})

scene('what waits is approved in place, by name', async (given) => {
  const { local } = given
  await local.call('POST', '/v1/governance/policies', {
    name: 'Adapters need a person',
    policy_type: 'hitl_required',
    config: { operations: ['artifacts.register'] },
  })
  await register(given, 'adapters/waiting')
  const { page, accessible, end } = await given.visit('/registries/artifacts')
  await page.getByRole('link', { name: 'adapters/waiting' }).first().click()
  await page.getByText('Adapters need a person').waitFor()
  await page.getByLabel('How').selectOption('name')
  await page.getByLabel('Your name').fill('ben')
  await accessible()
  await page.getByRole('button', { name: 'Approve', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click()
  await page.getByText('registered', { exact: true }).waitFor()
  await end()
})
