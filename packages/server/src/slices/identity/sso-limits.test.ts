// Sign-ins that fail: who else is refused for it.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { TestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { Browser } from './testing/browser.ts'
import type { ForgingProvider } from './testing/forging-provider.ts'
import { begin, callbackPath, codeOf, connect, enter, startSso } from './testing/sso-scene.ts'

let service: TestService
let provider: ForgingProvider
let stop: () => Promise<void>

before(async () => {
  ;({ service, provider, stop } = await startSso())
})

after(() => stop())

async function comeBack(connection_id: string, address: string, more = {}): Promise<string> {
  const browser = new Browser(service)
  const answer = provider.answer(await begin(browser, { connection_id }))
  const headers = { 'x-forwarded-for': address }
  return codeOf(await browser.ask('GET', callbackPath({ ...answer, ...more }), { headers }))
}

test('somebody whose sign-ins fail closes the connection to their own addresses only', async () => {
  const { connection_id, tenant } = await connect(service, provider.issuer)
  const error = { error: 'access_denied', code: '' }
  for (let i = 0; i < 5; i += 1)
    assert.equal(await comeBack(connection_id, `203.0.113.${i}`, error), '403 login_refused')
  assert.equal(await comeBack(connection_id, '203.0.113.9'), '429 rate_limited')
  assert.equal(await comeBack(connection_id, '198.51.100.1'), '302 ok')
  const limits = await rawSql(service, 'select policy_id from rate_slots where tenant_id = ?', [
    tenant.tenant_id,
  ])
  assert.doesNotMatch(JSON.stringify(limits), /203\.0\.113/)
})

test('failures from everywhere close it to everybody for a while', async () => {
  const { connection_id } = await connect(service, provider.issuer)
  const error = { error: 'access_denied', code: '' }
  for (let i = 0; i < 100; i += 1)
    assert.equal(await comeBack(connection_id, `100.64.${i}.1`, error), '403 login_refused')
  assert.equal(await comeBack(connection_id, '198.51.100.1'), '429 rate_limited')
})

test('tokens that anybody sends keep none of the provider from ending a session', async () => {
  const { connection_id } = await connect(service, provider.issuer)
  const { browser } = await enter(service, provider, connection_id, { claims: { sub: 'ana' } })
  const send = (logout_token: string, address: string) =>
    service.request('POST', `/v1/portal/sso/backchannel-logout?connection_id=${connection_id}`, {
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'x-forwarded-for': address,
      },
      raw: `logout_token=${logout_token}`,
    })
  const codes = new Set<string>()
  for (let i = 0; i < 1_500 && codes.size < 2; i += 1)
    codes.add(codeOf(await send('none', `203.0.113.${i % 256}`)))
  assert.deepEqual([...codes], ['400 bad_request', '429 rate_limited'])
  const iat = Math.floor(Date.now() / 1_000)
  const token = await provider.signLogout({
    iss: provider.issuer,
    aud: 'custos',
    sub: 'ana',
    iat,
    exp: iat + 100,
    jti: 'once',
    events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
  })
  assert.equal(codeOf(await send(token, '198.51.100.1')), '200 ok')
  assert.equal((await browser.ask('GET', '/v1/portal/me')).status, 401)
})
