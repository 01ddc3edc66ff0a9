// Connections to providers: made by their tenant, within its rights, and gone with what they began.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { limits } from '@custos/contract'
import { type Answer, startTestService, type TestService } from '../../testing/harness.ts'
import { movedClock } from '../../testing/skewed-clock.ts'
import { subjectScene } from '../subjects/testing/scene.ts'
import { Browser, signedIn } from './testing/browser.ts'
import { type ForgingProvider, startForgingProvider } from './testing/forging-provider.ts'
import { codeOf, connect, enter, SSO_EGRESS, startSso } from './testing/sso-scene.ts'

const PATH = '/v1/portal/sso/connections'
const LOGOUT = 'http://schemas.openid.net/event/backchannel-logout'
let service: TestService
let provider: ForgingProvider
let stop: () => Promise<void>

before(async () => {
  ;({ service, provider, stop } = await startSso())
})

after(() => stop())

const statusOf = async (browser: Browser) => (await browser.ask('GET', '/v1/portal/me')).status
const newBody = (more: object = {}) => ({
  name: 'Other Corp',
  issuer: provider.issuer,
  client_id: 'c',
  ...more,
})
const create = (key: string, more: object = {}) =>
  service.request('POST', PATH, { key, body: newBody(more) })

async function invite(tenant_id: string, key: string, body: object) {
  const path = `/v1/cloud/tenants/${tenant_id}/users`
  const made = await service.request('POST', path, { key, body })
  assert.equal(made.status, 201, made.text)
  return made.body
}

async function join(invitation: string): Promise<{ browser: Browser; answer: Answer }> {
  const browser = new Browser(service)
  const answer = await browser.ask('POST', '/v1/portal/invitation', { body: { invitation } })
  browser.csrf_token = answer.body?.csrf_token ?? ''
  return { browser, answer }
}

test('a page of connections goes on behind the last one, also where that is gone', async () => {
  const { api_key: key } = await service.createTenant()
  const made: string[] = []
  for (let i = 0; i < 4; i += 1) {
    const { body, text } = await create(key, { name: `Corp ${i}`, client_id: `c${i}` })
    assert.ok(body.connection_id, text)
    made.push(body.connection_id)
  }
  const list = async (query: string) => {
    const { body } = await service.request('GET', `${PATH}?limit=2${query}`, { key })
    const ids = body.connections.map((one: { connection_id: string }) => one.connection_id)
    return { ids, next: body.next_cursor }
  }
  const first = await list('')
  assert.deepEqual(first.ids, made.slice(0, 2))
  for (const gone of first.ids) await service.request('DELETE', `${PATH}/${gone}`, { key })
  assert.deepEqual((await list(`&cursor=${first.next}`)).ids, made.slice(2))
})

