// Keys, usage and health in the console.

import assert from 'node:assert/strict'
import { checkLooks, consoleScene, HOSTILE } from './testing/scene.ts'

const scene = consoleScene()

scene('a key is made, shown once and revoked', async (given) => {
  await checkLooks(given, '/access')
  const { page, accessible, end } = await given.visit('/access')
  await page.getByText('No keys').waitFor()
  await page.getByRole('button', { name: 'New key' }).click()
  await page.getByLabel('Name').fill(HOSTILE[0] ?? '')
  await accessible()
  await page.getByRole('button', { name: 'Create key' }).click()
  const shown = await page.getByRole('region', { name: 'New key' }).innerText()
  assert.match(shown, /^cst_/)
  await accessible()
  await page.getByRole('button', { name: 'I have kept it' }).click()
  await page.getByRole('cell', { name: HOSTILE[0] ?? '' }).waitFor()
  assert.ok(!(await page.content()).includes(shown.trim()))
  await page.getByRole('button', { name: /^Revoke / }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('revoked', { exact: true }).waitFor()
  await end()
  await checkLooks(given, '/access')
})

scene('usage shows the month by operation, and the same numbers beside the line', async (given) => {
  for (let i = 0; i < 3; i += 1)
    await given.local.call('POST', '/v1/stores/default/write', { content: `entry ${i}` })
  const { page, end } = await given.visit('/usage')
  await page.getByRole('row', { name: /memory\.write/ }).waitFor()
  await page.getByText('Reads and writes as a table').click()
  await page.getByRole('columnheader', { name: 'Writes' }).waitFor()
  await end()
  await checkLooks(given, '/usage')
})

scene('health shows readiness and the index of the store', async (given) => {
  const { page, end } = await given.visit('/health')
  await page.getByText('keyring').waitFor()
  await page.getByText('Vector space').waitFor()
  await end()
  await checkLooks(given, '/health')
})
