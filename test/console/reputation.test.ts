// Reputation and the manifold in the console.

import assert from 'node:assert/strict'
import { checkLooks, consoleScene, HOSTILE, type Scene } from './testing/scene.ts'

const scene = consoleScene()
const DECISIONS = '/v1/governed/decisions'
const OUTCOMES = '/v1/governed/outcomes'
const AGENT = HOSTILE[0] ?? ''

async function judge({ local }: Scene, agent: string, invoice: string, outcome: string) {
  await local.call('PUT', '/v1/cgr/settings', { compare_credentials: false })
  await local.call('POST', DECISIONS, {
    decision: 'certify',
    reason: `${invoice} is in order`,
    invoice_id: invoice,
    agent_handle: agent,
  })
  await local.call('POST', OUTCOMES, { invoice_ref: invoice, outcome })
}

scene('without decisions both screens say so', async (given) => {
  await checkLooks(given, '/reputation')
  await checkLooks(given, '/manifold')
  const { page, end } = await given.visit('/reputation')
  await page.getByText('No scores in this dimension').waitFor()
  await page.getByRole('link', { name: 'Manifold' }).click()
  await page.getByText('There is no map yet').waitFor()
  await end()
})

scene('a score shows what it is made from, and is attested', async (given) => {
  for (let i = 0; i < 4; i += 1) await judge(given, AGENT, `INV-${i}`, i === 3 ? 'default' : 'paid')
  const { page, accessible, end } = await given.visit('/reputation')
  await page.getByRole('button', { name: AGENT, exact: true }).press('Enter')
  await page.getByText('Evidence against it').waitFor()
  await page.getByText('bronze', { exact: true }).waitFor()
  assert.equal(await page.locator('main img').count(), 0)
  await page.getByRole('button', { name: 'Attest the score' }).click()
  await page.getByRole('button', { name: 'Verify here' }).click()
  await page.getByText('VALID', { exact: true }).waitFor()
  await page.getByRole('table', { name: 'Attestations' }).waitFor()
  const rule = page.getByLabel('A judgment is final once its outcome is known')
  const isFinal = await rule.isChecked()
  await rule.click()
  await rule.and(page.locator(isFinal ? ':not(:checked)' : ':checked')).waitFor()
  await accessible()
  const { search } = new URL(page.url())
  await end()
  await checkLooks(given, `/reputation${search}`)
})

scene('the manifold has cells, lenses, a table and a picture', async (given) => {
  for (let i = 0; i < 30; i += 1)
    await judge(given, HOSTILE[i % 4] ?? '', `more ${i}`, i % 3 === 0 ? 'default' : 'paid')
  const { page, end } = await given.visit('/manifold')
  await page.getByRole('table', { name: 'Cells' }).waitFor()
  await page.getByLabel('Colour by').selectOption('paid')
  assert.match(page.url(), /lens=paid/)
  await page.getByRole('button', { name: 'Zoom in' }).click()
  await page.getByRole('table', { name: 'Cells' }).getByRole('button').first().press('Enter')
  await page.getByText(/The newest:/).waitFor()
  const painted = await page.evaluate<number>(
    `document.querySelector('canvas').getContext('2d').getImageData(0, 0, 900, 460)
      .data.filter((part) => part > 0).length`,
  )
  assert.ok(painted > 1_000)
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Save as SVG' }).click()
  assert.equal((await saved).suggestedFilename(), 'manifold.svg')
  const { search } = new URL(page.url())
  await end()
  await checkLooks(given, `/manifold${search}`)
  await checkLooks(given, '/reputation')
})
