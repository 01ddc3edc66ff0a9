// A session of a browser is worth its key, no more and no longer, and only to pages of the service.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { request as sendRaw } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { limits } from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import { OPERATOR_KEY, startTestService, type TestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { movedClock } from '../../testing/skewed-clock.ts'
import { openFrames } from '../streams/testing/frame-reader.ts'
import { sweepSessions } from './index.ts'
import { Browser, signedIn } from './testing/browser.ts'

const HOUR_US = 3_600_000_000
const CONSOLE = 'https://console.example'
const clock = movedClock()
let service: TestService
let tenant: { tenant_id: string; api_key: string }

before(async () => {
  service = await startTestService({ clock, config: { console_origins: [CONSOLE] } })
  tenant = await service.createTenant('Acme')
})

after(() => service.stop())

const makeKey = async (body: object) => {
  const made = await service.request('POST', '/v1/keys', { key: tenant.api_key, body })
  assert.equal(made.status, 201, made.text)
  return made.body
}

const codeOf = ({ status, body }: { status: number; body?: { error?: string } }) =>
  `${status} ${body?.error ?? 'ok'}`

/** The answer to a sign-in whose request says that it reached the service under this name. */
function cookieFor(headers: Record<string, string>): Promise<string> {
  const body = JSON.stringify({ api_key: tenant.api_key })
  const { port } = new URL(service.url)
  return new Promise((resolve, reject) => {
    const sent = sendRaw(
      {
        host: '127.0.0.1',
        port,
        method: 'POST',
        path: '/v1/portal/session',
        headers: { 'content-type': 'application/json', ...headers },
      },
      (answer) => {
        answer.resume()
        resolve(answer.headers['set-cookie']?.join('\n') ?? `none: ${answer.statusCode}`)
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

describe("'identity.sign_in'", () => {
  test('begins a session that may do what its key may do', async () => {
    const browser = new Browser(service)
    const me = await browser.signIn(tenant.api_key)
    assert.equal(me.mode, 'session')
    assert.equal(me.tenant_id, tenant.tenant_id)
    assert.equal(me.tenant_name, 'Acme')
    assert.deepEqual(me.scopes, ['*'])
    assert.equal(me.stores, null)
    assert.equal(me.operator, false)
    assert.deepEqual((await browser.ask('GET', '/v1/portal/me')).body, me)
    const made = await browser.ask('POST', '/v1/stores', { body: { store_id: 'signed-in' } })
    assert.equal(made.status, 200, made.text)
    assert.equal((await browser.ask('GET', '/v1/stores')).status, 200)
  })

  test('refuses what is no key, and a key that was revoked', async () => {
    const { api_key, key_id } = await makeKey({ name: 'gone' })
    await service.request('DELETE', `/v1/keys/${key_id}`, { key: tenant.api_key })
    for (const wrong of ['x', `${tenant.api_key}x`, api_key, 'ключ']) {
      const answer = await new Browser(service).ask('POST', '/v1/portal/session', {
        body: { api_key: wrong },
      })
      assert.equal(codeOf(answer), '401 unauthenticated')
      assert.deepEqual(answer.headers.getSetCookie(), [])
    }
    for (const [chars, status] of [
      [0, 422],
      [1, 401],
      [limits.api_key_chars, 401],
      [limits.api_key_chars + 1, 422],
    ] as const) {
      const body = { api_key: 'x'.repeat(chars) }
      const answer = await service.request('POST', '/v1/portal/session', { body })
      assert.equal(answer.status, status)
    }
  })

  test('is refused to a page of another site, which would choose who is signed in', async () => {
    const body = { api_key: tenant.api_key }
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: '', 'sec-fetch-site': 'cross-site' },
    ]) {
      const answer = await new Browser(service).ask('POST', '/v1/portal/session', { body, headers })
      assert.equal(codeOf(answer), '403 origin_refused')
    }
    const form = await service.request('POST', '/v1/portal/session', {
      raw: JSON.stringify(body),
      headers: { 'content-type': 'text/plain', origin: service.url },
    })
    assert.equal(form.status, 415)
    const listed = { origin: CONSOLE }
    const allowed = await service.request('POST', '/v1/portal/session', { body, headers: listed })
    assert.equal(allowed.status, 201)
  })

  test('sets a cookie that scripts cannot read and other hosts cannot set', async () => {
    const flags = '; Path=/; Max-Age=86400; HttpOnly; SameSite=Lax'
    const secure = new RegExp(`^__Host-custos_session=[0-9A-Za-z]{43}${flags}; Secure$`)
    const plain = new RegExp(`^custos_session=[0-9A-Za-z]{43}${flags}$`)
    const { port } = new URL(service.url)
    assert.match(await cookieFor({ host: 'custos.example' }), secure)
    assert.match(await cookieFor({ host: `127.0.0.1:${port}` }), plain)
    assert.match(await cookieFor({ host: `localhost:${port}` }), plain)
    assert.match(await cookieFor({ host: 'localhost.evil.example' }), secure)
    const proxied = { host: '127.0.0.1', 'x-forwarded-proto': 'https' }
    assert.match(await cookieFor(proxied), secure)
    const behind = { host: '127.0.0.1', origin: CONSOLE }
    assert.match(await cookieFor(behind), secure)
  })

  test('stores a hash of the cookie only', async () => {
    const browser = await signedIn(service, tenant.api_key)
    const [token = ''] = browser.cookies.values()
    const rows = await rawSql(service, 'select * from sessions')
    const hashes = rows.map((row) => Buffer.from(row['session_hash'] as Uint8Array).toString('hex'))
    assert.ok(hashes.includes(createHash('sha256').update(token).digest('hex')))
    for (const value of rows.flatMap((row) => Object.values(row)))
      assert.ok(!Buffer.from(value instanceof Uint8Array ? value : String(value)).includes(token))
  })

  test('replaces the session that the browser had', async () => {
    const browser = await signedIn(service, tenant.api_key)
    const cookie = browser.headers['cookie'] ?? ''
    await browser.signIn(tenant.api_key)
    assert.notEqual(browser.headers['cookie'], cookie)
    const headers = { cookie }
    assert.equal(
      codeOf(await service.request('GET', '/v1/stores', { headers })),
      '401 unauthenticated',
    )
  })

  test('a key has at most sessions_per_key; a further one ends the oldest', async () => {
    const { api_key } = await makeKey({ name: 'crowded', scopes: ['keys:admin', 'memory:read'] })
    const oldest = await signedIn(service, api_key)
    const second = await signedIn(service, api_key)
    for (let made = 2; made < limits.sessions_per_key; made += 1) await signedIn(service, api_key)
    assert.equal((await oldest.ask('GET', '/v1/stores')).status, 200)
    await signedIn(service, api_key)
    assert.equal(codeOf(await oldest.ask('GET', '/v1/stores')), '401 unauthenticated')
    assert.equal((await second.ask('GET', '/v1/stores')).status, 200)
  })
})

describe('a request of a session', () => {
  test('that writes comes from a page of the service and brings the token', async () => {
    const browser = await signedIn(service, tenant.api_key)
    const write = (headers: Record<string, string>) =>
      browser.ask('POST', '/v1/stores', { body: {}, headers })
    const { cookie = '', origin = '' } = browser.headers
    const token = { 'x-custos-csrf': browser.csrf_token }
    const other = await signedIn(service, tenant.api_key)
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `${origin}.evil.example` },
      { 'x-custos-csrf': '' },
      { 'x-custos-csrf': 'x'.repeat(43) },
      { 'x-custos-csrf': other.csrf_token },
    ])
      assert.equal(codeOf(await write(headers)), '403 origin_refused', JSON.stringify(headers))
    const bare = { cookie, ...token }
    const path = '/v1/stores'
    const silent = await service.request('POST', path, { body: {}, headers: bare })
    assert.equal(codeOf(silent), '403 origin_refused')
    const cross = { ...bare, 'sec-fetch-site': 'same-site' }
    const near = await service.request('POST', path, { body: {}, headers: cross })
    assert.equal(codeOf(near), '403 origin_refused')
    const own = { ...bare, 'sec-fetch-site': 'same-origin' }
    assert.equal((await service.request('POST', path, { body: {}, headers: own })).status, 200)
    assert.equal((await write({ origin: CONSOLE })).status, 200)
    assert.equal((await write({})).status, 200)
    const typed = { ...browser.headers, 'content-type': 'text/plain' }
    const form = await service.request('POST', path, { raw: '{}', headers: typed })
    assert.equal(form.status, 415)
  })

  test('of any operation is held to the rules of a write by its method alone', async () => {
    const browser = await signedIn(service, tenant.api_key)
    const headers = { 'x-custos-csrf': '' }
    for (const [method, path] of [
      ['POST', '/v1/stores/default/retrieve'],
      ['PUT', '/v1/hitl/settings'],
      ['DELETE', '/v1/stores/none'],
      ['POST', '/v1/portal/logout'],
    ] as const)
      assert.equal(codeOf(await browser.ask(method, path, { headers })), '403 origin_refused')
    assert.equal((await browser.ask('HEAD', '/v1/stores', { headers })).status, 200)
  })

  test('brings no key besides', async () => {
    const browser = await signedIn(service, tenant.api_key)
    const path = '/v1/stores'
    const withKey = await browser.ask('GET', path, { key: tenant.api_key })
    assert.equal(codeOf(withKey), '401 credentials_differ')
    const headers = { 'x-api-key': tenant.api_key }
    assert.equal(codeOf(await browser.ask('GET', path, { headers })), '401 credentials_differ')
    const empty = { authorization: 'Bearer ' }
    assert.equal(
      codeOf(await browser.ask('GET', path, { headers: empty })),
      '401 credentials_differ',
    )
  })

  test('sends an import and reads an event stream', async () => {
    const browser = await signedIn(service, tenant.api_key)
    await browser.ask('POST', '/v1/stores', { body: { store_id: 'imported' } })
    const imported = await browser.ask('POST', '/v1/stores/imported/import', {
      raw: '{"content":"The office opens at nine"}\n',
      headers: { 'content-type': 'application/x-ndjson' },
    })
    assert.equal(imported.status, 200, imported.text)
    const { cookie = '' } = browser.headers
    const reader = await openFrames(`${service.url}/v1/events/stream?from=start`, {
      headers: { cookie },
    })
    assert.equal(reader.status, 200)
    await reader.take(1)
    await browser.ask('POST', '/v1/portal/logout')
    await reader.rest()
  })

  test('a stream that a ticket of the session opened ends with the session', async () => {
    const browser = await signedIn(service, tenant.api_key)
    const ticketed = async () => {
      const body = { path: '/v1/events/stream' }
      const { ticket } = (await browser.ask('POST', '/v1/events/tickets', { body })).body
      return `${service.url}/v1/events/stream?from=start&ticket=${ticket}`
    }
    const [used, unused] = [await ticketed(), await ticketed()]
    const reader = await openFrames(used)
    await reader.take(1)
    await browser.ask('POST', '/v1/portal/logout')
    await reader.rest()
    assert.equal((await openFrames(unused)).status, 401)
  })

  test('has the limits of its key: scopes, stores and namespace', async () => {
    await service.request('POST', '/v1/stores', {
      key: tenant.api_key,
      body: { store_id: 'mine' },
    })
    const { api_key, key_id } = await makeKey({
      allowed_stores: ['mine'],
      scopes: ['memory:read', 'memory:write', 'keys:admin'],
    })
    const narrow = new Browser(service)
    const me = await narrow.signIn(api_key)
    assert.deepEqual(me.stores, ['mine'])
    assert.deepEqual(me.scopes, ['memory:read', 'memory:write', 'keys:admin'])
    assert.equal((await narrow.ask('GET', '/v1/stores/mine')).status, 200)
    assert.equal(codeOf(await narrow.ask('GET', '/v1/stores/default')), '404 store_not_found')
    assert.equal(codeOf(await narrow.ask('GET', '/v1/governance/stats')), '403 scope_missing')
    const { sessions } = (await narrow.ask('GET', '/v1/portal/sessions')).body
    assert.deepEqual(
      sessions.map((session: { key_id: string }) => session.key_id),
      [key_id],
    )
    const wide = await signedIn(service, tenant.api_key)
    const all = (await wide.ask('GET', '/v1/portal/sessions')).body.sessions
    const foreign = all.find((session: { key_id: string }) => session.key_id !== key_id)
    const path = `/v1/portal/sessions/${foreign.session_id}`
    assert.equal(codeOf(await narrow.ask('DELETE', path)), '404 session_not_found')

    const namespace = `${tenant.tenant_id}/user-1`
    const limited = await makeKey({ namespace, scopes: ['memory:read', 'memory:write'] })
    const kept = await signedIn(service, limited.api_key)
    assert.equal((await kept.ask('GET', '/v1/portal/me')).status, 200)
    const body = { content: 'likes rain', options: { namespace: `${tenant.tenant_id}/user-2` } }
    const written = await kept.ask('POST', '/v1/stores/mine/write', { body })
    assert.equal(codeOf(written), '403 scope_missing', written.text)
    assert.equal((await kept.ask('POST', '/v1/portal/logout')).body.ended, true)
  })
})

