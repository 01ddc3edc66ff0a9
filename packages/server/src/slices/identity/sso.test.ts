// Signing in through a provider: who gets in, as whom, and when it ends.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Answer, startTestService, type TestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { Browser } from './testing/browser.ts'
import { type ForgingProvider, startForgingProvider } from './testing/forging-provider.ts'
import {
  begin,
  callbackPath,
  connect,
  enter,
  nextAddress,
  SSO_EGRESS,
  startSso,
  walk,
} from './testing/sso-scene.ts'

type ForgedAnswer = Parameters<ForgingProvider['answer']>[1]

const CONSOLE_ORIGIN = 'https://console.example'
let service: TestService
let provider: ForgingProvider
let stop: () => Promise<void>

before(async () => {
  ;({ service, provider, stop } = await startSso({ console_origins: [CONSOLE_ORIGIN] }))
})

after(() => stop())

const codeOf = ({ status, body }: Answer) => `${status} ${body?.error ?? 'ok'}`
const mapped = (more: object = {}) => ({
  default_role: null,
  role_claim: ['groups'],
  role_map: [
    { value: 'auditors', role: 'auditor' },
    { value: 'approvers', role: 'approver' },
    { value: 'owners', role: 'owner' },
  ],
  allow_owner: true,
  ...more,
})
const stranger = () => new Browser(service)

/** The log entries of an event, oldest first. */
async function logged(key: string, event_type: string) {
  const { body } = await service.request('GET', '/v1/gcrumbs/breadcrumbs?limit=1000', { key })
  return body.breadcrumbs.filter((one: { event_type: string }) => one.event_type === event_type)
}

const reasonsOf = async (key: string) =>
  (await logged(key, 'user.sign_in_refused')).map(
    ({ payload }: { payload: { reason: string } }) => payload.reason,
  )

