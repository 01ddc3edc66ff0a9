// Keys and browsers that are signed in with them.

import assert from 'node:assert/strict'
import type { LocalService } from '../../../packages/cli/src/testing/serve-locally.ts'
import type { Scene, Visit } from './scene.ts'

export const OPERATOR_KEY = 'operator-key-of-the-cli-tests-0123'

/** What an answer that makes a key says. */
interface KeyAnswer {
  readonly api_key: string
  readonly tenant_id: string
}

const made = async (local: LocalService, path: string, body: object, key: string) =>
  (await local.call('POST', path, body, key)) as unknown as KeyAnswer

/** A tenant with its first key. */
export const newTenant = (local: LocalService, name: string): Promise<KeyAnswer> =>
  made(local, '/v1/cloud/tenants', { name, plan: 'enterprise' }, OPERATOR_KEY)

/** A further key of a tenant. */
export const newKey = async (local: LocalService, owner: string, body: object): Promise<string> =>
  (await made(local, '/v1/keys', body, owner)).api_key

/** Opens a path as somebody who signed in with a key. */
export async function visitWith({ visit }: Scene, key: string, path: string): Promise<Visit> {
  const opened = await visit(path, { statuses: [401] })
  await opened.page.getByLabel('API key').fill(key)
  await opened.page.keyboard.press('Enter')
  await opened.page.getByLabel('API key').waitFor({ state: 'detached' })
  await opened.page.locator('h1').first().waitFor()
  assert.ok(!(await opened.page.content()).includes(key))
  return opened
}
