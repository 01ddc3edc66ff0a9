// The erasure screen: the walk-through for one memory by keyboard, its certificate, and the list.

import assert from 'node:assert/strict'
import { readSavedDocuments, verifySavedDocument } from '@custos/proof'
import { consoleScene, HOSTILE } from './testing/scene.ts'

const scene = consoleScene()
const WRITE = '/v1/stores/default/write'

scene(
  'nobody has erased anything: the screen says so, and begins with a search',
  async ({ visit }) => {
    for (const theme of ['light', 'dark'] as const) {
      const { page, accessible, fits, end } = await visit('/erasure', { theme })
      await page.getByRole('heading', { name: 'Nothing was erased yet' }).waitFor()
      await accessible()
      await fits()
      await end()
    }
  },
)

scene(
  'the keyboard alone erases a memory and reaches its certificate',
  async ({ visit, local }) => {
    for (const content of HOSTILE) await local.call('POST', WRITE, { content })
    const { ref } = await local.call('POST', WRITE, { content: 'Ana Silva keeps bees' })
    await local.call('POST', '/v1/decisions/log', {
      store_id: 'default',
      model_id: 'm',
      query: 'Who keeps bees?',
      output: 'Ana',
      retrieved_refs: [ref],
      retrieved_contents: ['Ana Silva keeps bees'],
      retrieved_scores: [1],
    })
    const { page, accessible, fits, end } = await visit('/erasure')
    const { keyboard } = page
    const heading = (name: string) => page.getByRole('heading', { name, exact: true })
    await page.getByLabel('Words of the memory, or its number').focus()
    await keyboard.type('bees')
    await keyboard.press('Enter')
    const choose = page.getByRole('button', { name: `Choose memory ${ref}` })
    await choose.waitFor()
    await accessible()
    assert.equal(
      page.url().includes('bees'),
      false,
      'what is searched for stays out of the address',
    )
    await choose.focus()
    await keyboard.press('Enter')
    await page.waitForFunction(`document.activeElement.textContent === 'See where it is'`)
    await page.getByText('Decisions with this text').waitFor()
    await page.locator('dd', { hasText: /^1$/ }).first().waitFor()
    await accessible()
    await keyboard.press('Tab')
    await keyboard.press('Enter')
    await heading('Say why').and(page.locator(':focus')).waitFor()
    await accessible()
    for (let i = 0; i < 3; i += 1) await keyboard.press('Tab')
    await keyboard.press('Enter')
    await heading('Erase it').and(page.locator(':focus')).waitFor()
    await keyboard.press('Tab')
    await keyboard.press('Enter')
    await page.getByLabel(`Type ${ref} to confirm`).focus()
    await accessible()
    await keyboard.type(String(ref))
    await keyboard.press('Enter')
    await heading('Take the certificate').and(page.locator(':focus')).waitFor()
    await page.getByRole('table', { name: 'Coverage' }).getByText('scrubbed in 1').waitFor()
    await page.getByText('GDPR Article 17 — Right to Erasure').first().waitFor()
    await page.getByRole('button', { name: 'Verify here' }).press('Enter')
    await page.getByText('VALID', { exact: true }).waitFor()
    await accessible()
    await fits()
    await end()
  },
)

scene('a certificate is saved as PDF and as a bundle that verifies', async ({ visit, local }) => {
  const { ref } = await local.call('POST', WRITE, { content: 'one more' })
  const { certificate_id: id } = await local.call('POST', '/v1/erasure/issue', { fact_ref: ref })
  await local.call('POST', '/v1/gcrumbs/roll', {})
  for (const theme of ['light', 'dark'] as const) {
    const { page, accessible, fits, end } = await visit(`/erasure/${id}`, { theme, width: 390 })
    await page.getByRole('table', { name: 'Coverage' }).waitFor()
    const [pdf] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Certificate as PDF' }).click(),
    ])
    assert.equal(pdf.suggestedFilename(), `certificate-${id}.pdf`)
    const [bundle] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Proof bundle' }).click(),
    ])
    const saved = await bundle.createReadStream()
    const text = Buffer.concat(await saved.toArray()).toString()
    const documents = readSavedDocuments(text)
    const { keys } = JSON.parse(text)
    assert.equal(documents.length, 2, 'the certificate and its place in the log')
    for (const document of documents) {
      const verdict = await verifySavedDocument(document, { keys, entry: undefined })
      assert.equal(verdict.valid, true, verdict.reason)
    }
    await accessible()
    await fits()
    await end()
  }
})

scene('many certificates come in pages', async ({ visit, local }) => {
  for (let i = 0; i < 60; i += 1) {
    const { ref } = await local.call('POST', WRITE, { content: `row ${i}` })
    await local.call('POST', '/v1/erasure/issue', {
      fact_ref: ref,
      legal_basis: HOSTILE[i % 3] ?? null,
    })
  }
  for (const width of [1440, 390]) {
    const { page, accessible, fits, end } = await visit('/erasure', { width, theme: 'dark' })
    await page.getByText('50 rows on this page').waitFor()
    await page.getByText('<img src=x onerror=alert(1)>').first().waitFor()
    await accessible()
    await fits()
    await page.getByRole('button', { name: 'Next page' }).click()
    await page.getByText(/^1[0-9] rows on this page$/).waitFor()
    await end()
  }
})

scene('a held store says why nothing can be erased', async ({ visit, local }) => {
  const { ref } = await local.call('POST', '/v1/stores/default/write', { content: HOSTILE[2] })
  await local.call('POST', '/v1/stores/default/holds', { reason: 'litigation' })
  const path = `/erasure?store=default&ref=${ref}`
  const { page, accessible, fits, end } = await visit(path, { width: 390 })
  await page.getByRole('alert').getByText('A legal hold protects this store').waitFor()
  assert.equal(
    await page.getByRole('button', { name: 'This is the memory to erase' }).isDisabled(),
    true,
  )
  await accessible()
  await fits()
  await end()
})
