// People in the console: invited, signed in by their invitation, given other roles, removed.

import assert from 'node:assert/strict'
import { newTenant, visitWith } from './testing/keys.ts'
import { checkLooks, consoleScene, HOSTILE } from './testing/scene.ts'

const scene = consoleScene({ CUSTOS_AUTH: 'required' })

scene(
  "a person comes by 'identity.accept', and what changes them ends their session",
  async (given) => {
    const { api_key } = await newTenant(given.local, 'harbour')
    const admin = await visitWith(given, api_key, '/access')
    const dialog = admin.page.getByRole('dialog')
    await admin.page.getByText('No people').waitFor()
    await admin.page.getByRole('button', { name: 'Invite a person' }).press('Enter')
    await dialog.getByLabel('E-mail').fill('ana@harbour.example')
    await dialog.getByLabel('Name', { exact: true }).fill(HOSTILE[0] ?? '')
    await dialog.getByLabel(/^Viewer/).uncheck()
    assert.equal(await dialog.getByRole('button', { name: 'Invite' }).isDisabled(), true)
    await dialog.getByLabel(/^Auditor/).check()
    await admin.accessible()
    await dialog.getByRole('button', { name: 'Invite' }).click()
    const region = dialog.getByRole('region', { name: 'Invitation' })
    const invitation = (await region.innerText()).trim()
    await admin.accessible()
    await dialog.getByRole('button', { name: 'I have kept it' }).click()
    await admin.page.getByText('invited', { exact: true }).waitFor()
    assert.ok(!(await admin.page.content()).includes(invitation))

    const ana = await given.visit('/', { statuses: [401, 400] })
    await ana.accessible()
    await ana.page.getByLabel('Invitation', { exact: true }).fill(invitation)
    await ana.page.keyboard.press('Enter')
    await ana.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    const screens = await ana.page.getByRole('navigation', { name: 'Screens' }).innerText()
    assert.match(screens, /Audit log/)
    assert.doesNotMatch(screens, /Keys & access/)
    const stored = await ana.page.evaluate<string>(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href])',
    )
    assert.ok(!stored.includes(invitation))

    await admin.page.reload()
    await admin.page.getByText('active', { exact: true }).waitFor()
    await admin.page.getByRole('button', { name: `Change ${HOSTILE[0]}` }).click()
    await dialog.getByLabel(/^Auditor/).uncheck()
    await dialog.getByLabel(/^Viewer/).check()
    await admin.accessible()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await admin.page.getByRole('cell', { name: 'viewer', exact: true }).waitFor()
    await ana.page.reload()
    await ana.page.getByRole('heading', { name: 'Sign in to Custos' }).waitFor()
    await ana.page.getByLabel('Invitation', { exact: true }).fill(invitation)
    await ana.page.keyboard.press('Enter')
    await ana.page.getByRole('alert').getByText('login_expired').waitFor()
    await ana.page.setViewportSize({ width: 390, height: 900 })
    await ana.fits()
    await ana.end()

    await admin.page.getByRole('button', { name: `Change ${HOSTILE[0]}` }).click()
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await admin.page.getByRole('dialog').last().getByRole('button', { name: 'Remove' }).click()
    await admin.page.getByText('No people').waitFor()
    await admin.end()
  },
)

scene('somebody who may not make owners is not offered it', async (given) => {
  const { api_key } = await newTenant(given.local, 'quay')
  const { api_key: limited } = (await given.local.call(
    'POST',
    '/v1/keys',
    { name: 'people', scopes: ['sso:admin', 'keys:admin', 'memory:read'] },
    api_key,
  )) as unknown as { readonly api_key: string }
  const { page, end } = await visitWith(given, limited, '/access')
  await page.getByRole('button', { name: 'Invite a person' }).click()
  await page
    .getByRole('dialog')
    .getByLabel(/^Admin/)
    .waitFor()
  assert.equal(
    await page
      .getByRole('dialog')
      .getByLabel(/^Owner/)
      .count(),
    0,
  )
  await end()
})

const local = consoleScene()

local('keys and people look right in local mode', async (given) => {
  const body = {
    email: `${'w'.repeat(50)}@harbour.example`,
    name: HOSTILE[2]?.slice(0, 200),
    roles: ['viewer'],
  }
  await given.local.call('POST', '/v1/cloud/tenants/local/users', body)
  await checkLooks(given, '/access')
})