describe("'identity.create_connection', 'identity.configure', 'identity.connection'", () => {
  test("'identity.connections' show what to register, and never a secret", async () => {
    const { connection, connection_id, tenant } = await connect(service, provider.issuer)
    assert.equal(connection.redirect_uri, `${service.url}/v1/portal/sso/callback`)
    assert.match(connection.backchannel_logout_uri, new RegExp(`connection_id=${connection_id}$`))
    const key = tenant.api_key
    const one = await service.request('GET', `${PATH}/${connection_id}`, { key })
    assert.deepEqual(one.body, connection)
    const all = await service.request('GET', `${PATH}?limit=1`, { key })
    assert.deepEqual(all.body.connections, [connection])
    assert.ok(!`${one.text}${all.text}`.includes('secret-of-the-provider'))
    const path = '/v1/portal/sso/configure'
    const made = await service.request('POST', path, { key, body: newBody() })
    assert.equal(made.status, 201, made.text)
    const next = await service.request('GET', `${PATH}?limit=1&offset=1`, { key })
    assert.equal(next.body.connections[0].connection_id, made.body.connection_id)
  })

  test('a client with a key of its own shows its public part only', async () => {
    const auth_method = 'private_key_jwt'
    const settings = { auth_method, client_secret: undefined }
    const { connection, connection_id } = await connect(service, provider.issuer, settings)
    assert.deepEqual([connection.public_jwk.alg, connection.public_jwk.crv], ['ES256', 'P-256'])
    await enter(service, provider, connection_id)
    const sent = provider.exchanges.at(-1)
    assert.equal(sent?.get('client_assertion_type')?.endsWith('jwt-bearer'), true)
    const { importJWK, jwtVerify } = await import('jose')
    const jwk = await importJWK(connection.public_jwk)
    const { payload } = await jwtVerify(sent?.get('client_assertion') ?? '', jwk)
    assert.equal(payload.sub, 'custos')
  })

  test('an issuer that is no https address of one organisation is refused', async () => {
    const { api_key } = await service.createTenant()
    const refused = [
      'http://login.example.com',
      'http://127.0.0.1:9',
      'ftp://login.example.com',
      'login.example.com',
      'https://login.example.com?x=1',
      'https://login.example.com/#a',
      'https://a:b@login.example.com',
      'https://169.254.169.254',
      'https://10.0.0.1',
      'https://login.microsoftonline.com/common/v2.0',
      'https://login.microsoftonline.com/organizations/v2.0',
    ]
    for (const issuer of refused)
      assert.equal(codeOf(await create(api_key, { issuer })), '422 url_refused', issuer)
  })

  test('settings that do not fit together are refused', async () => {
    const { api_key } = await service.createTenant()
    const role_map = [{ value: 'x', role: 'owner' }]
    const wrong = [
      { auth_method: 'client_secret_post' },
      { auth_method: 'none', client_secret: 's' },
      { role_map: [{ value: 'x', role: 'viewer' }] },
      { role_claim: ['groups'], role_map },
      { default_role: 'owner' },
    ]
    for (const body of wrong)
      assert.equal(codeOf(await create(api_key, body)), '422 rejected', JSON.stringify(body))
    const deep = { role_claim: ['a', 'b', 'c', 'd', 'e'] }
    const long = { role_map: Array(limits.sso_role_map + 1).fill({ value: 'x', role: 'viewer' }) }
    for (const body of [deep, long, { algorithms: ['HS256'] }, { algorithms: ['none'] }])
      assert.equal((await create(api_key, body)).status, 422)
  })

  test('nobody maps to a role that may do more than they may', async () => {
    const { tenant_id, api_key } = await service.createTenant()
    const { invitation } = await invite(tenant_id, api_key, {
      email: 'a@example.com',
      roles: ['admin'],
    })
    const { browser } = await join(invitation)
    const ask = (body: object) => browser.ask('POST', PATH, { body: newBody(body) })
    const owner = { default_role: 'owner', allow_owner: true }
    assert.equal(codeOf(await ask(owner)), '403 scope_missing')
    const made = await ask({ default_role: 'viewer' })
    assert.equal(made.status, 201, made.text)
    const path = `${PATH}/${made.body.connection_id}`
    assert.equal(codeOf(await browser.ask('PUT', path, { body: owner })), '403 scope_missing')
    const scopes = { class: 'service', scopes: ['sso:admin'] }
    const narrow = await service.request('POST', '/v1/keys', { key: api_key, body: scopes })
    const key = narrow.body.api_key
    assert.equal(codeOf(await create(key, { default_role: 'viewer' })), '403 scope_missing')
    assert.equal((await create(key)).status, 201)
  })

  test('a tenant has at most 20 connections', async () => {
    const { api_key } = await service.createTenant()
    for (let made = 0; made < limits.sso_connections; made += 1)
      assert.equal((await create(api_key)).status, 201)
    assert.equal(codeOf(await create(api_key)), '409 too_many')
  })
})