describe('a session ends', () => {
  test('at once with its key: revoked, rotated, expired', async () => {
    const { api_key, key_id } = await makeKey({ name: 'stolen' })
    const browser = await signedIn(service, api_key)
    assert.equal((await browser.ask('GET', '/v1/stores')).status, 200)
    await service.request('DELETE', `/v1/keys/${key_id}`, { key: tenant.api_key })
    const gone = await browser.ask('GET', '/v1/stores')
    assert.equal(codeOf(gone), '401 unauthenticated')
    assert.match(gone.headers.get('set-cookie') ?? '', /^custos_session=; .*Max-Age=0/)
    assert.equal(browser.cookies.size, 0)

    const other = await service.createTenant()
    const rotating = await signedIn(service, other.api_key)
    const rotate = `/v1/cloud/tenants/${other.tenant_id}/rotate-key`
    assert.equal((await rotating.ask('POST', rotate)).status, 200)
    assert.equal(codeOf(await rotating.ask('GET', '/v1/stores')), '401 unauthenticated')

    const expires_us = service.kernel.clock.now() + HOUR_US
    const short = await makeKey({ expires_at: formatTime(expires_us) })
    const expiring = await signedIn(service, short.api_key)
    const me = (await expiring.ask('GET', '/v1/portal/me')).body
    assert.equal(me.expires_at, short.expires_at)
    clock.forward(HOUR_US + 1)
    assert.equal(codeOf(await expiring.ask('GET', '/v1/stores')), '401 unauthenticated')
  })

  test('8 hours after its last request, and 24 hours after it began', async () => {
    const idle = await signedIn(service, tenant.api_key)
    const busy = await signedIn(service, tenant.api_key)
    clock.forward(8 * HOUR_US - 1_000_000)
    assert.equal((await busy.ask('GET', '/v1/stores')).status, 200)
    clock.forward(1_000_001)
    assert.equal(codeOf(await idle.ask('GET', '/v1/stores')), '401 unauthenticated')
    clock.forward(7 * HOUR_US)
    assert.equal((await busy.ask('GET', '/v1/stores')).status, 200)
    clock.forward(7 * HOUR_US)
    assert.equal((await busy.ask('GET', '/v1/stores')).status, 200)
    clock.forward(2 * HOUR_US)
    assert.equal(codeOf(await busy.ask('GET', '/v1/stores')), '401 unauthenticated')
    await sweepSessions(service.kernel)
    assert.deepEqual(await rawSql(service, 'select session_id from sessions'), [])
  })

  test("by 'identity.logout', which removes the cookie", async () => {
    const browser = await signedIn(service, tenant.api_key)
    const cookie = browser.headers['cookie'] ?? ''
    const left = await browser.ask('POST', '/v1/portal/logout')
    assert.deepEqual(left.body, { ended: true })
    assert.equal(browser.cookies.size, 0)
    const headers = { cookie }
    assert.equal(
      codeOf(await service.request('GET', '/v1/stores', { headers })),
      '401 unauthenticated',
    )
    const key = tenant.api_key
    const byKey = await service.request('POST', '/v1/portal/logout', { key })
    assert.deepEqual(byKey.body, { ended: false })
  })

  test("by 'identity.revoke_session', seen in 'identity.sessions' and on the log", async () => {
    const browser = await signedIn(service, tenant.api_key)
    const key = tenant.api_key
    const { sessions } = (await browser.ask('GET', '/v1/portal/sessions')).body
    const own = sessions.find(({ current }: { current: boolean }) => current)
    assert.equal(sessions.filter(({ current }: { current: boolean }) => current).length, 1)
    const path = `/v1/portal/sessions/${own.session_id}`
    const other = await service.createTenant()
    const foreign = await service.request('DELETE', path, { key: other.api_key })
    assert.equal(codeOf(foreign), '404 session_not_found')
    assert.deepEqual((await service.request('DELETE', path, { key })).body, {
      session_id: own.session_id,
      revoked: true,
    })
    assert.equal(codeOf(await browser.ask('GET', '/v1/stores')), '401 unauthenticated')
    assert.equal(codeOf(await service.request('DELETE', path, { key })), '404 session_not_found')
    const log = await service.request('GET', '/v1/gcrumbs/breadcrumbs?limit=1000', { key })
    const events = log.body.breadcrumbs
      .filter(({ subject }: { subject: string }) => subject === own.session_id)
      .map(({ event_type }: { event_type: string }) => event_type)
    assert.deepEqual(events.toSorted(), ['session.revoked', 'session.started'])
    const listed = await service.request('GET', '/v1/portal/sessions?cursor=x', { key })
    assert.equal(codeOf(listed), '422 rejected')
  })
})

