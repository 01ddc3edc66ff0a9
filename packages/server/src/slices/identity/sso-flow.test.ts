// The whole way through a certified provider: sign-in, roles, new keys, and sign-out everywhere.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startTestService } from '../../testing/harness.ts'
import { Browser } from './testing/browser.ts'
import { CLIENT, ProviderVisit, startOpenIdProvider } from './testing/open-id-provider.ts'
import { begin, connect, SSO_EGRESS } from './testing/sso-scene.ts'

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
