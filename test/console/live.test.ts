// The live screen of the console: the event stream, paused, filtered, and with what was missed.

import assert from 'node:assert/strict'
import { checkLooks, consoleScene, HOSTILE, type Scene, type Visit } from './testing/scene.ts'

const scene = consoleScene()

const write = ({ local }: Scene, store: string, content: string) =>
  local.call('POST', `/v1/stores/${store}/write`, { content })

const rowsOf = ({ page }: Visit) =>
  page.getByRole('table', { name: 'Entries as they come' }).locator('tbody tr')

async function openLive(given: Scene): Promise<Visit> {
  const visit = await given.visit('/live')
  await visit.page.getByText('live', { exact: true }).waitFor()
  return visit
}

scene('before anything happens the screen waits, without a barrier', async (given) => {
  await checkLooks(given, '/live')
  const { page, end } = await openLive(given)
  await page.getByText('Nothing has happened yet').waitFor()
  await end()
})

scene('entries come by themselves, and wait during a pause, by keyboard', async (given) => {
  const visit = await openLive(given)
  const { page, accessible, fits, end } = visit
  for (const content of HOSTILE) await write(given, 'default', content)
  await rowsOf(visit)
    .nth(HOSTILE.length - 1)
    .waitFor()
  assert.equal(await page.locator('main img').count(), 0)
  await page.getByRole('button', { name: 'Pause' }).press('Enter')
  const before = await rowsOf(visit).count()
  await write(given, 'default', 'The bridge is shut')
  await page.getByRole('button', { name: 'Go on (1 waiting)' }).waitFor()
  assert.equal(await rowsOf(visit).count(), before)
  await accessible()
  await page.getByRole('button', { name: 'Go on' }).press('Enter')
  await rowsOf(visit).nth(before).waitFor()
  await page.setViewportSize({ width: 390, height: 900 })
  await accessible()
  await fits()
  await end()
})

scene('one store is followed by its name, which lives in the address', async (given) => {
  const { local } = given
  const created: object = await local.call('POST', '/v1/stores', { name: 'harbour' })
  const other = 'store_id' in created ? String(created.store_id) : ''
  const visit = await openLive(given)
  await write(given, 'default', 'The ferry is late')
  await write(given, other, 'The pilot is ill')
  await rowsOf(visit).nth(1).waitFor()
  await visit.page.getByLabel('Store, agent or id').fill(other)
  await visit.page.getByText('1 row', { exact: true }).waitFor()
  await rowsOf(visit).first().getByText(other).first().waitFor()
  assert.match(visit.page.url(), /about=/)
  await visit.page.getByRole('button', { name: 'Clear' }).click()
  await rowsOf(visit).nth(1).waitFor()
  await visit.page.getByLabel('Event').selectOption('memory.written')
  assert.match(visit.page.url(), /event=memory.written/)
  await visit.end()
})

scene('many entries are counted in the line and in its table', async (given) => {
  const visit = await openLive(given)
  await Promise.all(Array.from({ length: 100 }, (_, i) => write(given, 'default', `note ${i}`)))
  await rowsOf(visit).nth(99).waitFor()
  await visit.page.getByText('as a table').click()
  const cells = visit.page.locator('details td')
  const counts = await cells.allInnerTexts()
  const sum = counts.reduce((total, text) => total + Number(text), 0)
  assert.ok(sum >= 100, `the line counts ${sum}`)
  await visit.accessible()
  await visit.fits()
  await visit.end()
})