describe("'identity.update_connection' and 'identity.delete_connection'", () => {
  test('a connection that is switched off or deleted ends its sessions at once', async () => {
    const { connection_id, tenant } = await connect(service, provider.issuer)
    const key = tenant.api_key
    const path = `${PATH}/${connection_id}`
    const program = await signedIn(service, key)
    const first = await enter(service, provider, connection_id)
    const off = await service.request('PUT', path, { key, body: { enabled: false } })
    assert.equal(off.body.enabled, false, off.text)
    assert.equal(await statusOf(first.browser), 401)
    assert.equal(await statusOf(program), 200)
    const query = `connection_id=${connection_id}`
    const start = await service.request('GET', `/v1/portal/sso/authorize?${query}`)
    assert.equal(codeOf(start), '404 sso_not_configured')
    await service.request('PUT', path, { key, body: { enabled: true } })
    const second = await enter(service, provider, connection_id)
    assert.equal((await service.request('DELETE', path, { key })).status, 200)
    assert.equal(await statusOf(second.browser), 401)
    assert.equal(codeOf(await service.request('GET', path, { key })), '404 connection_not_found')
    const { users } = (await service.request('GET', '/v1/portal/users', { key })).body
    assert.equal(users.length, 1)
    const log = await service.request('GET', '/v1/gcrumbs/breadcrumbs?limit=1000', { key })
    const changes = log.body.breadcrumbs
      .filter((one: { event_type: string }) => one.event_type === 'sso.connection_changed')
      .map(({ payload }: { payload: { change: string } }) => payload.change)
    assert.deepEqual(changes, ['created', 'updated', 'updated', 'deleted'])
    assert.ok(!log.text.includes('Example Corp'))
  })

  test('absent fields stay, and a new secret is used from the next sign-in on', async () => {
    const { connection_id, tenant, connection } = await connect(service, provider.issuer, {
      auth_method: 'client_secret_post',
    })
    const key = tenant.api_key
    const body = { client_secret: 'a-new-secret', name: 'Renamed' }
    const changed = await service.request('PUT', `${PATH}/${connection_id}`, { key, body })
    const { changed_at, ...rest } = changed.body
    assert.deepEqual(
      { ...rest, changed_at: connection.changed_at },
      {
        ...connection,
        name: 'Renamed',
      },
    )
    assert.ok(changed_at > connection.changed_at)
    await enter(service, provider, connection_id)
    assert.equal(provider.exchanges.at(-1)?.get('client_secret'), 'a-new-secret')
  })

  test('a removed person is signed out, and is somebody new at the next sign-in', async () => {
    const { connection_id, tenant } = await connect(service, provider.issuer)
    const { browser, me } = await enter(service, provider, connection_id)
    const path = `/v1/portal/users/${me.user.user_id}`
    const removed = await service.request('DELETE', path, { key: tenant.api_key })
    assert.equal(removed.status, 200, removed.text)
    assert.equal(await statusOf(browser), 401)
    const again = await enter(service, provider, connection_id)
    assert.notEqual(again.me.user.user_id, me.user.user_id)
  })
})

