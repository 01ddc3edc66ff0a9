// Billing in the console of a service that takes no payments, and of one that does.

import assert from 'node:assert/strict'
import { checkLooks, consoleScene } from './testing/scene.ts'

const scene = consoleScene()

scene('a service that takes no payments says so, and shows what is used', async (given) => {
  await given.local.call('POST', '/v1/stores/default/write', { content: 'The ferry is late' })
  const { page, end } = await given.visit('/billing')
  await page.getByText('Billing is not configured').waitFor()
  await page.getByText('Used in this period').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Change to pro' }).count(), 0)
  await end()
  await checkLooks(given, '/billing')
})