describe("'identity.authorize' and 'identity.callback'", () => {
  test('a HEAD of the redirect, as of a link scanner, uses nothing up', async () => {
    const { connection_id } = await connect(service, provider.issuer)
    const browser = stranger()
    const path = callbackPath(provider.answer(await begin(browser, { connection_id })))
    const scanned = await browser.ask('HEAD', path)
    assert.deepEqual([scanned.status, scanned.headers.get('allow')], [405, 'GET'])
    assert.equal((await browser.ask('GET', path)).status, 302)
  })

  test('a person whom the provider knows gets a session with the default role', async () => {
    const { connection_id, tenant } = await connect(service, provider.issuer)
    const { me } = await enter(service, provider, connection_id, {
      claims: { sub: 'u1', name: 'Ana', email: 'ana@example.com' },
    })
    assert.deepEqual([me.mode, me.tenant_id, me.user.name], ['session', tenant.tenant_id, 'Ana'])
    assert.deepEqual(me.user.roles, ['viewer'])
    const again = await enter(service, provider, connection_id, { claims: { sub: 'u1' } })
    assert.equal(again.me.user.user_id, me.user.user_id)
    const entries = await logged(tenant.api_key, 'user.signed_in')
    assert.equal(entries.length, 2)
    assert.equal(entries[0].payload.connection_id, connection_id)
    assert.equal(entries[0].payload.method, 'oidc')
  })

  test('the provider is asked for a code with PKCE, state, nonce, and nothing else', async () => {
    const { connection_id } = await connect(service, provider.issuer, { scopes: ['groups'] })
    const browser = stranger()
    const asked = new URL(await begin(browser, { connection_id })).searchParams
    assert.equal(asked.get('response_type'), 'code')
    assert.equal(asked.get('code_challenge_method'), 'S256')
    assert.equal(asked.get('scope'), 'openid groups')
    assert.equal(asked.get('redirect_uri'), `${service.url}/v1/portal/sso/callback`)
    for (const name of ['state', 'nonce', 'code_challenge'])
      assert.ok((asked.get(name)?.length ?? 0) >= 43, name)
    assert.equal(browser.cookies.get('custos_login')?.length, 43)
  })

  test('roles are mapped at every sign-in, and end what exceeds them', async () => {
    const { connection_id } = await connect(service, provider.issuer, mapped())
    const groups = (...names: string[]) => ({ claims: { sub: 'r', groups: names } })
    const first = await enter(service, provider, connection_id, groups('owners', 'auditors'))
    assert.deepEqual(first.me.user.roles, ['owner', 'auditor'])
    const other = await enter(service, provider, connection_id, {
      claims: { sub: 'boss', groups: ['owners'] },
    })
    const made = await first.browser.ask('POST', '/v1/keys', { body: { class: 'tenant' } })
    assert.equal(made.status, 201, made.text)
    const second = await enter(service, provider, connection_id, groups('auditors', 'unknown'))
    assert.deepEqual(second.me.user.roles, ['auditor'])
    assert.equal((await first.browser.ask('GET', '/v1/portal/me')).status, 401)
    const key = made.body.api_key
    assert.equal((await service.request('GET', '/v1/stores', { key })).status, 401)
    const kept = await enter(service, provider, connection_id, {
      claims: { sub: 'boss', groups: ['auditors'] },
    })
    // A tenant keeps an owner, whatever the provider says of the last one.
    assert.deepEqual(kept.me.user.roles, ['owner', 'auditor'])
    assert.equal(other.me.user.user_id, kept.me.user.user_id)
  })

  test('claims at the UserInfo endpoint count only for the subject of the token', async () => {
    const { connection_id } = await connect(service, provider.issuer, mapped())
    const userinfo = { sub: 'i', groups: ['approvers'], name: 'Info' }
    const { me } = await enter(service, provider, connection_id, { claims: { sub: 'i' }, userinfo })
    assert.deepEqual([me.user.roles, me.user.name], [['approver'], 'Info'])
    const foreign = { claims: { sub: 'i' }, userinfo: { ...userinfo, sub: 'j' } }
    const refused = await walk(stranger(), provider, { connection_id }, foreign)
    assert.equal(codeOf(refused), '403 login_refused')
  })

  test('keys of the provider may be replaced at any time', async (t) => {
    const own = await startForgingProvider(t)
    const { connection_id } = await connect(service, own.issuer)
    await enter(service, own, connection_id)
    own.rotate()
    await enter(service, own, connection_id)
  })

  test('an outage of the provider stops new sign-ins only', async (t) => {
    const own = await startForgingProvider(t)
    const { connection_id, tenant } = await connect(service, own.issuer)
    const { browser } = await enter(service, own, connection_id)
    const late = stranger()
    const location = await begin(late, { connection_id })
    own.fail(true)
    const answer = await late.ask('GET', callbackPath(own.answer(location)))
    assert.equal(codeOf(answer), '503 idp_unavailable')
    assert.ok(Number(answer.headers.get('retry-after')) >= 1)
    assert.equal((await browser.ask('GET', '/v1/portal/me')).status, 200)
    assert.deepEqual(await reasonsOf(tenant.api_key), ['provider_unavailable'])
  })

  test('it leads to paths of the service only, and signs nobody in for another site', async () => {
    const { connection_id } = await connect(service, provider.issuer)
    const answer = await walk(stranger(), provider, { connection_id, return_to: '/console/log' })
    assert.equal(answer.headers.get('location'), '/console/log')
    const wrong = ['https://evil.example/', '//evil.example', '/\\evil.example', 'console', '/a b']
    for (const return_to of [...wrong, `${CONSOLE_ORIGIN}/`]) {
      const query = new URLSearchParams({ connection_id, return_to })
      const headers = nextAddress()
      const path = `/v1/portal/sso/authorize?${query}`
      const refused = await service.request('GET', path, { headers })
      assert.equal(codeOf(refused), '422 rejected', return_to)
    }
  })
})

