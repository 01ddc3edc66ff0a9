// A domain is proved by DNS: a real name server on loopback, and a provider on loopback.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTxtServer } from '../../platform/egress/testing/dns-server.ts'
import { type Answer, startTestService, type TestService } from '../../testing/harness.ts'
import { Browser } from './testing/browser.ts'
import { type ForgingProvider, startForgingProvider } from './testing/forging-provider.ts'
import { codeOf, connect, SSO_EGRESS, walk } from './testing/sso-scene.ts'

const ends: (() => void)[] = []
let service: TestService
let provider: ForgingProvider
let dns: Awaited<ReturnType<typeof startTxtServer>>

before(async () => {
  const t = { after: (end: () => void) => void ends.push(end) }
  dns = await startTxtServer(t)
  provider = await startForgingProvider(t)
  service = await startTestService({
    config: { egress: SSO_EGRESS, dns_servers: [dns.address] },
  })
})
after(async () => {
  await service.stop()
  for (const end of ends) end()
})

const verify = (
  { connection_id }: { readonly connection_id: string },
  key: string,
  domain: string,
): Promise<Answer> =>
  service.request('POST', `/v1/portal/sso/connections/${connection_id}/verify-domain`, {
    key,
    body: { domain },
  })

test("'identity.verify_domain' names a record, finds it, and links invitations then", async () => {
  const here = await connect(service, provider.issuer, { create_users: false, default_role: null })
  const { api_key: key, tenant_id } = here.tenant
  const { status, body } = await verify(here, key, 'corp.example')
  assert.equal(status, 200)
  assert.deepEqual([body.verified, body.problem], [false, 'record_missing'])
  assert.equal(body.record.name, 'corp.example')
  assert.match(body.record.value, /^custos-verification=[0-9a-f]{32,}$/)
  const domainsOf = async () =>
    (await service.request('GET', `/v1/portal/sso/connections/${here.connection_id}`, { key })).body
      .domains
  assert.deepEqual(await domainsOf(), [])

  const invited = await service.request('POST', `/v1/cloud/tenants/${tenant_id}/users`, {
    key,
    body: { email: 'ana@corp.example', roles: ['viewer'] },
  })
  assert.equal(invited.status, 201, invited.text)
  const claims = { email: 'ana@corp.example', email_verified: true }
  const query = { connection_id: here.connection_id }
  const early = await walk(new Browser(service), provider, query, { claims })
  assert.equal(early.status, 403)

  // Beside other texts, and longer than one part of a record.
  dns.texts.set('corp.example', ['v=spf1 -all', 'x'.repeat(600), body.record.value])
  const found = (await verify(here, key, 'corp.example')).body
  assert.deepEqual([found.verified, found.problem], [true, null])
  assert.deepEqual(found.record, body.record)
  assert.deepEqual(await domainsOf(), ['corp.example'])
  assert.equal((await verify(here, key, 'corp.example')).body.verified, true)
  const late = await walk(new Browser(service), provider, query, { claims })
  assert.equal(late.status, 302, late.text)
})

test('the record of another connection or domain, or a part of it, proves nothing', async () => {
  const here = await connect(service, provider.issuer)
  const there = await connect(service, provider.issuer)
  const beside = await connect(service, provider.issuer, { tenant: here.tenant })
  const key = here.tenant.api_key
  const record = (await verify(here, key, 'one.example')).body.record.value
  for (const text of [`${record}0`, record.slice(0, -1), ` ${record}`, record.toUpperCase()]) {
    dns.texts.set('one.example', [text])
    assert.equal((await verify(here, key, 'one.example')).body.verified, false, text)
  }
  dns.texts.set('one.example', [record])
  dns.texts.set('two.example', [record])
  dns.texts.set('sub.one.example', [record])
  assert.equal((await verify(there, there.tenant.api_key, 'one.example')).body.verified, false)
  assert.equal((await verify(beside, key, 'one.example')).body.verified, false)
  assert.equal((await verify(here, key, 'two.example')).body.verified, false)
  assert.equal((await verify(here, key, 'sub.one.example')).body.verified, false)
  assert.equal((await verify(here, key, 'one.example')).body.verified, true)
})

