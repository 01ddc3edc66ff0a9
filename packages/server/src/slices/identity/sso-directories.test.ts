// An issuer of several directories, as that of Microsoft: whose people get in, and who they are.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { limits } from '@custos/contract'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { Browser } from './testing/browser.ts'
import { type ForgingProvider, startForgingProvider } from './testing/forging-provider.ts'
import { ProviderVisit, startOpenIdProvider } from './testing/open-id-provider.ts'
import {
  begin,
  callbackPath,
  codeOf,
  connect,
  enter,
  SSO_EGRESS,
  walk,
} from './testing/sso-scene.ts'

const ONE = '11111111-2222-4333-8444-555555555555'
const TWO = '22222222-2222-4333-8444-555555555555'
const OTHER = '33333333-2222-4333-8444-555555555555'
const PATH = '/v1/portal/sso/connections'
const ends: (() => void)[] = []
let service: TestService
let provider: ForgingProvider

before(async () => {
  provider = await startForgingProvider({ after: (end) => void ends.push(end as () => void) })
  service = await startTestService({ config: { egress: SSO_EGRESS } })
  publish()
})
after(async () => {
  await service.stop()
  for (const end of ends) end()
})

/** As Microsoft publishes: an issuer that is a template, and keys that are marked by issuers. */
const publish = (marks: object = { issuer: `${provider.issuer}/{tenantid}/v2.0` }) =>
  provider.publish({ issuer: `${provider.issuer}/{tenantid}/v2.0` }, marks)

const shared = (settings: object = {}) =>
  connect(service, `${provider.issuer}/organizations/v2.0`, {
    directories: [ONE, TWO],
    ...settings,
  })

/** A token of a directory; the answer itself names no issuer. */
const of = (tid: string, claims: object = {}) => ({
  claims: { iss: `${provider.issuer}/${tid}/v2.0`, tid, ...claims },
  query: { iss: undefined },
})

test('people of listed directories get in, and the same subject of two is two people', async () => {
  const { connection_id } = await shared()
  const first = await enter(service, provider, connection_id, of(ONE))
  const again = await enter(service, provider, connection_id, of(ONE))
  const second = await enter(service, provider, connection_id, of(TWO))
  assert.equal(first.me.user.user_id, again.me.user.user_id)
  assert.notEqual(first.me.user.user_id, second.me.user.user_id)
  // A provider that states the issuer of its answer (RFC 9207).
  const stated = { ...of(ONE), query: { iss: `${provider.issuer}/${ONE}/v2.0` } }
  const third = await enter(service, provider, connection_id, stated)
  assert.equal(third.me.user.user_id, first.me.user.user_id)
})

test('nobody of a directory that is not listed gets in, nor with a forged one', async () => {
  const refused = async (forged: Parameters<typeof walk>[3], title: string) => {
    const { connection_id } = await shared()
    const answer = await walk(new Browser(service), provider, { connection_id }, forged)
    assert.equal(codeOf(answer), '403 login_refused', title)
  }
  await refused(of(OTHER), 'not listed')
  await refused(of(ONE, { tid: TWO }), 'tid of another directory')
  await refused(of(ONE, { tid: undefined }), 'no tid')
  await refused(of(ONE, { iss: `${provider.issuer}/{tenantid}/v2.0` }), 'the template itself')
  await refused(of(ONE, { iss: `${provider.issuer}/organizations/v2.0` }), 'the shared issuer')
  await refused({ ...of(ONE), query: { iss: `${provider.issuer}/${TWO}/v2.0` } }, 'iss differs')
  await refused({ ...of(ONE), sign: 'tampered' }, 'tampered')
  await refused({ ...of(ONE), sign: 'none' }, 'unsigned')
  await refused(of(ONE, { nonce: 'other' }), 'nonce')
  publish({ issuer: `${provider.issuer}/${OTHER}/v2.0` })
  await refused(of(ONE), 'signed with a key of another issuer')
  publish({ issuer: `${provider.issuer}/${ONE}/v2.0` })
  const { connection_id } = await shared()
  await enter(service, provider, connection_id, of(ONE))
  publish()
})

test('a code is exchanged once, although the token is read before the issuer', async () => {
  const { connection_id } = await shared()
  const before = provider.exchanges.length
  await enter(service, provider, connection_id, of(TWO))
  assert.equal(provider.exchanges.length, before + 1)
})

