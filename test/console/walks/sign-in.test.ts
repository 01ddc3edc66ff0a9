// Signing in with a key, and what a key may see.

import assert from 'node:assert/strict'
import { consoleScene, type Scene } from '../testing/scene.ts'

const OPERATOR_KEY = 'operator-key-of-the-cli-tests-0123'
const scene = consoleScene({ CUSTOS_AUTH: 'required' })

async function newKey(local: Scene['local'], body: object): Promise<string> {
  const send = async (path: string, key: string, sent: object) => {
    const response = await fetch(`${local.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(sent),
    })
    assert.equal(response.status, 201)
    return (await response.json()) as { readonly api_key: string }
  }
  const tenant = await send('/v1/cloud/tenants', OPERATOR_KEY, { name: 'harbour' })
  return (await send('/v1/keys', tenant.api_key, body)).api_key
}

scene("a person signs in by keyboard with 'identity.sign_in', and out again", async (given) => {
  const key = await newKey(given.local, { name: 'whole', class: 'tenant' })
  const { page, accessible, end } = await given.visit('/', { statuses: [401] })
  await accessible()
  await page.getByLabel('API key').focus()
  await page.keyboard.type('cst_t_wrong')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').getByText('unauthenticated').waitFor()
  await page.getByLabel('API key').fill(key)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  const stored = await page.evaluate<string>(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])',
  )
  assert.ok(!stored.includes(key))
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in to Custos' }).waitFor()
  await end()
})

scene('a read-only key sees screens without the buttons it may not use', async (given) => {
  const key = await newKey(given.local, { name: 'reader', class: 'read_only' })
  const { page, end } = await given.visit('/stores', { statuses: [401] })
  await page.getByLabel('API key').fill(key)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Stores' }).waitFor()
  await page.getByText('No stores yet').or(page.getByRole('table')).first().waitFor()
  assert.equal(await page.getByRole('button', { name: 'New store' }).count(), 0)
  await end()
})

scene('a sign-in in one tab is one in the others, which keep nothing of before', async (given) => {
  const [first, second] = [
    await newKey(given.local, { name: 'first', class: 'tenant' }),
    await newKey(given.local, { name: 'second', class: 'tenant' }),
  ]
  await given.local.call('POST', '/v1/stores', { name: 'Of the first' }, first)
  const { page, end } = await given.visit('/stores', { statuses: [401] })
  const other = await page.context().newPage()
  await other.goto(page.url())
  await page.getByLabel('API key').fill(first)
  await page.keyboard.press('Enter')
  await other.getByRole('link', { name: 'Of the first' }).waitFor()

  await page.context().clearCookies()
  await page.reload()
  await page.getByLabel('API key').fill(second)
  await page.keyboard.press('Enter')
  await other.getByRole('link', { name: 'Of the first' }).waitFor({ state: 'detached' })
  await other.getByRole('button', { name: 'New store' }).click()
  await other.getByLabel('Name').fill('Of the second')
  await other.keyboard.press('Enter')
  await other.getByRole('heading', { level: 1, name: 'Of the second' }).waitFor()

  // As one that led through another site does: the page that it comes back to loads.
  await other.goto(page.url())
  await page.context().clearCookies()
  const begin = `fetch('/v1/portal/session', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '${JSON.stringify({ api_key: first })}',
  }).then(({ status }) => status)`
  assert.equal(await page.evaluate(begin), 201)
  await page.reload()
  await other.getByRole('link', { name: 'Of the first' }).waitFor()
  await end()
})

scene('a sign-out in one tab is one in the others', async (given) => {
  const key = await newKey(given.local, { name: 'leaves', class: 'tenant' })
  const { page, end } = await given.visit('/stores', { statuses: [401] })
  const other = await page.context().newPage()
  await other.goto(page.url())
  await page.getByLabel('API key').fill(key)
  await page.keyboard.press('Enter')
  await other.getByRole('heading', { level: 1, name: 'Stores' }).waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await other.getByRole('heading', { name: 'Sign in to Custos' }).waitFor()
  await end()
})

scene('a session that ends while it is used says so', async (given) => {
  const key = await newKey(given.local, { name: 'short', class: 'tenant' })
  const { page, end } = await given.visit('/stores', { statuses: [401] })
  assert.equal(await page.getByText('Your session has ended').count(), 0)
  await page.getByLabel('API key').fill(key)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Stores' }).waitFor()
  await page.context().clearCookies()
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.getByText('Your session has ended').waitFor()
  await page.getByLabel('API key').fill(key)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in to Custos' }).waitFor()
  assert.equal(await page.getByText('Your session has ended').count(), 0)
  await end()
})