test('a domain of another connection is not taken, although its record is there', async () => {
  const here = await connect(service, provider.issuer)
  const there = await connect(service, provider.issuer)
  const values: string[] = []
  for (const one of [here, there])
    values.push((await verify(one, one.tenant.api_key, 'shared.example')).body.record.value)
  dns.texts.set('shared.example', values)
  const both = await Promise.all(
    [here, there].map((one) => verify(one, one.tenant.api_key, 'shared.example')),
  )
  assert.deepEqual(both.map(codeOf).sort(), ['200 ok', '409 name_taken'])
})

const drop = (connection_id: string, key: string, domain: string): Promise<Answer> =>
  service.request('DELETE', `/v1/portal/sso/connections/${connection_id}/domains/${domain}`, {
    key,
  })

/** A connection with a proved domain, and an invitation to an address of it. */
async function provedScene(domain: string) {
  const here = await connect(service, provider.issuer, { create_users: false, default_role: null })
  const { api_key: key, tenant_id } = here.tenant
  const prove = async () => {
    dns.texts.set(domain, [(await verify(here, key, domain)).body.record.value])
    assert.equal((await verify(here, key, domain)).body.verified, true)
  }
  await prove()
  const invite = async (name: string) => {
    const made = await service.request('POST', `/v1/cloud/tenants/${tenant_id}/users`, {
      key,
      body: { email: `${name}@${domain}`, roles: ['viewer'] },
    })
    assert.equal(made.status, 201, made.text)
    return { claims: { sub: name, email: `${name}@${domain}`, email_verified: true } }
  }
  return { ...here, key, prove, invite }
}

test("'identity.drop_domain' ends what the domain was for, and nobody's session", async () => {
  const domain = 'left.example'
  const { connection_id, key, invite, prove } = await provedScene(domain)
  const [ana, ben] = [await invite('ana'), await invite('ben')]
  const browser = new Browser(service)
  assert.equal((await walk(browser, provider, { domain }, ana)).status, 302)

  const dropped = await drop(connection_id, key, domain)
  assert.deepEqual([dropped.status, dropped.body.domains], [200, []], dropped.text)
  assert.equal((await browser.ask('GET', '/v1/portal/me')).status, 200)
  assert.equal((await walk(new Browser(service), provider, { connection_id }, ana)).status, 302)
  const refused = await walk(new Browser(service), provider, { connection_id }, ben)
  assert.equal(codeOf(refused), '403 login_refused')
  const path = `/v1/portal/sso/authorize?domain=${domain}`
  assert.equal(codeOf(await service.request('GET', path)), '404 sso_not_configured')
  assert.equal(codeOf(await drop(connection_id, key, domain)), '404 domain_not_found')

  const crumbs = '/v1/gcrumbs/breadcrumbs?limit=100'
  const { breadcrumbs } = (await service.request('GET', crumbs, { key })).body
  const changes = breadcrumbs.flatMap((one: Answer['body']) =>
    one.event_type === 'sso.connection_changed' ? [one.payload.change] : [],
  )
  assert.deepEqual(changes.sort(), ['created', 'domains', 'domains'])
  await prove()
  assert.equal((await walk(new Browser(service), provider, { connection_id }, ben)).status, 302)
})

