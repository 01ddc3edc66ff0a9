// Reports, checks of the service and the badge in the console.

import assert from 'node:assert/strict'
import { checkLooks, consoleScene, HOSTILE } from './testing/scene.ts'

const scene = consoleScene()

scene('a report is generated, read, verified, saved in four formats and deleted', async (given) => {
  await checkLooks(given, '/evidence')
  const title = HOSTILE[0] ?? ''
  const { page, accessible, end } = await given.visit('/evidence')
  await page.getByText('No reports yet').waitFor()
  await page.getByRole('button', { name: 'Generate a report' }).press('Enter')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Framework').selectOption('gdpr')
  await dialog.getByLabel('Title').fill(title)
  await accessible()
  await dialog.getByRole('button', { name: 'Generate' }).press('Enter')
  await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
  assert.equal(await page.locator('main img').count(), 0)
  for (const format of ['PDF', 'HTML', 'JSON, signed', 'OSCAL']) {
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: format, exact: true }).click()
    assert.match((await saved).suggestedFilename(), /^report-.*\.(pdf|html|json)$/)
  }
  await page.getByRole('button', { name: 'Verify here' }).click()
  await page.getByText('VALID', { exact: true }).waitFor()
  await page.getByText('not on record').first().waitFor()
  const { pathname } = new URL(page.url())
  await checkLooks(given, pathname.replace('/console', ''))
  await page.getByRole('button', { name: 'Delete' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No reports yet').waitFor()
  await end()
})

scene('checks run, their result is shown, and a baseline is kept', async (given) => {
  const { page, accessible, end } = await given.visit('/evidence')
  await page.getByText('No check has run yet').waitFor()
  await page.getByRole('button', { name: 'Run checks' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('status').getByText('pass', { exact: true }).waitFor()
  await dialog.getByRole('heading', { name: /^chain/ }).waitFor()
  await accessible()
  await page.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('button', { name: 'Keep as baseline' }).click()
  await dialog.getByRole('status').getByText('pass', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('cell', { name: 'baseline' }).waitFor()
  await page.getByRole('img', { name: 'Conformance badge of this tenant' }).waitFor()
  await end()
  await checkLooks(given, '/evidence')
})
