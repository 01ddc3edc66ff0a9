// A session is one in every process that serves the same data, and ends in all of them at once.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { OPERATOR_KEY } from '../../testing/harness.ts'
import { createDatabase } from '../../testing/postgres.ts'
import { type Service, startShared } from '../../testing/services-on-one-database.ts'
import { startForgingProvider } from './testing/forging-provider.ts'

const ask = async (
  { url }: Service,
  method: string,
  path: string,
  given: { headers?: Record<string, string>; key?: string; body?: object } = {},
) => {
  const { headers = {}, key, body } = given
  const answer = await fetch(`${url}${path}`, {
    method,
    redirect: 'manual',
    headers: {
      ...headers,
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const { status } = answer
  const text = await answer.text()
  const got: ReturnType<typeof JSON.parse> = text === '' ? null : JSON.parse(text)
  const location = answer.headers.get('location') ?? ''
  return { status, cookies: answer.headers.getSetCookie(), location, body: got }
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

const cookieOf = ({ cookies }: { cookies: string[] }, name: string) => ({
  cookie:
    cookies.map((line) => line.split(';', 1)[0] ?? '').find((one) => one.includes(name)) ?? '',
})

/** A tenant with a connection to a provider, and four processes on one database. */
async function fourProcesses(t: TestContext) {
  const provider = await startForgingProvider(t)
  const database = await createDatabase()
  const env = { CUSTOS_EGRESS_ALLOW: '127.0.0.1' }
  const services = await Promise.all([1, 2, 3, 4].map(() => startShared(database.url, {}, env)))
  t.after(async () => {
    for (const service of services) await service.stop()
    await database.drop()
  })
  const [one, two, three, four] = services
  assert.ok(one && two && three && four)
  const made = await ask(one, 'POST', '/v1/cloud/tenants', { key: OPERATOR_KEY, body: {} })
  const { api_key: key } = made.body
  const body = {
    name: 'Provider',
    issuer: provider.issuer,
    client_id: 'c',
    create_users: true,
    default_role: 'viewer',
  }
  const created = await ask(one, 'POST', '/v1/portal/sso/connections', { key, body })
  const { connection_id } = created.body
  const path = `/v1/portal/sso/authorize?connection_id=${connection_id}`
  const statuses = async (headers: Record<string, string>) => {
    const all = services.map((service) => ask(service, 'GET', '/v1/portal/me', { headers }))
    return (await Promise.all(all)).map(({ status }) => status)
  }
  return {
    provider,
    services: [one, two, three, four] as const,
    key,
    connection_id,
    path,
    statuses,
  }
}

test('a sign-in through a provider is one in every process, and ends in all', async (t) => {
  const { provider, services, path, statuses } = await fourProcesses(t)
  const [one, two, three, four] = services
  const begun = await ask(one, 'GET', path)
  assert.equal(begun.status, 302)
  const answer = new URLSearchParams(provider.answer(begun.location))
  const callback = `/v1/portal/sso/callback?${answer}`
  const headers = cookieOf(begun, 'custos_login')
  const shared = [two, three, four, one].flatMap((service) => Array(5).fill(service))
  const answers = await Promise.all(
    shared.map((service) => ask(service, 'GET', callback, { headers })),
  )
  const entered = answers.filter(({ status }) => status === 302)
  assert.equal(entered.length, 1)
  assert.ok(entered[0])
  const session = cookieOf(entered[0], 'custos_session')
  assert.deepEqual(await statuses(session), [200, 200, 200, 200])
  const me = await ask(three, 'GET', '/v1/portal/me', { headers: session })
  const left = await ask(four, 'POST', '/v1/portal/logout', {
    headers: { ...session, origin: four.url, 'x-custos-csrf': me.body.csrf_token },
  })
  assert.equal(left.status, 200)
  assert.deepEqual(await statuses(session), [401, 401, 401, 401])
})

test('a provider, or who switches it off, ends sessions at every process', async (t) => {
  const { provider, services, key, connection_id, path, statuses } = await fourProcesses(t)
  const [, two, three, four] = services
  const signInAgain = async () => {
    const again = await ask(two, 'GET', path)
    const answered = new URLSearchParams(provider.answer(again.location))
    const back = await ask(three, 'GET', `/v1/portal/sso/callback?${answered}`, {
      headers: cookieOf(again, 'custos_login'),
    })
    assert.equal(back.status, 302)
    return cookieOf(back, 'custos_session')
  }
  const second = await signInAgain()
  assert.deepEqual(await statuses(second), [200, 200, 200, 200])
  const logout_token = await provider.signLogout({
    iss: provider.issuer,
    aud: 'c',
    sub: 'ana',
    iat: Math.floor(Date.now() / 1_000),
    jti: 'logout-at-the-fourth',
    events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
  })
  const told = await fetch(
    `${four.url}/v1/portal/sso/backchannel-logout?connection_id=${connection_id}`,
    { method: 'POST', body: new URLSearchParams({ logout_token }) },
  )
  assert.deepEqual(await told.json(), { ended: 1 })
  assert.deepEqual(await statuses(second), [401, 401, 401, 401])

  const third = await signInAgain()
  assert.deepEqual(await statuses(third), [200, 200, 200, 200])
  const off = { key, body: { enabled: false } }
  const changed = await ask(three, 'PUT', `/v1/portal/sso/connections/${connection_id}`, off)
  assert.equal(changed.status, 200)
  assert.deepEqual(await statuses(third), [401, 401, 401, 401])
  assert.equal((await ask(four, 'GET', path)).status, 404)
})