describe('enforced', () => {
  test('people use the provider only; keys stay, and an operator has a way in', async () => {
    const { tenant_id, api_key: key } = await service.createTenant()
    const early = await invite(tenant_id, key, { email: 'e@example.com', roles: ['owner'] })
    const late = await invite(tenant_id, key, { email: 'l@example.com', roles: ['viewer'] })
    const { browser } = await join(early.invitation)
    const own = await browser.ask('POST', '/v1/keys', { body: { class: 'tenant' } })
    const tenant = { tenant_id, api_key: key }
    const { connection_id } = await connect(service, provider.issuer, { tenant, enforced: true })
    assert.equal(await statusOf(browser), 401)
    assert.equal(codeOf((await join(late.invitation)).answer), '403 sso_enforced')
    const withOwn = { api_key: own.body.api_key }
    const signIn = await service.request('POST', '/v1/portal/session', { body: withOwn })
    assert.equal(codeOf(signIn), '403 sso_enforced')
    const stores = (used: string) => service.request('GET', '/v1/stores', { key: used })
    assert.equal((await stores(own.body.api_key)).status, 200)
    assert.equal((await stores(key)).status, 200)
    await signedIn(service, key)
    const { browser: through } = await enter(service, provider, connection_id)
    const glass = await invite(tenant_id, service.operator_key, {
      email: 'glass@example.com',
      roles: ['owner'],
    })
    const { browser: broken, answer } = await join(glass.invitation)
    assert.equal(answer.status, 201, answer.text)
    assert.deepEqual([await statusOf(through), await statusOf(broken)], [200, 200])
    const log = await service.request('GET', '/v1/gcrumbs/breadcrumbs?limit=1000', { key })
    const methods = log.body.breadcrumbs
      .filter((one: { event_type: string }) => one.event_type === 'user.signed_in')
      .map(({ payload }: { payload: { method: string } }) => payload.method)
    assert.deepEqual(methods, ['invitation', 'oidc', 'break_glass'])
  })
})

describe('two tenants', () => {
  test('a connection of another tenant is unknown, and leads into its own', async () => {
    const here = await connect(service, provider.issuer)
    const there = await connect(service, provider.issuer)
    const key = there.tenant.api_key
    const path = `${PATH}/${here.connection_id}`
    for (const [method, body] of [
      ['GET', undefined],
      ['PUT', { name: 'x' }],
      ['DELETE', undefined],
    ] as const)
      assert.equal(
        codeOf(await service.request(method, path, { key, body })),
        '404 connection_not_found',
      )
    const tested = await service.request('POST', `${path}/test`, { key })
    assert.equal(codeOf(tested), '404 connection_not_found')
    const claims = { sub: 'same', email: 'same@example.com', email_verified: true }
    const one = await enter(service, provider, here.connection_id, { claims })
    const two = await enter(service, provider, there.connection_id, { claims })
    assert.equal(one.me.tenant_id, here.tenant.tenant_id)
    assert.equal(two.me.tenant_id, there.tenant.tenant_id)
    assert.notEqual(one.me.user.user_id, two.me.user.user_id)
    await service.request('DELETE', path, { key: here.tenant.api_key })
    assert.deepEqual([await statusOf(one.browser), await statusOf(two.browser)], [401, 200])
  })

  test("'identity.providers' lists what is enabled, of tenants that there are", async () => {
    const { connection_id, tenant } = await connect(service, provider.issuer)
    await create(tenant.api_key, { enabled: false })
    const list = async (id: string) => {
      const { body } = await service.request('GET', `/v1/portal/sso/providers?tenant=${id}`)
      return body
    }
    const found = await list(tenant.tenant_id)
    assert.deepEqual(found, { providers: [{ connection_id, name: 'Example Corp' }] })
    assert.deepEqual(await list('unknown'), { providers: [] })
    assert.deepEqual(await list('../x'), { providers: [] })
  })

  test("a domain that 'identity.set_domains' confirmed belongs to one connection", async () => {
    const here = await connect(service, provider.issuer)
    const there = await connect(service, provider.issuer)
    const set = ({ tenant, connection_id }: typeof here, domains: string[], key: string) =>
      service.request(
        'PUT',
        `/v1/cloud/tenants/${tenant.tenant_id}/sso/connections/${connection_id}/domains`,
        { key, body: { domains } },
      )
    const operator = service.operator_key
    const domains = ['one.example', 'two.example']
    assert.deepEqual((await set(here, domains, operator)).body.domains, domains)
    assert.equal(codeOf(await set(there, ['two.example'], operator)), '409 name_taken')
    assert.equal(codeOf(await set(here, [], here.tenant.api_key)), '403 operator_required')
    assert.deepEqual((await set(here, ['one.example'], operator)).body.domains, ['one.example'])
    assert.equal((await set(there, ['two.example'], operator)).status, 200)
  })
})

