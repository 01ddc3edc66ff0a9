// The keyboard alone: signing in, an approval and an erasure, by real key presses from the first.

import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { newTenant } from '../testing/keys.ts'
import { consoleScene } from '../testing/scene.ts'

const scene = consoleScene({ CUSTOS_AUTH: 'required' })
const PRESSES_MAX = 200
/** The name of what has the focus in the next frame: dialogs lead it back within one. */
const FOCUSED = `new Promise(requestAnimationFrame).then(() => {
  const at = document.activeElement
  const labels = at.labels ? [...at.labels].map((label) => label.textContent) : []
  const ring = getComputedStyle(at).outlineStyle !== 'none' || at.matches(':focus-visible')
  return { name: at.getAttribute('aria-label') ?? labels[0] ?? at.textContent, ring }
})`

/** Presses Tab until what has the name has the focus. */
async function reach(page: Page, name: string | RegExp): Promise<void> {
  const names: string[] = []
  for (let presses = 0; presses < PRESSES_MAX; presses += 1) {
    const at = await page.evaluate<{ readonly name: string; readonly ring: boolean }>(FOCUSED)
    if (typeof name === 'string' ? at.name.trim() === name : name.test(at.name.trim())) {
      assert.ok(at.ring, `${at.name} shows that it has the focus`)
      return
    }
    names.push(at.name.slice(0, 40))
    await page.keyboard.press('Tab')
  }
  assert.fail(`Tab does not reach ${name}: ${[...new Set(names)].join(' | ')}`)
}

const press = async (page: Page, name: string | RegExp, key = 'Enter'): Promise<void> => {
  await reach(page, name)
  await page.keyboard.press(key)
}

const write = async (page: Page, name: string | RegExp, text: string): Promise<void> => {
  await reach(page, name)
  await page.keyboard.type(text)
}

scene('the keyboard alone signs in, approves what waits and erases a memory', async (given) => {
  const { call } = given.local
  const { api_key: owner } = await newTenant(given.local, 'harbour')
  const content = 'Maria Lindqvist lives in Porto'
  await call('POST', '/v1/stores/default/write', { content }, owner)
  const policy = { name: 'A person reads it', policy_type: 'hitl_required' }
  const config = { operations: ['artifacts.register'] }
  await call('POST', '/v1/governance/policies', { ...policy, config }, owner)
  const layers = [{ digest: 'a1'.repeat(32) }]
  const artifact = { artifact_ref: 'models/one', base_model_ref: 'base/model', layers }
  // Another key proposes it: nobody approves what they proposed.
  const { api_key: program } = (await call(
    'POST',
    '/v1/keys',
    { name: 'program', class: 'tenant' },
    owner,
  )) as unknown as { readonly api_key: string }
  await call('POST', '/v1/artifacts/register', artifact, program)

  const { page, end } = await given.visit('/', { statuses: [401] })
  await write(page, 'API key', owner)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()

  await press(page, 'Approvals')
  await page.getByRole('heading', { level: 1, name: 'Approvals' }).waitFor()
  await press(page, 'artifacts register')
  await page.getByRole('heading', { level: 2 }).first().waitFor()
  await reach(page, 'How')
  // The first letters of the choice, as every list of a browser takes them.
  await page.keyboard.type('By name')
  await write(page, 'Your name', 'Ana Lima')
  await press(page, 'Approve')
  await page.getByRole('dialog').waitFor()
  await press(page, 'Approve')
  await page.getByText('approved', { exact: true }).first().waitFor()

  await press(page, 'Erasure')
  await page.getByRole('heading', { level: 1, name: 'Erasure' }).waitFor()
  await write(page, /^Words of the memory/, 'Porto')
  await page.keyboard.press('Enter')
  await press(page, /^Choose memory/)
  await press(page, 'This is the memory to erase')
  await press(page, /^Continue/)
  await press(page, /^Erase memory/)
  const dialog = page.getByRole('dialog')
  await dialog.waitFor()
  await write(page, 'Type 1 to confirm', '1')
  await press(page, 'Erase')
  await page.getByRole('button', { name: 'Certificate as PDF' }).waitFor()
  const saved = page.waitForEvent('download')
  await press(page, 'Certificate as PDF')
  assert.match((await saved).suggestedFilename(), /\.pdf$/)
  await end()
})
