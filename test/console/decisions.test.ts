// The decisions screens of the console.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { writeSampleData } from '../../packages/cli/src/testing/serve-locally.ts'
import { checkLooks, consoleScene, HOSTILE, type Scene } from './testing/scene.ts'

const scene = consoleScene()

const log = ({ local }: Scene, query: string, model_id: string) =>
  local.call('POST', '/v1/decisions/log', {
    store_id: 'default',
    model_id,
    query,
    output: query,
    retrieved_refs: [],
    retrieved_contents: [],
    retrieved_scores: [],
  })

scene('without decisions the screen says where they come from', async (given) => {
  const { page, end } = await given.visit('/decisions')
  await page.getByText('No decisions yet').waitFor()
  await end()
  await checkLooks(given, '/decisions')
})

scene('a decision is replayed beside today, verified and redacted', async (given) => {
  const { decision_id } = await writeSampleData(given.local)
  await checkLooks(given, '/decisions')
  await checkLooks(given, `/decisions/${decision_id}`)
  const { page, end } = await given.visit(`/decisions/${decision_id}`)
  await page.getByRole('row', { name: /erased/ }).waitFor()
  await page.getByText('because memory 2 was erased').first().waitFor()
  await page.getByRole('button', { name: 'Verify here' }).click()
  await page.getByText('VALID', { exact: true }).waitFor()
  await end()
  const other = await log(given, 'Who sails?', 'm2')
  const redacting = await given.visit(`/decisions/${other.decision_id}`)
  await redacting.page.getByRole('button', { name: 'Redact' }).click()
  await redacting.page.getByLabel('Type redact to confirm').fill('redact')
  await redacting.page.getByRole('dialog').getByRole('button', { name: 'Redact' }).click()
  await redacting.page.getByText('Redacted since').waitFor()
  await redacting.end()
})

scene(
  'filters live in the address, hostile names are text, and the export is a file',
  async (given) => {
    for (const [i, name] of HOSTILE.entries()) await log(given, name, `model-${i}`)
    await checkLooks(given, '/decisions')
    const { page, end } = await given.visit('/decisions')
    await page.getByLabel('Model').fill('model-0')
    await page.getByRole('link', { name: HOSTILE[0] ?? '' }).waitFor()
    await page.waitForFunction("document.querySelectorAll('tbody tr').length === 1")
    assert.match(page.url(), /model_id=model-0/)
    assert.equal(await page.locator('main img').count(), 0)
    const waiting = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export NDJSON' }).click()
    const saved = readFileSync(await (await waiting).path(), 'utf8')
      .trim()
      .split('\n')
    assert.ok(saved.length >= HOSTILE.length)
    for (const line of saved) JSON.parse(line)
    await end()
  },
)