describe("'identity.test'", () => {
  const problemOf = async (own: ForgingProvider, issuer = own.issuer, settings: object = {}) => {
    const { connection_id, tenant } = await connect(service, issuer, { ...settings })
    const path = `${PATH}/${connection_id}/test`
    return (await service.request('POST', path, { key: tenant.api_key })).body
  }

  test('says what is wrong with a provider', async (t) => {
    assert.deepEqual(await problemOf(provider), { ok: true, problem: null, keys: 1 })
    const slash = await problemOf(provider, `${provider.issuer}/`)
    assert.equal(slash.problem, 'issuer_differs')
    const none = await problemOf(provider, provider.issuer, { algorithms: ['ES512'] })
    assert.equal(none.problem, 'no_common_algorithm')
    const elsewhere = await startForgingProvider(t, { issuer: 'https://other.example' })
    assert.equal((await problemOf(elsewhere)).problem, 'issuer_differs')
    const keyless = await startForgingProvider(t, { jwks_uri: undefined })
    assert.equal((await problemOf(keyless)).problem, 'no_keys')
    const flowless = await startForgingProvider(t, { token_endpoint: undefined })
    assert.equal((await problemOf(flowless)).problem, 'no_code_flow')
    const inner = await startForgingProvider(t, { jwks_uri: 'https://10.0.0.1/jwks' })
    assert.equal((await problemOf(inner)).problem, 'no_keys')
    const down = await startForgingProvider(t)
    down.fail(true)
    assert.equal((await problemOf(down)).problem, 'unreachable')
    const nobody = await problemOf(provider, 'https://127.0.0.1:1024')
    assert.equal(nobody.problem, 'unreachable')
    const lost = await problemOf(provider, `${provider.issuer}/none`)
    assert.equal(lost.problem, 'not_a_provider')
  })
})