test('a page of sessions goes on where the one before ended, whatever came or went', async () => {
  const { api_key: key } = await service.createTenant()
  const started: string[] = []
  const list = async (query = '') =>
    (await service.request('GET', `/v1/portal/sessions${query}`, { key })).body
  const idsOf = ({ sessions }: { sessions: { session_id: string }[] }) =>
    sessions.map(({ session_id }) => session_id)
  for (let i = 0; i < 4; i += 1) await signedIn(service, key)
  started.push(...idsOf(await list()))
  const first = await list('?limit=2')
  assert.deepEqual(idsOf(first), started.slice(0, 2))
  for (let i = 0; i < 2; i += 1) await signedIn(service, key)
  await service.request('DELETE', `/v1/portal/sessions/${started[1]}`, { key })
  const next = await list(`?limit=2&cursor=${first.next_cursor}`)
  assert.deepEqual(idsOf(next), started.slice(2))
})

describe('an operator', () => {
  test('signs in as no tenant, and is signed out when the operator key changes', async () => {
    const own = await startTestService()
    try {
      const browser = new Browser(own)
      const me = await browser.signIn(OPERATOR_KEY)
      assert.equal(me.operator, true)
      assert.deepEqual([me.tenant_id, me.tenant_name], [null, null])
      assert.equal((await browser.ask('GET', '/v1/cloud/tenants')).status, 200)
      const made = await browser.ask('POST', '/v1/cloud/tenants', { body: { name: 'made' } })
      assert.equal(made.status, 201, made.text)
      assert.equal(codeOf(await browser.ask('GET', '/v1/stores')), '403 tenant_required')
      await own.stop({ keep: true })
      const { data_dir } = own
      const operator_key = 'another-operator-key-0123456789'
      const changed = await startTestService({ data_dir, config: { operator_key } })
      try {
        const { headers } = browser
        const asked = await changed.request('GET', '/v1/cloud/tenants', { headers })
        assert.equal(codeOf(asked), '401 unauthenticated')
      } finally {
        await changed.stop({ keep: true })
      }
      const back = await startTestService({ data_dir })
      const { headers } = browser
      const again = await back.request('GET', '/v1/portal/me', { headers })
      assert.equal(again.body.mode, 'session')
      await back.stop()
    } catch (error) {
      await own.stop().catch(() => {})
      throw error
    }
  })
})

describe("'identity.me' in local mode", () => {
  test('answers without a credential, and as the person who is signed in', async () => {
    const local = await startTestService({ config: { auth: 'local' } })
    try {
      const nobody = await local.request('GET', '/v1/portal/me')
      assert.equal(nobody.body.mode, 'local')
      assert.deepEqual([nobody.body.tenant_id, nobody.body.key_id], ['local', null])
      assert.equal(nobody.body.csrf_token, null)
      const other = await local.createTenant()
      const keyed = await local.request('GET', '/v1/portal/me', { key: other.api_key })
      assert.equal(keyed.body.mode, 'key')
      const browser = await signedIn(local, other.api_key)
      const me = (await browser.ask('GET', '/v1/portal/me')).body
      assert.deepEqual([me.mode, me.tenant_id], ['session', other.tenant_id])
      const evil = { origin: 'https://evil.example' }
      const refused = await browser.ask('GET', '/v1/portal/me', { headers: evil })
      assert.equal(codeOf(refused), '403 origin_refused')
      await browser.ask('POST', '/v1/portal/logout')
      assert.equal((await browser.ask('GET', '/v1/portal/me')).body.mode, 'local')
    } finally {
      await local.stop()
    }
  })
})