describe('an invitation', () => {
  const invited = { email: 'Ben@corp.example', email_verified: true }

  async function invitingScene(settings: object = {}) {
    const scene = await connect(service, provider.issuer, { create_users: false, ...settings })
    const { tenant, connection_id } = scene
    const path = `/v1/cloud/tenants/${tenant.tenant_id}/users`
    const body = { email: 'ben@corp.example', roles: ['auditor'] }
    const made = await service.request('POST', path, { key: tenant.api_key, body })
    assert.equal(made.status, 201, made.text)
    return { ...scene, user: made.body.user, key: tenant.api_key, connection_id }
  }

  let domains = 0
  const confirm = (tenant_id: string, connection_id: string, names: string[]) =>
    service.request(
      'PUT',
      `/v1/cloud/tenants/${tenant_id}/sso/connections/${connection_id}/domains`,
      { key: service.operator_key, body: { domains: names } },
    )

  test("is taken by a verified address of a domain of 'identity.set_domains'", async () => {
    const { tenant, connection_id, user } = await invitingScene()
    const set = await confirm(tenant.tenant_id, connection_id, ['corp.example'])
    assert.deepEqual(set.body.domains, ['corp.example'], set.text)
    const { me } = await enter(service, provider, connection_id, {
      claims: { sub: 'b', ...invited },
    })
    assert.deepEqual([me.user.user_id, me.user.roles], [user.user_id, ['auditor']])
    const byDomain = await walk(
      stranger(),
      provider,
      { domain: 'CORP.example' },
      {
        claims: { sub: 'b' },
      },
    )
    assert.equal(byDomain.status, 302, byDomain.text)
    assert.equal((await confirm(tenant.tenant_id, connection_id, [])).status, 200)
  })

  test('is not taken by an unverified address or by one of another domain', async () => {
    domains += 1
    const { tenant, connection_id, key } = await invitingScene({ create_users: true })
    const try_ = (claims: object) =>
      walk(stranger(), provider, { connection_id }, { claims: { sub: 'b', ...invited, ...claims } })
    assert.equal(codeOf(await try_({ email_verified: false })), '403 login_refused')
    assert.equal(codeOf(await try_({ email_verified: 'true' })), '403 login_refused')
    assert.equal(codeOf(await try_({})), '403 login_refused')
    assert.deepEqual(await reasonsOf(key), ['email_unverified', 'domain_foreign'])
    const { users } = (await service.request('GET', '/v1/portal/users', { key })).body
    assert.equal(users.length, 1)
    assert.equal(users[0].state, 'invited')
    assert.ok(tenant)
  })

  test('a stranger is not let in where nobody is who was not invited', async () => {
    const { connection_id, key } = await invitingScene()
    const answer = await walk(stranger(), provider, { connection_id }, { claims: { sub: 'x' } })
    assert.equal(codeOf(answer), '403 not_invited')
    assert.deepEqual(await reasonsOf(key), ['not_invited'])
  })

  test('an active person is never taken over by an address', async () => {
    const { connection_id, tenant, key } = await invitingScene({ create_users: true })
    await confirm(tenant.tenant_id, connection_id, [`corp${domains}.example`])
    const claims = { email: `cy@corp${domains}.example`, email_verified: true }
    await enter(service, provider, connection_id, { claims: { sub: 'c', ...claims } })
    const other = await walk(
      stranger(),
      provider,
      { connection_id },
      {
        claims: { sub: 'd', ...claims },
      },
    )
    assert.equal(codeOf(other), '403 login_refused')
    assert.deepEqual(await reasonsOf(key), ['email_taken'])
  })
})

