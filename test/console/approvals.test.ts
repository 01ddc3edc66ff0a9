// The approvals inbox: by name, and by a key that stays in the browser, with the keyboard alone.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { consoleScene, HOSTILE, type Scene } from './testing/scene.ts'

const scene = consoleScene()
let registered = 0

/** Registers an artifact, which waits for a person; returns the id of the approval request. */
async function propose({ local }: Scene, artifact_ref = 'models/one'): Promise<string> {
  registered += 1
  const digest = createHash('sha256').update(String(registered)).digest('hex')
  const body = { artifact_ref, base_model_ref: 'base/model', layers: [{ digest }] }
  const answer = await fetch(`${local.url}/v1/artifacts/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  assert.equal(answer.status, 202)
  const { detail } = JSON.parse(await answer.text())
  return String(detail.request_id)
}

scene('an empty inbox says that nothing waits', async ({ visit, local }) => {
  await local.call('POST', '/v1/governance/policies', {
    name: HOSTILE[0],
    policy_type: 'hitl_required',
    config: { operations: ['artifacts.register'] },
  })
  for (const theme of ['light', 'dark'] as const) {
    const { page, accessible, fits, end } = await visit('/approvals', { theme })
    await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor()
    await page.getByRole('button', { name: 'Make a key and enrol' }).waitFor()
    await accessible()
    await fits()
    await end()
  }
})

scene('the keyboard alone enrols a key, signs an approval and verifies its record', async (all) => {
  const id = await propose(all, 'models/signed')
  const { page, accessible, fits, end } = await all.visit('/approvals')
  const { keyboard } = page
  await page.getByLabel('Your name').focus()
  await keyboard.type('Ana Lima')
  await keyboard.press('Tab')
  await keyboard.type('release manager')
  await keyboard.press('Enter')
  await page.getByRole('button', { name: 'Revoke and forget' }).waitFor()
  await accessible()
  const exported = await page.evaluate<string>(`new Promise((resolve) => {
    indexedDB.open('custos-approver').onsuccess = ({ target }) => {
      const keys = target.result.transaction('keys').objectStore('keys').getAll()
      keys.onsuccess = () => crypto.subtle.exportKey('pkcs8', keys.result[0].private_key)
        .then(() => resolve('exported'), (error) => resolve(error.name))
      keys.transaction.oncomplete = () => target.result.close()
    }
  })`)
  assert.equal(exported, 'InvalidAccessError', 'the private key cannot be exported')
  await page.getByRole('link', { name: 'artifacts register', exact: true }).focus()
  await keyboard.press('Enter')
  await page.getByText('With the key of this browser').waitFor({ state: 'attached' })
  assert.ok(page.url().endsWith(id))
  await page.getByText('<img src=x onerror=alert(1)>').waitFor()
  await accessible()
  await fits()
  await page.getByLabel('Reason').focus()
  await keyboard.type('looked at it')
  await keyboard.press('Tab')
  await keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  await accessible()
  await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).press('Enter')
  await page.getByRole('heading', { name: 'The decision' }).waitFor()
  await page.getByText('Ana Lima').waitFor()
  await page.getByText('looked at it').waitFor()
  await page.getByRole('button', { name: 'Verify here' }).press('Enter')
  await page.getByText('VALID', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Ask the service to verify' }).press('Enter')
  await page.getByText('The record verifies.').waitFor()
  await accessible()
  await end()
})

scene('a request is denied by name on a narrow screen', async (all) => {
  const id = await propose(all, HOSTILE[2])
  const options = { width: 390, theme: 'dark' } as const
  const { page, accessible, fits, end } = await all.visit(`/approvals/${id}`, options)
  assert.equal(await page.getByRole('button', { name: 'Deny' }).isDisabled(), true)
  await page.getByLabel('Your name').fill('Ben')
  await accessible()
  await fits()
  await page.getByRole('button', { name: 'Deny' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Deny' }).click()
  await page.getByRole('heading', { name: 'The decision' }).waitFor()
  await page.getByText('denied', { exact: true }).waitFor()
  await accessible()
  await fits()
  await end()
})

scene('many requests come in pages, each with the oldest first', async (all) => {
  for (let i = 0; i < 55; i += 1) await propose(all, `models/${i}`)
  for (const width of [1440, 390]) {
    const { page, accessible, fits, end } = await all.visit('/approvals', { width })
    await page.getByText('50 rows on this page').waitFor()
    await accessible()
    await fits()
    await page.getByRole('button', { name: 'Next page' }).click()
    await page.getByText('5 rows on this page', { exact: true }).waitFor()
    await page.getByLabel('State').selectOption('approved')
    await page.getByText('1 row', { exact: true }).waitFor()
    await end()
  }
})
