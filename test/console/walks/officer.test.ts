// The walk of an erasure officer, who types no address: from signing in to the files that are kept.

import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { newKey, newTenant, visitWith } from '../testing/keys.ts'
import { consoleScene } from '../testing/scene.ts'

const scene = consoleScene({ CUSTOS_AUTH: 'required' })
const NAME = 'Maria Lindqvist'

async function savedPdf(page: Page, button: string): Promise<void> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: button, exact: true }).click(),
  ])
  const bytes = Buffer.concat(await (await download.createReadStream()).toArray())
  assert.equal(bytes.subarray(0, 5).toString(), '%PDF-', button)
  assert.match(download.suggestedFilename(), /\.pdf$/)
}

scene('an officer answers a request from the search to the letter', async (given) => {
  const { call } = given.local
  const { api_key: owner } = await newTenant(given.local, 'harbour')
  const write = (store: string, content: string) =>
    call('POST', `/v1/stores/${store}/write`, { content }, owner)
  for (const store_id of ['default', 'letters'])
    await call('POST', '/v1/stores', { store_id, name: store_id }, owner).catch(() => undefined)
  await write('default', `${NAME} lives in Porto`)
  await write('default', 'The ferry is late')
  await write('letters', `${NAME} asks for a refund`)
  await call('POST', '/v1/stores/letters/holds', { reason: 'litigation' }, owner)
  const scopes = ['erasure:execute', 'memory:read', 'decisions:read']
  const key = await newKey(given.local, owner, { name: 'officer', scopes })

  const { page, accessible, fits, end } = await visitWith(given, key, '/')
  const typed: string[] = []
  page.on('framenavigated', (frame) => void typed.push(frame.url()))
  const nav = page.getByRole('navigation', { name: 'Screens' })
  // What is held where, before anything is decided.
  await nav.getByRole('link', { name: 'Retention & holds' }).click()
  await page.getByRole('heading', { level: 1, name: 'Retention & holds' }).waitFor()
  await nav.getByRole('link', { name: 'Subject requests' }).click()
  await page.getByRole('button', { name: 'New erasure request' }).click()
  await page.getByLabel('Names, addresses, customer numbers').fill(NAME)
  await page.getByRole('button', { name: 'Search everything' }).click()
  await page.getByRole('table', { name: 'Where it is' }).waitFor()
  await page.getByRole('alert').getByText('under a legal hold').waitFor()
  await accessible()
  await savedPdf(page, 'Letter as PDF')
  await page.getByRole('button', { name: 'Continue with this' }).click()
  await page.getByRole('button', { name: 'Continue', exact: true }).click()
  await page.getByRole('button', { name: 'Erase everything found' }).click()
  await page.getByLabel('Type erase to confirm').fill('erase')
  await page.getByRole('button', { name: 'Erase', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Erasure request' }).waitFor()
  await page.getByText('done, some kept').waitFor()
  await page.getByText('kept: on hold').waitFor()
  await page.getByRole('heading', { name: 'Dates' }).waitFor()
  await savedPdf(page, 'Confirmation as PDF')
  await accessible()

  const items = page.getByRole('table', { name: 'Items of the manifest' })
  await items.getByRole('link').first().click()
  await page.getByRole('heading', { level: 1, name: 'Certificate of erasure' }).waitFor()
  await savedPdf(page, 'Certificate as PDF')
  await page.getByRole('button', { name: 'Verify here' }).click()
  await page.getByText('VALID', { exact: true }).waitFor()

  await nav.getByRole('link', { name: 'Subject requests' }).click()
  await page.getByRole('table', { name: 'Subject requests' }).getByText('done, some kept').waitFor()
  await nav.getByRole('link', { name: 'Erasure', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Erasure' }).waitFor()
  await fits()
  // The name of the person is in no address that the browser was at.
  assert.ok(typed.length > 0)
  for (const url of typed) assert.doesNotMatch(decodeURIComponent(url), /Lindqvist/)
  await end()
})