describe('what is refused', () => {
  /** Each by one browser that began properly. */
  const forgeries: Readonly<Record<string, ForgedAnswer>> = {
    'another nonce': { claims: { nonce: 'x'.repeat(43) } },
    'no nonce': { claims: { nonce: undefined } },
    'no signature': { sign: 'none' },
    'HS256 with the public key': { sign: 'HS256' },
    'another key': { sign: 'unknown-key' },
    'a changed payload': { sign: 'tampered' },
    'another audience': { claims: { aud: 'other' } },
    'more audiences without azp': { claims: { aud: ['custos', 'other'] } },
    'a foreign azp': { claims: { azp: 'other' } },
    'another issuer in the token': { claims: { iss: 'https://other.example' } },
    'another issuer in the answer': { query: { iss: 'https://other.example' } },
    'an expired token': { claims: { exp: 1_000, iat: 900 } },
    'a token of an hour ago': { claims: { iat: Math.floor(Date.now() / 1_000) - 3_600 } },
    'a token of the future': { claims: { iat: Math.floor(Date.now() / 1_000) + 3_600 } },
    'no subject': { claims: { sub: '' } },
    'a verifier that was not asked for': { challenge: 'x'.repeat(43) },
    'an error of the provider': { query: { error: 'access_denied', code: undefined } },
    'no code': { query: { code: undefined } },
  }

  test('every forgery gets the same answer, and the same page in a browser', async () => {
    const pages = new Set<string>()
    for (const [name, forged] of Object.entries(forgeries)) {
      const { connection_id, tenant } = await connect(service, provider.issuer)
      const browser = stranger()
      const answer = await walk(browser, provider, { connection_id }, forged)
      const { request_id: _, ...body } = answer.body
      assert.deepEqual([answer.status, body.error], [403, 'login_refused'], name)
      assert.equal(browser.cookies.get('custos_session'), undefined, name)
      const location = await begin(browser, { connection_id })
      const page = await browser.ask('GET', callbackPath(provider.answer(location, forged)), {
        headers: { accept: 'text/html' },
      })
      assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
      pages.add(
        `${JSON.stringify(body)} ${page.status} ${page.text.replace(/<code>.*<\/code>/, '')}`,
      )
      assert.equal((await reasonsOf(tenant.api_key)).length, 1, name)
      const { users } = (await service.request('GET', '/v1/portal/users', { key: tenant.api_key }))
        .body
      assert.deepEqual(users, [], name)
    }
    assert.equal(pages.size, 1)
  })

  test('an unknown, a used and an unfinished state, and one of another browser', async () => {
    const { connection_id } = await connect(service, provider.issuer)
    const browser = stranger()
    const location = await begin(browser, { connection_id })
    const path = callbackPath(provider.answer(location))
    assert.equal(codeOf(await stranger().ask('GET', path)), '400 login_expired')
    const thief = stranger()
    await begin(thief, { connection_id })
    assert.equal(codeOf(await thief.ask('GET', path)), '400 login_expired')
    assert.equal((await browser.ask('GET', path)).status, 302)
    assert.equal(codeOf(await browser.ask('GET', path)), '400 login_expired')
    for (const query of ['', '?state=', '?state=x&code=y', '?code=y', '?x=1'])
      assert.equal(
        codeOf(await stranger().ask('GET', `/v1/portal/sso/callback${query}`)),
        '400 login_expired',
      )
  })

  test('groups that the provider does not state are unknown, not none', async () => {
    const settings = mapped({ default_role: 'viewer' })
    const { connection_id, tenant } = await connect(service, provider.issuer, settings)
    const unknown = [
      {},
      { _claim_names: { groups: 'src1' }, _claim_sources: { src1: {} } },
      { groups: ['auditors'], hasgroups: true },
      { groups: { auditors: true } },
      { groups: ['auditors', 1] },
    ]
    for (const claims of unknown) {
      const sub = { sub: 'g', ...claims }
      const answer = await walk(stranger(), provider, { connection_id }, { claims: sub })
      assert.equal(codeOf(answer), '403 login_refused', JSON.stringify(claims))
    }
    assert.deepEqual(await reasonsOf(tenant.api_key), ['roles_unknown'])
    const blocked = await walk(
      stranger(),
      provider,
      { connection_id },
      {
        claims: { sub: 'g', groups: [] },
      },
    )
    // Five failures in a minute: nobody gets further for now.
    assert.equal(codeOf(blocked), '429 rate_limited')
    assert.ok(Number(blocked.headers.get('retry-after')) >= 1)
  })

  test('none of the groups is mapped and no role is the default', async () => {
    const { connection_id } = await connect(service, provider.issuer, mapped())
    const answer = await walk(
      stranger(),
      provider,
      { connection_id },
      {
        claims: { sub: 'n', groups: ['others'] },
      },
    )
    assert.equal(codeOf(answer), '403 role_unmapped')
  })

  test('100 callbacks with one state at the same time begin one session', async () => {
    const { connection_id, tenant } = await connect(service, provider.issuer)
    const browser = stranger()
    const path = callbackPath(provider.answer(await begin(browser, { connection_id })))
    const answers = await Promise.all(Array.from({ length: 100 }, () => browser.ask('GET', path)))
    assert.equal(answers.filter(({ status }) => status === 302).length, 1)
    assert.equal(answers.filter((one) => codeOf(one) === '400 login_expired').length, 99)
    const key = tenant.api_key
    const { sessions } = (await service.request('GET', '/v1/portal/sessions', { key })).body
    assert.equal(sessions.length, 1)
  })

  test('more than 10 sign-ins a minute are not begun from one block of addresses', async () => {
    const { connection_id } = await connect(service, provider.issuer)
    const start = (address: string) =>
      service.request('GET', `/v1/portal/sso/authorize?connection_id=${connection_id}`, {
        headers: { 'x-forwarded-for': `1.2.3.4, ${address}` },
      })
    for (let i = 0; i < 10; i += 1) assert.equal((await start(`8.8.8.${i}`)).status, 302)
    const refused = await start('8.8.8.200')
    assert.equal(codeOf(refused), '429 rate_limited')
    // Until the minute of the service is over.
    const wait_s = Number(refused.headers.get('retry-after'))
    assert.ok(Number.isInteger(wait_s) && wait_s >= 1 && wait_s <= 60, String(wait_s))
    assert.equal((await start('8.8.9.1')).status, 302)
  })
})

