// The audit log of the console: entries, inclusion paths, and the browser as a witness.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { writeSampleData } from '../../packages/cli/src/testing/serve-locally.ts'
import { checkLooks, consoleScene, HOSTILE, type Scene } from './testing/scene.ts'

const scene = consoleScene()

const write = ({ local }: Scene, content: string) =>
  local.call('POST', '/v1/stores/default/write', { content })

const roll = ({ local }: Scene) => local.call('POST', '/v1/gcrumbs/roll', {})

const VERIFY = 'Verify everything I have seen'

scene('without a checkpoint the log says so, and an absent entry is no failure', async (given) => {
  const { page, end } = await given.visit('/log')
  await page.getByRole('heading', { name: 'No checkpoint yet' }).waitFor()
  await page.getByRole('button', { name: VERIFY }).click()
  await page.getByText('The log has no checkpoint yet').waitFor()
  await end()
  await checkLooks(given, '/log')
  const absent = await given.visit('/log/99999')
  await absent.page.getByText('The log has no such entry').waitFor()
  await absent.end()
})

scene('the newest entry comes first by itself, and no content is in the log', async (given) => {
  const { page, end } = await given.visit('/log')
  await page.getByText('live', { exact: true }).waitFor()
  const { log_seq: seq } = await write(given, HOSTILE[0] ?? '')
  const first = page
    .getByRole('table', { name: 'Entries of the audit log' })
    .getByRole('row')
    .nth(1)
  await first.getByText('memory.written').waitFor()
  await first.getByRole('link', { name: String(seq), exact: true }).waitFor()
  await end()
  for (const content of HOSTILE) await write(given, content)
  const later = await given.visit('/log')
  await later.page.getByRole('link', { name: String(seq), exact: true }).waitFor()
  const text = await later.page.locator('main').innerText()
  for (const content of HOSTILE) assert.ok(!text.includes(content))
  assert.equal(await later.page.locator('main img').count(), 0)
  await later.end()
})

scene('an inclusion path is computed in the browser, by keyboard alone', async (given) => {
  await writeSampleData(given.local)
  await roll(given)
  await checkLooks(given, '/log')
  const { page, end } = await given.visit('/log')
  const number = page.getByLabel('Entry number')
  await number.focus()
  await page.keyboard.type('3')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Entry 3' }).waitFor()
  await page.getByText('leads to the signed root').waitFor()
  await page.getByText('the id is the hash of the entry').waitFor()
  assert.ok((await page.getByText('from the proof').count()) >= 2)
  await page.getByRole('button', { name: 'Verify here' }).press('Enter')
  await page.getByText('VALID', { exact: true }).waitFor()
  const waiting = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download proof' }).press('Enter')
  assert.match(readFileSync(await (await waiting).path(), 'utf8'), /^c2sp.org\/tlog-proof@v1/)
  await page.getByRole('link', { name: 'Next' }).press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Entry 4' }).waitFor()
  await end()
  await checkLooks(given, '/log/3')
})

scene('an entry that is not what its id says does not reach the root', async (given) => {
  const { page, end } = await given.visit('/log')
  await page.route('**/proof?seq=3', async (route) => {
    const response = await route.fetch()
    const proof = await response.json()
    proof.breadcrumb.payload = { forged: true }
    await route.fulfill({ response, json: proof })
  })
  await page.getByLabel('Entry number').fill('3')
  await page.getByRole('button', { name: 'Open' }).click()
  await page.getByText('does not lead to the signed root').waitFor()
  await page.getByText('the id is not the hash of the entry').waitFor()
  await end()
})

scene('a proof and the newest checkpoint show whether enough witnesses cosigned', async (given) => {
  const { page, end } = await given.visit('/log')
  const show = (path: string, change: (answer: never) => unknown) =>
    page.route(path, async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: change((await response.json()) as never) })
    })
  const cosignatures = [{ witness: 'w+1+a', signed_at: '2026-01-02T03:04:05.000000Z', line: '— w' }]
  const cosigned = { cosignatures, witnessed: true }
  await show('**/epochs?*', ({ epochs, ...rest }: { epochs: object[] }) => ({
    ...rest,
    epochs: epochs.map((epoch) => ({ ...epoch, ...cosigned, witnessed: false })),
  }))
  await page.getByRole('button', { name: VERIFY }).click()
  await page.getByText('of its witnesses 1 cosigned it, not yet enough').waitFor()
  await show('**/proof?seq=3', (proof: object) => ({ ...proof, ...cosigned }))
  await page.getByLabel('Entry number').fill('3')
  await page.getByRole('button', { name: 'Open' }).click()
  await page.getByText('1 cosigned it, enough').waitFor()
  await end()
})

scene('every position of every size leads to the root', async (given) => {
  for (let size = 0; size < 9; size += 1) {
    await write(given, `fact ${size}`)
    await roll(given)
  }
  const { tree_size: size = 0 } = (
    await given.local.call('GET', '/v1/gcrumbs/epochs?limit=500')
  ).epochs.at(-1) as { tree_size: number }
  const { page, end } = await given.visit(`/log/${size - 1}`)
  for (let seq = size - 1; seq > size - 12; seq -= 1) {
    await page.getByRole('heading', { level: 1, name: `Entry ${seq}` }).waitFor()
    await page.getByRole('img', { name: `from entry ${seq} up` }).waitFor()
    await page.getByText('✓ leads to the signed root').waitFor()
    await page.getByRole('link', { name: 'Previous' }).click()
  }
  await end()
})

scene('this browser notices a log that does not extend what it saw', async (given) => {
  const { page, end } = await given.visit('/log')
  const verify = page.getByRole('button', { name: VERIFY })
  await verify.click()
  await page.getByText('It is kept as the first one').waitFor()
  await write(given, 'The tide turns at noon')
  await roll(given)
  await verify.click()
  await page.getByText('nothing before was changed').waitFor()
  await page.getByText('each id is a hash of its entry').waitFor()
  await write(given, 'The tide turns at one')
  await roll(given)
  await page.route('**/consistency?*', async (route) => {
    const response = await route.fetch()
    const answer = await response.json()
    await route.fulfill({ response, json: { ...answer, path: ['0'.repeat(64)] } })
  })
  await verify.click()
  await page.getByText('The log was changed').waitFor()
  assert.equal(await page.getByText('nothing before was changed').count(), 0)
  await end()
})

scene('a long log is read in pages, and checkpoints are files', async (given) => {
  const { local } = given
  await roll(given)
  await Promise.all(Array.from({ length: 120 }, (_, i) => write(given, `note ${i}`)))
  const { page, end } = await given.visit('/log')
  const rows = page.getByRole('table', { name: 'Entries of the audit log' }).locator('tbody tr')
  await rows.nth(49).waitFor()
  assert.equal(await rows.count(), 50)
  const last = Number(await rows.nth(49).getByRole('link').first().innerText())
  await page.getByRole('button', { name: 'Next page' }).first().click()
  await rows
    .first()
    .getByRole('link', { name: String(last - 1), exact: true })
    .waitFor()
  const waiting = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download checkpoint 1', exact: true }).click()
  const saved = readFileSync(await (await waiting).path(), 'utf8')
  const { checkpoint } = (await local.call('GET', '/v1/gcrumbs/epochs/1')) as { checkpoint: string }
  assert.equal(saved, checkpoint)
  await end()
  await checkLooks(given, '/log')
})
