// A session is one in every process that serves the same data, and ends in all of them at once.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OPERATOR_KEY } from '../../testing/harness.ts'
import { createDatabase } from '../../testing/postgres.ts'
import { type Service, startShared } from '../../testing/services-on-one-database.ts'

const ask = async (
  { url }: Service,
  method: string,
  path: string,
  given: { headers?: Record<string, string>; key?: string; body?: object } = {},
) => {
  const { headers = {}, key, body } = given
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...headers,
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const { status } = answer
  const got: ReturnType<typeof JSON.parse> = await answer.json()
  return { status, cookies: answer.headers.getSetCookie(), body: got }
}

test('begun in one, used in another, revoked in a third: refused in all', async (t) => {
  const database = await createDatabase()
  const services = await Promise.all([1, 2, 3].map(() => startShared(database.url, {})))
  t.after(async () => {
    for (const service of services) await service.stop()
    await database.drop()
  })
  const [one, two, three] = services
  assert.ok(one && two && three)
  const made = await ask(one, 'POST', '/v1/cloud/tenants', { key: OPERATOR_KEY, body: {} })
  const { api_key } = made.body
  const signIn = async () => {
    const { cookies } = await ask(one, 'POST', '/v1/portal/session', { body: { api_key } })
    return { cookie: String(cookies[0]).split(';', 1)[0] ?? '' }
  }
  const statuses = async (headers: Record<string, string>) => {
    const answers = services.map((service) => ask(service, 'GET', '/v1/stores', { headers }))
    return (await Promise.all(answers)).map(({ status }) => status)
  }

  const first = await signIn()
  assert.deepEqual(await statuses(first), [200, 200, 200])
  const { sessions } = (await ask(two, 'GET', '/v1/portal/sessions', { headers: first })).body
  assert.equal(sessions.length, 1)
  const path = `/v1/portal/sessions/${sessions[0].session_id}`
  assert.equal((await ask(three, 'DELETE', path, { key: api_key })).status, 200)
  assert.deepEqual(await statuses(first), [401, 401, 401])

  const second = await signIn()
  assert.deepEqual(await statuses(second), [200, 200, 200])
  const { key_id } = (await ask(two, 'GET', '/v1/portal/me', { headers: second })).body
  const { status } = await ask(three, 'DELETE', `/v1/keys/${key_id}`, { key: api_key })
  assert.equal(status, 200)
  assert.deepEqual(await statuses(second), [401, 401, 401])
})