test('taking a directory off the list ends the sessions of its people', async () => {
  const { connection_id, tenant } = await shared()
  const { browser } = await enter(service, provider, connection_id, of(TWO))
  const change = (directories: string[]) =>
    service.request('PUT', `${PATH}/${connection_id}`, {
      key: tenant.api_key,
      body: { directories },
    })
  const changed = await change([ONE])
  assert.deepEqual(changed.body.directories, [ONE])
  assert.equal((await browser.ask('GET', '/v1/portal/me')).status, 401)
  const answer = await walk(new Browser(service), provider, { connection_id }, of(TWO))
  assert.equal(codeOf(answer), '403 login_refused')
  await enter(service, provider, connection_id, of(ONE))
})

/** Of the person of the first directory. */
async function logOut(connection_id: string): Promise<Response> {
  const logout_token = await provider.signLogout({
    iss: `${provider.issuer}/${ONE}/v2.0`,
    tid: ONE,
    aud: 'custos',
    sub: 'ana',
    iat: Math.floor(Date.now() / 1_000),
    jti: 'j-directories',
    events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
  })
  return fetch(`${service.url}/v1/portal/sso/backchannel-logout?connection_id=${connection_id}`, {
    method: 'POST',
    body: new URLSearchParams({ logout_token }),
  })
}

test('a logout token ends the sessions of the person of its directory alone', async () => {
  const { connection_id } = await shared()
  const one = await enter(service, provider, connection_id, of(ONE))
  const two = await enter(service, provider, connection_id, of(TWO))
  assert.equal((await logOut(connection_id)).status, 200)
  assert.equal((await one.browser.ask('GET', '/v1/portal/me')).status, 401)
  assert.equal((await two.browser.ask('GET', '/v1/portal/me')).status, 200)
})

test('a logout token signed with the key of another directory ends no session', async () => {
  const { connection_id } = await shared()
  const { browser } = await enter(service, provider, connection_id, of(ONE))
  publish({ issuer: `${provider.issuer}/${TWO}/v2.0` })
  const refused = await logOut(connection_id)
  assert.equal(refused.status, 400, await refused.text())
  publish()
  assert.equal((await browser.ask('GET', '/v1/portal/me')).status, 200)
})

test('directories belong to a shared issuer, which is refused without them', async () => {
  const { api_key: key } = await service.createTenant()
  const create = (body: object) =>
    service.request('POST', PATH, {
      key,
      body: { name: 'x', client_id: 'c', default_role: 'viewer', ...body },
    })
  const microsoft = 'https://login.microsoftonline.com'
  const made = await create({ issuer: `${microsoft}/common/v2.0`, directories: [ONE] })
  assert.equal(made.status, 201, made.text)
  const path = `${PATH}/${made.body.connection_id}`
  const emptied = await service.request('PUT', path, { key, body: { directories: [] } })
  assert.equal(codeOf(emptied), '422 rejected')
  assert.equal(codeOf(await create({ issuer: `${microsoft}/common/v2.0` })), '422 url_refused')
  for (const issuer of [`${microsoft}/consumers/v2.0`, `${microsoft}/${ONE}/v2.0`])
    assert.equal(codeOf(await create({ issuer, directories: [ONE] })), '422 rejected', issuer)
  const many = Array.from({ length: limits.sso_directories + 1 }, () => ONE)
  for (const directories of [
    many,
    ['common'],
    ['AAAAAAAA-2222-4333-8444-555555555555'],
    [`${ONE}/..`],
    [1],
  ])
    assert.equal(
      (await create({ issuer: `${microsoft}/common/v2.0`, directories })).status,
      422,
      JSON.stringify(directories),
    )
  const test = await service.request('POST', `${PATH}/${(await shared()).connection_id}/test`, {
    key,
  })
  assert.equal(test.status, 404)
})

test('a certified provider that publishes a template signs people of a directory in', async (t) => {
  const certified = await startOpenIdProvider(t, { directory: ONE })
  const settings = { client_id: 'custos', client_secret: 'secret-of-the-open-id-provider' }
  const issuer = `${certified.issuer}/organizations/v2.0`
  for (const [directories, status] of [
    [[TWO, ONE], 302],
    [[TWO], 403],
  ] as const) {
    const { connection, connection_id } = await connect(service, issuer, {
      ...settings,
      directories,
    })
    await certified.register(connection)
    const browser = new Browser(service)
    const back = await new ProviderVisit('ana').follow(await begin(browser, { connection_id }))
    const query = Object.fromEntries(new URL(back).searchParams)
    const answer = await browser.ask('GET', callbackPath(query))
    assert.equal(answer.status, status, answer.text)
  }
})