test('the address of a client is taken from proxies of the operator only', async (t) => {
  const own = await startTestService({ config: { egress: SSO_EGRESS, trusted_proxies: [] } })
  t.after(() => own.stop())
  const { connection_id } = await connect(own, provider.issuer)
  const start = (address: string) =>
    own.request('GET', `/v1/portal/sso/authorize?connection_id=${connection_id}`, {
      headers: { 'x-forwarded-for': address },
    })
  for (let i = 0; i < 10; i += 1) assert.equal((await start(`9.9.${i}.9`)).status, 302)
  assert.equal(codeOf(await start('9.9.99.9')), '429 rate_limited')
})

test('behind two proxies of the operator the client is whom the outer one names', async (t) => {
  const trusted_proxies = ['127.0.0.1', '10.0.0.0/8']
  const own = await startTestService({ config: { egress: SSO_EGRESS, trusted_proxies } })
  t.after(() => own.stop())
  const { connection_id } = await connect(own, provider.issuer)
  const start = (address: string) =>
    own.request('GET', `/v1/portal/sso/authorize?connection_id=${connection_id}`, {
      headers: { 'x-forwarded-for': `9.9.${address.slice(-1)}.9, ${address}, 10.1.1.1` },
    })
  for (let i = 0; i < 10; i += 1) assert.equal((await start(`2001:db8::${i}`)).status, 302)
  assert.equal(codeOf(await start('2001:db8:0:0:5::1')), '429 rate_limited')
  assert.equal((await start('2001:db8:0:1::1')).status, 302)
})