describe("'identity.backchannel'", () => {
  const claimsOf = (more: object = {}) => {
    const iat = Math.floor(Date.now() / 1_000)
    const events = { [LOGOUT]: {} }
    return { iss: provider.issuer, aud: 'custos', iat, exp: iat + 120, events, ...more }
  }
  const logout = async (connection_id: string, logout_token: string, to = service) =>
    to.request('POST', `/v1/portal/sso/backchannel-logout?connection_id=${connection_id}`, {
      raw: new URLSearchParams({ logout_token }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })

  test('a logout token ends the sessions that it names, once', async () => {
    const { connection_id } = await connect(service, provider.issuer)
    const of = (sub: string, sid: string) =>
      enter(service, provider, connection_id, { claims: { sub, sid } })
    const [one, two, other] = [await of('a', 's1'), await of('a', 's2'), await of('b', 's3')]
    const bySid = await provider.signLogout(claimsOf({ sid: 's1', jti: 'j1' }))
    assert.deepEqual((await logout(connection_id, bySid)).body, { ended: 1 })
    assert.deepEqual(
      [await statusOf(one.browser), await statusOf(two.browser), await statusOf(other.browser)],
      [401, 200, 200],
    )
    assert.equal(codeOf(await logout(connection_id, bySid)), '400 bad_request')
    const bySub = await provider.signLogout(claimsOf({ sub: 'a', jti: 'j2' }))
    assert.deepEqual((await logout(connection_id, bySub)).body, { ended: 1 })
    assert.deepEqual([await statusOf(two.browser), await statusOf(other.browser)], [401, 200])
    const stranger = await provider.signLogout(claimsOf({ sub: 'nobody', jti: 'j3' }))
    assert.deepEqual((await logout(connection_id, stranger)).body, { ended: 0 })
  })

  test('keys of the provider are read again for a new one, at most once a minute', async (t) => {
    const clock = movedClock()
    const later = await startTestService({ clock, config: { egress: SSO_EGRESS } })
    t.after(() => later.stop())
    const own = await startForgingProvider(t)
    const { connection_id } = await connect(later, own.issuer)
    let jtis = 0
    const send = async () => {
      jtis += 1
      const claims = claimsOf({ iss: own.issuer, sub: 'a', jti: `k${jtis}` })
      return codeOf(await logout(connection_id, await own.signLogout(claims), later))
    }
    assert.equal(await send(), '200 ok')
    own.fail(true)
    assert.equal(await send(), '200 ok', 'the keys are known')
    own.fail(false)
    own.rotate()
    assert.equal(await send(), '400 bad_request', 'they were read less than a minute ago')
    clock.forward(61_000_000)
    assert.equal(await send(), '200 ok')
  })

  test('what is no logout token of the provider for this client ends nothing', async () => {
    const { connection_id } = await connect(service, provider.issuer)
    const { browser } = await enter(service, provider, connection_id, { claims: { sub: 'a' } })
    const wrong = {
      'another audience': { aud: 'other' },
      'another issuer': { iss: 'https://other.example' },
      'a nonce': { nonce: 'n' },
      'no event': { events: {} },
      'nobody named': { sub: undefined },
      'no id': { jti: undefined },
      'long ago': { iat: 1_000, exp: 2_000 },
    }
    for (const [name, more] of Object.entries(wrong)) {
      const token = await provider.signLogout(claimsOf({ sub: 'a', jti: name, ...more }))
      assert.equal(codeOf(await logout(connection_id, token)), '400 bad_request', name)
    }
    const right = await provider.signLogout(claimsOf({ sub: 'a', jti: 'r' }))
    assert.equal(codeOf(await logout('unknown', right)), '400 bad_request')
    assert.equal(codeOf(await logout(connection_id, `${right}x`)), '400 bad_request')
    assert.equal(codeOf(await logout(connection_id, '')), '400 bad_request')
    assert.equal(await statusOf(browser), 200)
  })
})

test('a request of a data subject finds a person by the subject, and cuts the link', async () => {
  const scene = await subjectScene(service)
  const { connection_id } = await connect(service, provider.issuer, { tenant: scene })
  const claims = { sub: 'subject-of-dora', name: 'Dora', email: 'dora@example.com' }
  const { me, browser } = await enter(service, provider, connection_id, { claims })
  const find = { text: 'subject-of-dora' }
  assert.deepEqual((await scene.preview(find)).found.kinds, [{ kind: 'user', texts: 1, held: 0 }])
  await scene.erase(find)
  assert.equal((await scene.preview(find)).found.kinds.length, 0)
  assert.equal(await statusOf(browser), 200)
  const again = await enter(service, provider, connection_id, { claims })
  assert.notEqual(again.me.user.user_id, me.user.user_id)
})

test('a request of a data subject switches off a connection that names the person', async () => {
  const scene = await subjectScene(service)
  const settings = { tenant: scene, name: 'Provider of Egon Muster' }
  const { connection_id } = await connect(service, provider.issuer, settings)
  const { browser } = await enter(service, provider, connection_id)
  await scene.erase({ text: 'Egon Muster' })
  assert.equal(await statusOf(browser), 401)
  const key = scene.api_key
  const path = `${PATH}/${connection_id}`
  const { body } = await service.request('GET', path, { key })
  assert.deepEqual([body.enabled, body.issuer], [false, ''])
  const on = await service.request('PUT', path, { key, body: { enabled: true } })
  assert.equal(codeOf(on), '409 wrong_state')
})

test('paths of SAML say what there is instead', async () => {
  for (const [method, path] of [
    ['GET', 'login'],
    ['GET', 'metadata'],
    ['POST', 'acs'],
  ] as const) {
    const answer = await service.request(method, `/v1/portal/sso/saml/${path}`)
    assert.equal(answer.status, 404)
    assert.match(answer.body.detail, /docs\/sso\.md/)
  }
})
