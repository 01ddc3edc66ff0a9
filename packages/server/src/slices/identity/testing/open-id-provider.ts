// A certified OpenID provider in this process, on loopback with TLS, and people who have accounts.

import type { RequestListener, ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { exportJWK, generateKeyPair } from 'jose'
import {
  startTlsServer,
  trustTestCertificate,
} from '../../../platform/egress/testing/tls-server.ts'

/** The part of the package that is used: it has no types of its own. */
type Provider = new (issuer: string, options: object) => { callback(): RequestListener }

export const CLIENT = { client_id: 'custos', client_secret: 'secret-of-the-open-id-provider' }

export interface OpenIdProvider {
  readonly issuer: string
  /** The groups of accounts by their login; every login has one. */
  readonly groups: Map<string, readonly string[]>
  /** Every token it gave out, in the answers and requests that had them. */
  readonly issued: string[]
  /** Makes the client known; again after the keys were replaced. */
  register(urls: { redirect_uri: string; backchannel_logout_uri: string }): Promise<void>
}

/**
 * Closed when the test ends. The name is another host than that of the service. With a directory it
 * is below its id, and publishes a template as the issuer, as Microsoft does.
 */
export async function startOpenIdProvider(
  t: Pick<TestContext, 'after'>,
  { directory }: { readonly directory?: string } = {},
): Promise<OpenIdProvider> {
  trustTestCertificate()
  hideNotices(t)
  // A name in a variable: nothing is known of its types.
  const name = 'oidc-provider'
  const { default: Oidc }: { default: Provider } = await import(name)
  const groups = new Map<string, readonly string[]>()
  let serve: RequestListener = (_, response) => void response.writeHead(503).end()
  const issued: string[] = []
  const { port } = await startTlsServer(t, (request, response) => {
    if (request.url?.endsWith('/token')) keepTokens(response, issued)
    void serve(request, response)
  })
  const home = `https://localhost:${port}`
  const below = directory === undefined ? '' : `/${directory}/v2.0`
  const issuer = `${home}${below}`
  let keys = 0
  return {
    issuer: home,
    groups,
    issued,
    async register({ redirect_uri, backchannel_logout_uri }) {
      keys += 1
      const { privateKey } = await generateKeyPair('RS256', { extractable: true })
      const key = { ...(await exportJWK(privateKey)), kid: `k${keys}`, alg: 'RS256', use: 'sig' }
      const provider = new Oidc(issuer, {
        clients: [
          {
            ...CLIENT,
            redirect_uris: [redirect_uri],
            backchannel_logout_uri,
            backchannel_logout_session_required: true,
          },
        ],
        fetch: fetchKeeping(issued),
        jwks: { keys: [key] },
        cookies: { keys: ['a-key-of-the-tests'] },
        features: { backchannelLogout: { enabled: true }, devInteractions: { enabled: true } },
        scopes: ['openid', 'email', 'profile', 'groups'],
        claims: {
          openid: ['sub', 'tid'],
          email: ['email', 'email_verified'],
          profile: ['name'],
          groups: ['groups'],
        },
        findAccount: (_: unknown, id: string) => accountOf(id, directory, groups.get(id) ?? []),
      })
      serve =
        directory === undefined ? provider.callback() : mounted(provider.callback(), home, below)
    },
  }
}

/** The package tells on the console what a service in use would set. */
function hideNotices(t: Pick<TestContext, 'after'>): void {
  for (const name of ['info', 'warn'] as const) {
    const print = console[name]
    console[name] = (...told: unknown[]) => {
      if (!String(told[0]).includes('oidc-provider ')) print(...told)
    }
    t.after(() => {
      console[name] = print
    })
  }
}

/** The provider's own calls no loopback address. Logout tokens are kept. */
const fetchKeeping =
  (issued: string[]) =>
  (url: string, { dispatcher: _, ...options }: RequestInit & { dispatcher?: unknown }) => {
    const told = new URLSearchParams(String(options.body ?? '')).get('logout_token')
    if (told !== null) issued.push(told)
    return fetch(url, options)
  }

/** The tokens of an answer, by name: `access_token`, `id_token` and what else there is. */
function keepTokens(response: ServerResponse, issued: string[]): void {
  const end = response.end.bind(response)
  Object.assign(response, {
    end(body: unknown) {
      const answer: Record<string, unknown> = JSON.parse(String(body))
      for (const [name, value] of Object.entries(answer))
        if (name.endsWith('_token')) issued.push(String(value))
      return end(body)
    },
  })
}

const accountOf = (id: string, tid: string | undefined, groups: readonly string[]) => ({
  accountId: id,
  claims: () => ({
    sub: id,
    tid,
    email: `${id}@corp.example`,
    email_verified: true,
    name: `Person ${id}`,
    groups,
  }),
})

/** Serves a provider below a path, and its discovery document with a template in its place. */
const mounted =
  (serve: RequestListener, home: string, below: string): RequestListener =>
  async (request, response) => {
    const url = request.url ?? ''
    const wellKnown = '/.well-known/openid-configuration'
    if (url === `/organizations/v2.0${wellKnown}`) {
      const document = await (await fetch(`${home}${below}${wellKnown}`)).json()
      const issuer = `${home}/{tenantid}/v2.0`
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ ...Object(document), issuer }))
      return
    }
    const inner = url.startsWith(below) ? url.slice(below.length) : url
    Object.assign(request, { originalUrl: url, baseUrl: below, url: inner })
    serve(request, response)
  }

/** A browser at the provider: follows, signs in as somebody, and consents. */
export class ProviderVisit {
  readonly #cookies = new Map<string, string>()
  readonly #login: string

  constructor(login: string) {
    this.#login = login
  }

  /** Where the provider leads back to, outside itself. */
  async follow(start: string): Promise<string> {
    const home = new URL(start).origin
    let url = start
    let form: URLSearchParams | null = null
    for (let step = 0; step < 20; step += 1) {
      const response = await fetch(url, {
        method: form ? 'POST' : 'GET',
        redirect: 'manual',
        headers: { cookie: [...this.#cookies].map(([n, v]) => `${n}=${v}`).join('; ') },
        ...(form ? { body: form } : {}),
      })
      for (const line of response.headers.getSetCookie()) this.#keep(line)
      const text = await response.text()
      const location = response.headers.get('location')
      form = null
      if (location !== null) {
        url = new URL(location, url).href
        if (new URL(url).origin !== home) return url
        continue
      }
      const action = /<form[^>]* action="([^"]+)"/.exec(text)?.[1]
      if (action === undefined) throw new Error(`the provider answers ${response.status}: ${text}`)
      form = this.#fill(text)
      url = new URL(action, url).href
    }
    throw new Error('the provider leads in circles')
  }

  /** Ends the session at the provider, which tells its clients. */
  async signOut(issuer: string): Promise<void> {
    await this.follow(`${issuer}/session/end`).catch((error: Error) => {
      if (!/Sign-out Success/.test(error.message)) throw error
    })
  }

  #fill(page: string): URLSearchParams {
    const hidden = page.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)
    const form = new URLSearchParams(
      [...hidden].map(([, n = '', v = '']): [string, string] => [n, v]),
    )
    if (page.includes('name="login"')) {
      form.set('login', this.#login)
      form.set('password', 'any')
    }
    if (page.includes('op.logoutForm')) form.set('logout', 'yes')
    return form
  }

  #keep(line: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    if (value === '' || /expires=Thu, 01 Jan 1970/i.test(line)) this.#cookies.delete(name)
    else this.#cookies.set(name, value)
  }
}
