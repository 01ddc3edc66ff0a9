// The policies screens of the console.

import assert from 'node:assert/strict'
import { checkLooks, consoleScene, HOSTILE, type Scene } from './testing/scene.ts'

const scene = consoleScene()
const NAME_CHARS = 200

interface SavedPolicy {
  readonly policy_id: string
}

const create = async ({ local }: Scene, name: string, tools: readonly string[]) => {
  const body = { name, policy_type: 'tool_deny', config: { denied_tools: tools } }
  return (await local.call('POST', '/v1/governance/policies', body)) as unknown as SavedPolicy
}

scene('without policies the screen says so, and the defaults are one click', async (given) => {
  await checkLooks(given, '/policies')
  const { page, end } = await given.visit('/policies')
  await page.getByText('No policies yet').waitFor()
  await page.getByText('No results yet').waitFor()
  await page.getByRole('button', { name: 'Create defaults' }).click()
  await page.getByRole('link', { name: 'Default Rate Limit' }).waitFor()
  await end()
})

scene(
  "a policy is made of its type's schema, by keyboard, and tried in a dry run",
  async (given) => {
    const { page, accessible, end } = await given.visit('/policies')
    await page.getByRole('button', { name: 'New policy' }).press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Type').selectOption('tool_deny')
    await accessible()
    await dialog.getByLabel('Name', { exact: true }).focus()
    await page.keyboard.type('No shell')
    await dialog.getByLabel('Denied tools').focus()
    await page.keyboard.type('shell')
    await page.keyboard.press('Enter')
    await page.keyboard.type('rm')
    await dialog.getByRole('button', { name: 'Create policy' }).press('Enter')
    await page.getByRole('heading', { level: 1, name: 'No shell' }).waitFor()
    await page.getByText('shell, rm').first().waitFor()
    await page.getByRole('link', { name: 'Policies' }).click()
    await page.getByLabel('tool_name').fill('shell')
    await page.getByRole('button', { name: 'Evaluate' }).press('Enter')
    await page.getByText('It is refused (dry run)').waitFor()
    await page.getByText('No results yet').waitFor()
    await page.getByLabel('Dry run').uncheck()
    await page.getByRole('button', { name: 'Evaluate' }).press('Enter')
    await page.getByText('It is refused (recorded)').waitFor()
    await page
      .getByRole('table', { name: 'Results of policies' })
      .getByRole('row', { name: /denied.*No shell/ })
      .waitFor()
    await page.getByLabel('More of the request').fill('{')
    await page.getByRole('button', { name: 'Evaluate' }).press('Enter')
    await page.getByRole('alert').getByText('is not JSON').waitFor()
    await end()
  },
)

scene('a configuration that is refused says why in place', async (given) => {
  const { page, end } = await given.visit('/policies', { statuses: [422] })
  await page.getByRole('button', { name: 'New policy' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Type').selectOption('tool_deny')
  await dialog.getByLabel('Name', { exact: true }).fill('Broken pattern')
  await dialog.getByLabel('Denied tools').fill('(')
  await dialog.getByRole('button', { name: 'Create policy' }).click()
  await dialog.getByRole('alert').waitFor()
  await end()
})

scene('versions stand side by side, and a deleted policy stays readable', async (given) => {
  const { policy_id: id } = await create(given, 'Tools', ['shell'])
  const { page, end } = await given.visit(`/policies/${id}`)
  await page.getByRole('button', { name: 'Change', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Denied tools').fill('shell\ncurl')
  await dialog.getByRole('button', { name: 'Save as a new version' }).click()
  const versions = page.getByRole('table', { name: 'Versions side by side' })
  await versions.getByRole('columnheader', { name: 'Version 2, updated' }).waitFor()
  await versions.getByRole('row', { name: /denied tools.*changed.*shell.*shell, curl/ }).waitFor()
  await page.getByRole('button', { name: 'Switch off' }).click()
  await page.getByRole('button', { name: 'Switch on' }).waitFor()
  await page.getByLabel('Later').selectOption('2')
  await page.getByLabel('Earlier').selectOption('1')
  assert.match(page.url(), /older=1/)
  await page.getByRole('button', { name: 'Delete' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('deleted', { exact: true }).first().waitFor()
  assert.equal(await page.getByRole('button', { name: 'Change', exact: true }).count(), 0)
  await end()
  await checkLooks(given, `/policies/${id}`)
})

scene('many policies and hostile names are text, and fit', async (given) => {
  for (const name of HOSTILE) await create(given, name.slice(0, NAME_CHARS), ['never'])
  for (let i = 0; i < 60; i += 1) await create(given, `policy ${i}`, [`tool-${i}`])
  const [image = ''] = HOSTILE
  const { policy_id: id } = await create(given, `again ${image}`, [image])
  await given.local.call('POST', '/v1/governance/evaluate', {
    operation: 'tool_execution',
    context: { tool_name: 'x' },
  })
  await checkLooks(given, '/policies')
  await checkLooks(given, `/policies/${id}`)
  const { page, end } = await given.visit('/policies')
  await page.getByRole('link', { name: image, exact: true }).first().waitFor()
  assert.equal(await page.locator('main img').count(), 0)
  const rows = page.getByRole('table', { name: 'Policies', exact: true }).locator('tbody tr')
  assert.equal(await rows.count(), 50)
  await page.getByRole('button', { name: 'Next page' }).first().click()
  await page.getByRole('link', { name: 'policy 59', exact: true }).first().waitFor()
  await end()
})
