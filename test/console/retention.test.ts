// Retention and holds: each store's period and what is due, a hold placed and released.

import assert from 'node:assert/strict'
import { consoleScene, HOSTILE } from './testing/scene.ts'

const scene = consoleScene()

scene('the one store of a new tenant has no limit and no hold', async ({ visit, local }) => {
  await local.call('POST', '/v1/stores/default/write', { content: 'one' })
  for (const theme of ['light', 'dark'] as const) {
    const { page, accessible, fits, end } = await visit('/retention?store=default', { theme })
    await page.getByRole('heading', { name: 'No legal holds' }).waitFor()
    await page.getByRole('table', { name: 'Stores' }).getByText('no limit').waitFor()
    await accessible()
    await fits()
    await end()
  }
})

scene(
  'the keyboard alone sets a period, places a hold and releases it',
  async ({ visit, local }) => {
    const { page, accessible, fits, end } = await visit('/retention')
    const { keyboard } = page
    await page.getByRole('table', { name: 'Stores' }).getByRole('link').first().focus()
    await keyboard.press('Enter')
    await page.getByRole('button', { name: 'Change the period' }).press('Enter')
    await page.getByLabel('Days to keep a memory').focus()
    await keyboard.type('365')
    await keyboard.press('Tab')
    await keyboard.type(HOSTILE[0] ?? '')
    await accessible()
    await keyboard.press('Enter')
    await page.getByText('365 days').first().waitFor()
    await page.getByText('<img src=x onerror=alert(1)>').waitFor()
    await page.getByRole('button', { name: 'Place a hold' }).press('Enter')
    await page.getByLabel('Reason').focus()
    await keyboard.type('litigation')
    await accessible()
    await page.getByRole('button', { name: 'Place the hold' }).press('Enter')
    await page.getByText('in force', { exact: true }).waitFor()
    await page.getByText('none while a hold is in force').waitFor()
    await accessible()
    await page.getByRole('button', { name: 'Release' }).press('Enter')
    await page.getByLabel('Type release to confirm').focus()
    await accessible()
    await keyboard.type('release')
    await keyboard.press('Enter')
    await page.getByText('released', { exact: true }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Release' }).count(), 0)
    await fits()
    await end()
    const kept = await local.text('/v1/stores/default/retention')
    assert.equal(JSON.parse(kept).retain_days, 365)
  },
)

scene('many stores and holds come in pages, whatever their names', async ({ visit, local }) => {
  for (let i = 0; i < 55; i += 1) {
    await local.call('POST', '/v1/stores', { name: HOSTILE[i % 3]?.slice(0, 200) })
    await local.call('POST', '/v1/stores/default/holds', {
      reason: `matter ${i} ${HOSTILE[i % 4]}`,
    })
  }
  const path = '/retention?store=default'
  for (const width of [1440, 390]) {
    const { page, accessible, fits, end } = await visit(path, { width, theme: 'dark' })
    await page.getByText('50 rows on this page').nth(1).waitFor()
    await accessible()
    await fits()
    await page.getByRole('button', { name: 'Next page' }).first().click()
    await page.getByText('6 rows on this page').waitFor()
    await end()
  }
})
