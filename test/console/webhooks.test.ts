// Webhooks in the console, with a receiver on this machine.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { checkLooks, consoleScene, HOSTILE } from './testing/scene.ts'

const scene = consoleScene()

/** A receiver that answers as it is told to, and what it got. */
async function receiver() {
  const got: string[] = []
  let status = 204
  const server = createServer((request, response) => {
    got.push(String(request.headers['webhook-id']))
    request.resume().on('end', () => response.writeHead(status).end())
  })
  server.listen(0, '127.0.0.1')
  // A test that fails leaves it behind.
  server.unref()
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    got,
    url: `http://127.0.0.1:${port}/custos`,
    answer: (next: number) => {
      status = next
    },
    close: () => server.closeAllConnections(),
  }
}

scene('an endpoint is made, tested, rotated, replayed and deleted', async (given) => {
  const end = await receiver()
  await checkLooks(given, '/webhooks')
  const { page, accessible, end: leave } = await given.visit('/webhooks')
  await page.getByText('No endpoints yet').waitFor()
  await page.getByRole('button', { name: 'New endpoint' }).press('Enter')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('URL').fill(end.url)
  await dialog.getByLabel('Description').fill(HOSTILE[0] ?? '')
  await accessible()
  await dialog.getByRole('button', { name: 'Create endpoint' }).click()
  const secret = await dialog.getByRole('region', { name: 'Secret' }).innerText()
  assert.match(secret, /^whsec_/)
  await dialog.getByRole('button', { name: 'I have kept it' }).click()
  await page.getByRole('heading', { level: 1, name: end.url }).waitFor()
  assert.ok(!(await page.content()).includes(secret.trim()))
  await page.getByRole('button', { name: 'Send a test' }).click()
  await page
    .locator('main')
    .getByText('delivered', { exact: true })
    .and(page.locator('span'))
    .first()
    .waitFor()
  await page.getByRole('button', { name: 'Rotate secret' }).click()
  await dialog.getByRole('button', { name: 'Rotate the secret' }).click()
  const rotated = await dialog.getByRole('region', { name: 'Secret' }).innerText()
  assert.notEqual(rotated, secret)
  await dialog.getByRole('button', { name: 'I have kept it' }).click()
  await page.getByRole('button', { name: 'Replay' }).click()
  await page.getByText(/Replay of entries 0 to \d+: done/).waitFor()
  await page.getByRole('cell', { name: 'replay' }).first().waitFor()
  await accessible()
  assert.ok(end.got.length > 1)
  const { pathname } = new URL(page.url())
  await checkLooks(given, pathname.replace('/console', ''))
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('disabled: requested').first().waitFor()
  await page.getByRole('button', { name: 'Delete' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No endpoints yet').waitFor()
  await leave()
  end.close()
})

scene('a delivery that failed is sent again, and a refused URL says why', async (given) => {
  const end = await receiver()
  end.answer(500)
  await given.local.call('POST', '/v1/webhooks', { url: end.url, events: ['memory.written'] })
  await given.local.call('POST', '/v1/stores/default/write', { content: 'The ferry is late' })
  const { page, end: leave } = await given.visit('/webhooks', { statuses: [422, 400] })
  await page.getByRole('link', { name: end.url }).first().click()
  await page.getByRole('cell', { name: 'retrying' }).first().waitFor()
  await page.getByText('status 500').first().waitFor()
  end.answer(204)
  await page
    .getByRole('button', { name: /^Send again / })
    .first()
    .click()
  await page
    .locator('main')
    .getByText('delivered', { exact: true })
    .and(page.locator('span'))
    .first()
    .waitFor()
  await page.getByLabel('State').selectOption('failed')
  await page.getByText('No deliveries').waitFor()
  await page.getByRole('button', { name: 'Change', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('URL').fill('http://10.0.0.1/hooks')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('alert').getByText('url_refused').waitFor()
  await leave()
  end.close()
})

scene('many endpoints fit', async (given) => {
  const end = await receiver()
  for (let i = 0; i < 5; i += 1)
    await given.local.call('POST', '/v1/webhooks', {
      url: `${end.url}/${'a'.repeat(300)}${i}`,
      events: ['memory.erased', 'approval.requested', 'evaluation.denied'],
      description: (HOSTILE[i] ?? 'audit').slice(0, 200),
    })
  await checkLooks(given, '/webhooks')
  end.close()
})
