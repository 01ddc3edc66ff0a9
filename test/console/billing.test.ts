// Billing in the console of a service that takes no payments, and of one that does.

import assert from 'node:assert/strict'
import { providerOf } from '../../packages/server/src/testing/loopback-payments.ts'
import { OPERATOR_KEY, visitWith } from './testing/keys.ts'
import { checkLooks, consoleScene } from './testing/scene.ts'

const scene = consoleScene()

scene('a service that takes no payments says so, and shows what is used', async (given) => {
  await given.local.call('POST', '/v1/stores/default/write', { content: 'The ferry is late' })
  const { page, end } = await given.visit('/billing')
  await page.getByText('Billing is not configured').waitFor()
  await page.getByText('Used in this period').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Change to pro' }).count(), 0)
  await end()
  await checkLooks(given, '/billing')
})

const paid = consoleScene({
  CUSTOS_AUTH: 'required',
  CUSTOS_BILLING: 'loopback',
  CUSTOS_BILLING_WEBHOOK_SECRET: 'whsec_console',
  CUSTOS_CONSOLE_ORIGINS: 'https://custos.example',
})

paid('checkout and portal lead to the provider, and the plan is in force', async (given) => {
  const tenants = '/v1/cloud/tenants'
  const made = await given.local.call('POST', tenants, { name: 'harbour' }, OPERATOR_KEY)
  const { api_key } = made as unknown as { readonly api_key: string }
  const { page, accessible, fits, end } = await visitWith(given, api_key, '/billing')
  const onward = page.getByRole('link', { name: 'Continue on the page of the payment provider' })
  await page.getByText('starter').first().waitFor()
  assert.equal(await page.getByRole('button', { name: 'Invoices and cards' }).count(), 0)
  await page.getByRole('button', { name: 'Change to pro' }).click()
  await onward.waitFor()
  const { host, port } = providerOf(given.local.service).address
  const checkout = new URL((await onward.getAttribute('href')) ?? '')
  assert.equal(checkout.origin, `http://${host}:${port}`)
  const [, session = ''] = /^\/pay\/(cs_\w+)$/.exec(checkout.pathname) ?? []
  await accessible()
  await providerOf(given.local.service).pay(session)
  await given.local.service.kernel.jobs.idle()
  await page.reload()
  await page.getByText('active', { exact: true }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Change to pro' }).count(), 0)
  await page.getByRole('button', { name: 'Invoices and cards' }).click()
  await onward.waitFor()
  assert.equal(await onward.getAttribute('href'), `http://${host}:${port}/portal`)
  await page.getByRole('button', { name: 'Cancel the plan' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel the plan' }).click()
  await page.getByText('Ends', { exact: true }).waitFor()
  await page.setViewportSize({ width: 390, height: 900 })
  await accessible()
  await fits()
  await end()
})