test('a page of another site cannot sign its visitors in', async () => {
  const { connection_id } = await connect(service, provider.issuer)
  const start = (site: string, more: Record<string, string> = {}) => {
    const query = new URLSearchParams({ connection_id, ...more })
    const headers = { ...nextAddress(), 'sec-fetch-site': site }
    return service.request('GET', `/v1/portal/sso/authorize?${query}`, { headers })
  }
  for (const site of ['cross-site', 'same-site', 'other']) {
    const refused = await start(site)
    assert.equal(codeOf(refused), '403 origin_refused', site)
    assert.deepEqual(refused.headers.getSetCookie(), [], site)
  }
  for (const site of ['same-origin', 'none']) assert.equal((await start(site)).status, 302, site)
  // Another console gets a code, which is of use to the page with the verifier only.
  const console_ = { return_to: `${CONSOLE_ORIGIN}/app`, challenge: 'x'.repeat(43) }
  assert.equal((await start('cross-site', console_)).status, 302)
})

describe("'identity.exchange'", () => {
  const verifier = 'v'.repeat(43)
  const challenge = 'q-CSegE3XXoS_kGa1gFZBbrKVr0ImzXMxAR2EQT9HZU'

  test('a console of another origin gets a code once, and no key in any address', async () => {
    const { createHash } = await import('node:crypto')
    const made = createHash('sha256').update(verifier).digest('base64url')
    assert.ok(challenge.length === made.length)
    const { connection_id } = await connect(service, provider.issuer)
    const return_to = `${CONSOLE_ORIGIN}/app?x=1`
    const query = { connection_id, return_to, challenge: made }
    const answer = await walk(stranger(), provider, query)
    const url = new URL(answer.headers.get('location') ?? '')
    assert.equal(`${url.origin}${url.pathname}`, `${CONSOLE_ORIGIN}/app`)
    assert.deepEqual([...url.searchParams.keys()], ['x', 'code'])
    assert.deepEqual(
      answer.headers.getSetCookie().filter((line) => /session/.test(line)),
      [],
    )
    const code = url.searchParams.get('code') ?? ''
    const console_ = stranger()
    const swap = (body: object) =>
      console_.ask('POST', '/v1/portal/sso/exchange', {
        body,
        headers: { origin: CONSOLE_ORIGIN },
      })
    const taken = await swap({ code, verifier })
    assert.equal(taken.status, 201, taken.text)
    assert.equal((await console_.ask('GET', '/v1/portal/me')).body.mode, 'session')
    assert.equal(codeOf(await swap({ code, verifier })), '400 login_expired')
    const next = await walk(stranger(), provider, query)
    const other = new URL(next.headers.get('location') ?? '').searchParams.get('code') ?? ''
    const wrong = await swap({ code: other, verifier: 'w'.repeat(43) })
    assert.equal(codeOf(wrong), '400 login_expired')
    assert.equal(codeOf(await swap({ code: other, verifier })), '400 login_expired')
  })
})

test('nothing of a sign-in is stored in clear', async () => {
  const { connection_id } = await connect(service, provider.issuer)
  const browser = stranger()
  const location = await begin(browser, { connection_id })
  const asked = new URL(location).searchParams
  const cookie = browser.cookies.get('custos_login') ?? ''
  const secrets = [asked.get('state'), asked.get('nonce'), cookie, 'secret-of-the-provider']
  const claims = { sub: 'subject-canary', email: 'canary@example.com', name: 'Canary Name' }
  const answer = provider.answer(location, { claims })
  const during = await dump()
  await browser.ask('GET', callbackPath(answer))
  secrets.push(answer['code'] ?? '', ...Object.values(claims), provider.issuer)
  secrets.push(browser.cookies.get('custos_session') ?? '-')
  const kept = `${during}${await dump()}`
  for (const secret of secrets) assert.ok(secret && !kept.includes(secret), secret ?? 'none')
})

/** Every table of sign-ins, people and sessions, as text. */
async function dump(): Promise<string> {
  const tables = ['sso_connections', 'sso_identities', 'sso_logins', 'sso_codes', 'sso_logouts']
  let text = ''
  for (const table of [...tables, 'users', 'sessions', 'breadcrumbs', 'rate_slots'])
    for (const row of await rawSql(service, `select * from ${table}`))
      for (const value of Object.values(row))
        text += value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)
  return text
}
