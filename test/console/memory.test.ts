// Overview, stores, memories and the timeline of the console.

import assert from 'node:assert/strict'
import { checkLooks, consoleScene, HOSTILE, type Scene } from './testing/scene.ts'

const scene = consoleScene()

async function newStore({ local }: Scene, name: string, contents: readonly string[]) {
  const made = await local.call('POST', '/v1/stores', { name })
  const { store_id: id } = made as unknown as { readonly store_id: string }
  const refs: number[] = []
  for (let at = 0; at < contents.length; at += 500) {
    const items = contents.slice(at, at + 500).map((content) => ({ content }))
    const reply = await local.call('POST', `/v1/stores/${id}/write_batch`, { items })
    refs.push(...(reply as unknown as { readonly refs: number[] }).refs)
  }
  return { id, refs }
}

scene('the overview of a new tenant leads to a first memory', async (given) => {
  await checkLooks(given, '/')
  const { page, end } = await given.visit('/')
  await page.getByRole('region', { name: 'Quick start' }).getByText('retrieve').waitFor()
  await end()
})

scene('the overview of a long log says how far it has looked', async (given) => {
  const write = (n: number) =>
    given.local.call('POST', '/v1/stores/default/write', { content: `number ${n}` })
  for (let at = 0; at < 1_000; at += 50)
    await Promise.all(Array.from({ length: 50 }, (_, i) => write(at + i)))
  const { page, end } = await given.visit('/')
  await page.getByText('Denials, newest 1,000 log entries').waitFor()
  assert.equal(await page.getByRole('img', { name: 'in 30 days' }).count(), 0)
  await end()
})

scene(
  'a store without memories says so, and the first one is written by keyboard',
  async (given) => {
    const { id } = await newStore(given, 'empty', [])
    await checkLooks(given, `/stores/${id}`)
    await checkLooks(given, `/stores/${id}/timeline`)
    const { page, accessible, end } = await given.visit(`/stores/${id}`)
    await page.getByText('No memories yet').waitFor()
    await page.getByRole('button', { name: 'Write a memory' }).first().focus()
    await page.keyboard.press('Enter')
    await page.getByLabel('Content').fill('The harbour opens at six')
    await accessible()
    await page.getByRole('button', { name: 'Write', exact: true }).press('Enter')
    await page.getByRole('cell', { name: 'The harbour opens at six' }).waitFor()
    assert.equal(await page.getByRole('row').count(), 2)
    await end()
  },
)

scene('names of any kind stay text on every screen that shows them', async (given) => {
  const { id, refs } = await newStore(given, HOSTILE[0] ?? '', HOSTILE)
  for (const path of ['/stores', `/stores/${id}`, `/stores/${id}/timeline?memory=${refs[2]}`])
    await checkLooks(given, path)
  for (const ref of refs) await checkLooks(given, `/stores/${id}/memories/${ref}`)
  await checkLooks(given, `/stores/${id}?q=img`)
  const { page, end } = await given.visit(`/stores/${id}`)
  await page.getByRole('cell', { name: HOSTILE[0] ?? '' }).waitFor()
  assert.equal(await page.locator('main img').count(), 0)
  await end()
})

scene(
  'the newest of 10,000 memories come first, a page at a time, and a link keeps the page',
  async (given) => {
    const contents = Array.from({ length: 10_000 }, (_, i) => `entry ${i}`)
    const { id } = await newStore(given, 'many', contents)
    const { page, end } = await given.visit(`/stores/${id}`)
    await page.getByRole('cell', { name: 'entry 9999', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Next page' }).click()
    await page.getByRole('cell', { name: 'entry 9949', exact: true }).waitFor()
    await page.reload()
    await page.getByRole('cell', { name: 'entry 9949', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Columns' }).click()
    await page.getByRole('menuitemcheckbox', { name: 'Namespace' }).click()
    await page.keyboard.press('Escape')
    await page.getByRole('columnheader', { name: 'Namespace' }).waitFor()
    await end()
    await checkLooks(given, `/stores/${id}`)
  },
)

scene('a search shows the budget, the parts of scores and what was left out', async (given) => {
  const { id } = await newStore(given, 'search', [
    'The harbour opens at six in summer',
    'The harbour closes at nine in the evening',
    'Elsa keeps bees behind the harbour',
  ])
  const { page, accessible, end } = await given.visit(`/stores/${id}?q=harbour+opens&budget=16`)
  await page.getByRole('link', { name: 'Memory 1' }).or(page.locator('ol a')).first().waitFor()
  await page
    .getByText(/^lexical \+/)
    .first()
    .waitFor()
  await page.getByText(/^Left out, and why/).click()
  await page
    .getByText(/over budget|budget filled/)
    .first()
    .waitFor()
  await accessible()
  await page.getByRole('button', { name: 'The call behind this' }).last().click()
  await page.getByRole('region', { name: 'curl' }).getByText('"budget_tokens":16').waitFor()
  await accessible()
  await end()
})

scene('a memory is verified in the browser, replaced and erased', async (given) => {
  const { id, refs } = await newStore(given, 'one', ['The ferry is blue'])
  const { page, accessible, end } = await given.visit(`/stores/${id}/memories/${refs[0]}`, {
    statuses: [404],
  })
  await page.getByRole('button', { name: 'Verify here' }).click()
  await page.getByText('VALID', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Replace' }).click()
  await page.getByLabel('New content').fill('The ferry is green')
  await page.getByRole('dialog').getByRole('button', { name: 'Replace' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByText('The ferry is green').waitFor()
  await page.getByRole('button', { name: 'Erase' }).click()
  const erase = page.getByRole('dialog').getByRole('button', { name: 'Erase' })
  assert.ok(await erase.isDisabled())
  await page.getByLabel(/^Type .* to confirm$/).fill(String(refs[0]))
  await accessible()
  await erase.click()
  await page.getByText('This memory was erased').waitFor()
  await end()
})

scene('the timeline shows what held at a past moment, and what changed since', async (given) => {
  const { id } = await newStore(given, 'times', [])
  const write = (path: string, body: object) =>
    given.local.call('POST', `/v1/stores/${id}/${path}`, body)
  const first = await write('write', {
    content: 'The office is in Lisbon',
    valid_from: '2020-01-01T00:00:00Z',
  })
  const next = await write('supersede', {
    old_ref: first.ref,
    content: 'The office is in Porto',
    valid_from: '2024-01-01T00:00:00Z',
  })
  const path = `/stores/${id}/timeline?valid_at=2022-01-01T00:00:00.000Z&memory=${first.ref}`
  const { page, end } = await given.visit(path)
  const rows = page.getByRole('list', { name: 'Memories then and now' }).getByRole('listitem')
  await page.getByText('not any more').waitFor()
  const texts = await rows.allInnerTexts()
  assert.match(texts[0] ?? '', new RegExp(`${next.ref}[^]*Porto[^]*since then`))
  assert.match(texts[1] ?? '', new RegExp(`${first.ref}[^]*Lisbon[^]*not any more`))
  await page.getByRole('img', { name: '2 versions over valid time' }).waitFor()
  await page.getByRole('slider', { name: 'Valid at' }).press('End')
  await page.getByText('still so').waitFor()
  assert.equal(await rows.count(), 1)
  await end()
  await checkLooks(given, path)
})
