// Subject requests: a person who is no programmer answers one whole, from the name to the proof.

import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { consoleScene, HOSTILE } from './testing/scene.ts'

const scene = consoleScene()
const WRITE = '/v1/stores/default/write'

async function search(page: Page, name: string) {
  await page.getByLabel('Names, addresses, customer numbers').fill(name)
  await page.getByRole('button', { name: 'Search everything' }).click()
  await page.getByText('Searched:').waitFor()
}

async function saved(page: Page, button: string) {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: button }).click(),
  ])
  const stream = await download.createReadStream()
  return Buffer.concat(await stream.toArray())
}

scene('without requests the board says what to do', async ({ visit }) => {
  for (const theme of ['light', 'dark'] as const) {
    const { page, accessible, fits, end } = await visit('/subjects', { theme })
    await page.getByRole('heading', { name: 'No requests yet' }).waitFor()
    await accessible()
    await fits()
    await end()
  }
})

scene('an erasure request goes from the name to the verified proof', async ({ visit, local }) => {
  for (const content of [...HOSTILE, 'Ana Silva lives in Porto', 'Ana Silva keeps bees'])
    await local.call('POST', WRITE, { content })
  const { page, accessible, fits, end } = await visit('/subjects')
  await page.getByRole('button', { name: 'New erasure request' }).click()
  await page.getByRole('heading', { name: 'Who is it about?' }).waitFor()
  await accessible()
  await search(page, `Ana Silva\n${HOSTILE[0]}`)
  await page.getByRole('table', { name: 'Where it is' }).getByText('3').waitFor()
  assert.equal(/Ana|img/.test(page.url()), false, 'the name stays out of the address')
  await accessible()
  const letter = await saved(page, 'Letter as PDF')
  assert.equal(letter.subarray(0, 4).toString(), '%PDF')
  await page.getByRole('button', { name: 'Continue with this' }).click()
  await page.getByRole('button', { name: 'Continue', exact: true }).click()
  await page.getByRole('button', { name: 'Erase everything found' }).click()
  await accessible()
  await page.getByLabel('Type erase to confirm').fill('erase')
  await page.getByRole('button', { name: 'Erase', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Erasure request' }).waitFor()
  await page.getByRole('table', { name: 'Items of the manifest' }).waitFor()
  assert.equal(await page.getByText('erased', { exact: true }).count(), 3)
  const confirmation = await saved(page, 'Confirmation as PDF')
  assert.equal(confirmation.subarray(0, 4).toString(), '%PDF')
  const bundle = await saved(page, 'Manifest with certificates')
  assert.equal(bundle.toString().trim().split('\n').length, 4)
  await page.getByRole('button', { name: 'Verify with all certificates' }).click()
  await page.getByText('VALID', { exact: true }).waitFor()
  await accessible()
  await fits()
  await end()
})

scene('an access request hands over a letter, and is on record', async ({ visit, local }) => {
  await local.call('POST', WRITE, { content: 'Bruno is allergic to peanuts' })
  const path = '/subjects?new=access'
  const { page, accessible, fits, end } = await visit(path, { width: 390, theme: 'dark' })
  await search(page, 'Bruno')
  await accessible()
  await fits()
  await page.getByRole('button', { name: 'Continue with this' }).click()
  await page.getByText('Read it before you send it').waitFor()
  await accessible()
  const letter = await saved(page, 'Letter as PDF')
  assert.equal(letter.subarray(0, 4).toString(), '%PDF')
  await page.getByRole('button', { name: 'Back to all requests' }).click()
  await page.getByRole('table', { name: 'Subject requests' }).waitFor()
  await page
    .getByRole('link', { name: /^Access / })
    .first()
    .waitFor()
  await accessible()
  await fits()
  await end()
})

scene('what a legal hold protects is announced, kept and named', async ({ visit, local }) => {
  await local.call('POST', WRITE, { content: `Carla Dias ${HOSTILE[2]}` })
  await local.call('POST', '/v1/stores/default/holds', { reason: 'litigation' })
  const { page, accessible, end } = await visit('/subjects?new=erase')
  await search(page, 'Carla Dias')
  await page.getByRole('alert').getByText('under a legal hold').waitFor()
  await accessible()
  await page.getByRole('button', { name: 'Continue with this' }).click()
  await page.getByRole('button', { name: 'Continue', exact: true }).click()
  await page.getByRole('button', { name: 'Erase everything found' }).click()
  await page.getByLabel('Type erase to confirm').fill('erase')
  await page.getByRole('button', { name: 'Erase', exact: true }).click()
  await page.getByText('kept: on hold').waitFor()
  await page.getByText('done, some kept').waitFor()
  await accessible()
  await end()
})

scene(
  'many requests come in pages, and a filter names the overdue ones',
  async ({ visit, local }) => {
    const find = { text: 'nobody of this name' }
    for (let i = 0; i < 52; i += 1) {
      const preview = await local.call('POST', '/v1/erasure/subject', { find, preview: true })
      await local.call('POST', '/v1/erasure/subject', { find, expect_digest: preview.digest })
    }
    for (const width of [1440, 390]) {
      const { page, accessible, fits, end } = await visit('/subjects?kind=erase', { width })
      await page.getByText('50 rows on this page').waitFor()
      await accessible()
      await fits()
      await page.getByRole('button', { name: 'Next page' }).click()
      await page.getByText(/^4 rows on this page$/).waitFor()
      await page.getByLabel('Due', { exact: true }).selectOption('true')
      await page.getByRole('heading', { name: 'No request matches' }).waitFor()
      await end()
    }
  },
)