test('a domain that was dropped can be proved for another tenant, and not before', async () => {
  const domain = 'sold.example'
  const { connection_id, key } = await provedScene(domain)
  const there = await connect(service, provider.issuer)
  const foreign = there.tenant.api_key
  assert.equal(codeOf(await drop(connection_id, foreign, domain)), '404 connection_not_found')
  assert.equal(codeOf(await drop(there.connection_id, foreign, domain)), '404 domain_not_found')
  const { record } = (await verify(there, foreign, domain)).body
  dns.texts.set(domain, [record.value])
  assert.equal(codeOf(await verify(there, foreign, domain)), '409 name_taken')
  assert.equal((await drop(connection_id, key, domain)).status, 200)
  assert.equal((await verify(there, foreign, domain)).body.verified, true)
  assert.equal(codeOf(await drop(connection_id, key, domain)), '404 domain_not_found')
})

test('nobody is let in by a domain that is dropped while they sign in', async () => {
  const domain = 'meanwhile.example'
  const { connection_id, key, invite } = await provedScene(domain)
  const ana = await invite('ana')
  provider.beforeTokens = async () => {
    assert.equal((await drop(connection_id, key, domain)).status, 200)
  }
  const answer = await walk(new Browser(service), provider, { connection_id }, ana)
  provider.beforeTokens = async () => {}
  assert.equal(codeOf(answer), '403 login_refused')
})

test('a name server that does not answer is told apart, and bad domains are refused', async () => {
  const here = await connect(service, provider.issuer)
  const key = here.tenant.api_key
  dns.texts.set('silent.example', null)
  assert.equal((await verify(here, key, 'silent.example')).body.problem, 'unreachable')
  for (const domain of ['Corp.example', 'example', 'a b.example', '../x.example', 'x'.repeat(254)])
    assert.equal((await verify(here, key, domain)).status, 422, domain)
  const foreign = await connect(service, provider.issuer)
  assert.equal(
    codeOf(await verify(here, foreign.tenant.api_key, 'corp.example')),
    '404 connection_not_found',
  )
})

test('somebody who may make no owner proves no domain', async () => {
  const here = await connect(service, provider.issuer)
  const made = await service.request('POST', '/v1/keys', {
    key: here.tenant.api_key,
    body: { name: 'sso', scopes: ['sso:admin'] },
  })
  assert.equal(made.status, 201, made.text)
  const refused = await verify(here, made.body.api_key, 'corp.example')
  assert.equal(refused.status, 403, refused.text)
})

test('with a domain, somebody who may make no owner adds no directory', async () => {
  const [one, two] = [1, 2].map((n) => `${String(n).repeat(8)}-2222-4333-8444-555555555555`)
  provider.publish({ issuer: `${provider.issuer}/{tenantid}/v2.0` }, {})
  const here = await connect(service, `${provider.issuer}/organizations/v2.0`, {
    directories: [one],
    default_role: null,
    role_map: [],
  })
  const { api_key } = here.tenant
  const made = await service.request('POST', '/v1/keys', {
    key: api_key,
    body: { name: 'sso', scopes: ['sso:admin'] },
  })
  const list = (key: string, directories: unknown[]) =>
    service.request('PUT', `/v1/portal/sso/connections/${here.connection_id}`, {
      key,
      body: { directories },
    })
  assert.equal(codeOf(await list(made.body.api_key, [one, two])), '200 ok')
  assert.equal(codeOf(await list(made.body.api_key, [one])), '200 ok')
  const { record } = (await verify(here, api_key, 'listed.example')).body
  dns.texts.set('listed.example', [record.value])
  assert.equal((await verify(here, api_key, 'listed.example')).body.verified, true)
  assert.equal(codeOf(await list(made.body.api_key, [one, two])), '403 scope_missing')
  assert.equal(codeOf(await list(made.body.api_key, [one])), '200 ok')
  assert.equal(codeOf(await list(api_key, [one, two])), '200 ok')
})

test('more than ten proofs in a minute are refused', async () => {
  const here = await connect(service, provider.issuer)
  const statuses = new Set<number>()
  for (let i = 0; i < 11; i += 1)
    statuses.add((await verify(here, here.tenant.api_key, `d${i}.example`)).status)
  assert.deepEqual([...statuses], [200, 429])
})
