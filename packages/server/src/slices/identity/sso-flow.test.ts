// The whole way through a certified provider: sign-in, roles, new keys, and sign-out everywhere.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type Answer, startTestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { Browser } from './testing/browser.ts'
import { startForgingProvider } from './testing/forging-provider.ts'
import { CLIENT, ProviderVisit, startOpenIdProvider } from './testing/open-id-provider.ts'
import { begin, connect, SSO_EGRESS, walk } from './testing/sso-scene.ts'

test('a person signs in, gets other roles, and is signed out by the provider', async (t) => {
  const service = await startTestService({ config: { egress: SSO_EGRESS } })
  t.after(() => service.stop())
  const provider = await startOpenIdProvider(t)
  const { connection, connection_id } = await connect(service, provider.issuer, {
    ...CLIENT,
    scopes: ['email', 'profile', 'groups'],
    role_claim: ['groups'],
    role_map: [
      { value: 'readers', role: 'viewer' },
      { value: 'auditors', role: 'auditor' },
    ],
    default_role: null,
  })
  await provider.register(connection)
  const enter = async (login: string, visit = new ProviderVisit(login)) => {
    const browser = new Browser(service)
    const back = await visit.follow(await begin(browser, { connection_id }))
    const answer = await browser.ask('GET', back.slice(service.url.length))
    return { browser, answer, visit }
  }
  const me = async (browser: Browser) => (await browser.ask('GET', '/v1/portal/me')).body

  provider.groups.set('ana', ['readers'])
  const first = await enter('ana')
  assert.equal(first.answer.status, 302, first.answer.text)
  const { user } = await me(first.browser)
  assert.deepEqual([user.name, user.roles], ['Person ana', ['viewer']])

  await t.test('other groups are other roles, and the session with the old ones ends', async () => {
    provider.groups.set('ana', ['auditors'])
    const second = await enter('ana')
    const { user: now } = await me(second.browser)
    assert.deepEqual([now.user_id, now.roles], [user.user_id, ['auditor']])
    assert.equal((await me(first.browser)).error, 'unauthenticated')
  })

  await t.test('nobody of no mapped group gets in', async () => {
    const { answer } = await enter('ben')
    assert.equal(answer.body.error, 'role_unmapped')
  })

  await t.test('new keys of the provider are taken at the next sign-in', async () => {
    await provider.register(connection)
    assert.equal((await enter('ana')).answer.status, 302)
  })

  await t.test('who signs out at the provider is signed out here', async () => {
    const { browser, visit } = await enter('ana')
    assert.equal((await me(browser)).mode, 'session')
    await visit.signOut(provider.issuer)
    for (let tries = 0; tries < 200; tries += 1) {
      if ((await me(browser)).error === 'unauthenticated') return
      await delay(10)
    }
    assert.fail('the session did not end')
  })
})

test('an invitation is not taken by somebody who is removed meanwhile', async (t) => {
  const service = await startTestService({ config: { egress: SSO_EGRESS } })
  t.after(() => service.stop())
  const provider = await startForgingProvider(t)
  const { tenant, connection_id } = await connect(service, provider.issuer, { create_users: false })
  const { tenant_id, api_key: key } = tenant
  const email = 'ben@corp.example'
  const path = `/v1/cloud/tenants/${tenant_id}`
  const body = { email, roles: ['auditor'] }
  const { user_id } = (await service.request('POST', `${path}/users`, { key, body })).body.user
  await service.request('PUT', `${path}/sso/connections/${connection_id}/domains`, {
    key: service.operator_key,
    body: { domains: ['corp.example'] },
  })
  const { db, keyring } = service.kernel
  const { promise: barred, resolve: bar } = Promise.withResolvers<void>()
  const { promise: refused, resolve: refuse } = Promise.withResolvers<void>()
  const destroy = keyring.destroySecrets.bind(keyring)
  t.mock.method(keyring, 'destroySecrets', async (...args: Parameters<typeof destroy>) => {
    bar()
    await refused
    return destroy(...args)
  })
  const transact = db.transact.bind(db) as (...args: unknown[]) => Promise<unknown>
  let removal: Promise<Answer> | undefined
  t.mock.method(db, 'transact', async (...args: unknown[]) => {
    // Where the person has been looked up, and is not admitted yet.
    if (args[0] === tenant_id && removal === undefined) {
      removal = service.request('DELETE', `/v1/portal/users/${user_id}`, { key })
      await barred
    }
    return transact(...args)
  })
  const claims = { sub: 'b', email, email_verified: true }
  const answer = await walk(new Browser(service), provider, { connection_id }, { claims })
  refuse()
  assert.equal(answer.body?.error, 'login_refused')
  assert.equal((await removal)?.status, 200)
  const sql = 'select user_id from sso_identities where user_id = ?'
  assert.deepEqual(await rawSql(service, sql, [user_id]), [])
})
