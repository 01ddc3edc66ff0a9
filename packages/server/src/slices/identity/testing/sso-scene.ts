// A tenant with a connection to a provider, and browsers that sign in through it.

import assert from 'node:assert/strict'
import { type Answer, startTestService, type TestService } from '../../../testing/harness.ts'
import { Browser } from './browser.ts'
import { type ForgingProvider, startForgingProvider } from './forging-provider.ts'

type Tenant = Awaited<ReturnType<TestService['createTenant']>>
type ForgedAnswer = Parameters<ForgingProvider['answer']>[1]

/** Providers of tests are on loopback. */
export const SSO_EGRESS = { allow: ['127.0.0.1', 'localhost'], proxy: null }

/** One minute of attempts from one address would soon be over. */
let addresses = 0
export function nextAddress(): { 'x-forwarded-for': string } {
  addresses += 1
  const block = `${Math.floor(addresses / 250)}.${addresses % 250}`
  return { 'x-forwarded-for': `198.${block}.7` }
}

/** A service and a provider for the tests of one file. */
export async function startSso(config: { readonly console_origins?: readonly string[] } = {}) {
  const ended: (() => unknown)[] = []
  const service = await startTestService({ config: { egress: SSO_EGRESS, ...config } })
  const provider = await startForgingProvider({
    after: (end) => {
      ended.push(end as () => unknown)
    },
  })
  const stop = async () => {
    await service.stop()
    for (const end of ended) end()
  }
  return { service, provider, stop }
}

interface SsoScene {
  readonly tenant: Tenant
  readonly connection_id: string
  readonly connection: Answer['body']
}

/** Status and code of a refusal. */
export const codeOf = ({ status, body }: Answer): string => `${status} ${body?.error ?? 'ok'}`

/** The settings are those of `identity.create_connection`. */
export async function connect(
  service: TestService,
  issuer: string,
  { tenant, ...settings }: { readonly tenant?: Tenant; readonly [setting: string]: unknown } = {},
): Promise<SsoScene> {
  const owner = tenant ?? (await service.createTenant())
  const body = {
    name: 'Example Corp',
    issuer,
    client_id: 'custos',
    client_secret: 'secret-of-the-provider',
    create_users: true,
    default_role: 'viewer',
    ...settings,
  }
  const path = '/v1/portal/sso/connections'
  const made = await service.request('POST', path, { key: owner.api_key, body })
  assert.equal(made.status, 201, made.text)
  return { tenant: owner, connection_id: made.body.connection_id, connection: made.body }
}

/** Where the service leads the browser. */
export async function begin(browser: Browser, query: Record<string, string>): Promise<string> {
  const path = `/v1/portal/sso/authorize?${new URLSearchParams(query)}`
  const answer = await browser.ask('GET', path, { headers: nextAddress() })
  assert.equal(answer.status, 302, answer.text)
  return answer.headers.get('location') ?? ''
}

export const callbackPath = (query: Record<string, string>): string =>
  `/v1/portal/sso/callback?${new URLSearchParams(query)}`

/** Begins, answers as the provider, and returns what the callback answers. */
export async function walk(
  browser: Browser,
  provider: ForgingProvider,
  query: Record<string, string>,
  forged?: ForgedAnswer,
): Promise<Answer> {
  const location = await begin(browser, query)
  return browser.ask('GET', callbackPath(provider.answer(location, forged)))
}

/** Signed in: who the service says the person is. */
export async function enter(
  service: TestService,
  provider: ForgingProvider,
  connection_id: string,
  forged?: ForgedAnswer,
): Promise<{ readonly browser: Browser; readonly me: Answer['body'] }> {
  const browser = new Browser(service)
  const answer = await walk(browser, provider, { connection_id }, forged)
  assert.equal(answer.status, 302, answer.text)
  const me = await browser.ask('GET', '/v1/portal/me')
  assert.equal(me.status, 200, me.text)
  browser.csrf_token = me.body.csrf_token
  return { browser, me: me.body }
}
