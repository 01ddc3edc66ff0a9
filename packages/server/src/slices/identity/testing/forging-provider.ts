// An OpenID provider that states and signs whatever a test asks for, right or wrong.

import { hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import {
  startTlsServer,
  trustTestCertificate,
} from '../../../platform/egress/testing/tls-server.ts'

/** What an authorization code of this provider stands for; the code is this text. */
interface ForgedLogin {
  readonly claims: JWTPayload
  readonly sign?: 'properly' | 'none' | 'HS256' | 'unknown-key' | 'tampered'
  readonly userinfo?: Readonly<Record<string, unknown>>
  readonly challenge: string
}

export interface ForgingProvider {
  readonly issuer: string
  /** What the token endpoint was sent, newest last. */
  readonly exchanges: readonly URLSearchParams[]
  /** The query of the callback, in answer to where the service leads. */
  answer(location: string, forged?: ForgedAnswer): Record<string, string>
  signLogout(claims: JWTPayload): Promise<string>
  /** New keys from here on; the old ones are gone. */
  rotate(): void
  /** Other members of its discovery document and of its published keys from here on. */
  publish(override: object, marks?: object): void
  /** 503 from here on, or not. */
  fail(down: boolean): void
  /** While a code is exchanged, this is awaited first. */
  beforeTokens: () => Promise<void>
}

interface ForgedAnswer extends Omit<Partial<ForgedLogin>, 'claims'> {
  readonly claims?: JWTPayload
  readonly query?: Readonly<Record<string, string | undefined>>
}

const newKeys = (algorithm: string) => generateKeyPair(algorithm, { extractable: true })

class ForgingKeys {
  readonly #algorithm: string
  #keys: ReturnType<typeof newKeys>
  readonly #unknown: ReturnType<typeof newKeys>
  #number = 1
  /** Further members of each published key. */
  marks: object = {}

  constructor(algorithm: string) {
    this.#algorithm = algorithm
    this.#keys = newKeys(algorithm)
    this.#unknown = newKeys(algorithm)
  }

  rotate(): void {
    this.#keys = newKeys(this.#algorithm)
    this.#number += 1
  }

  async published(): Promise<object> {
    const jwk = await exportJWK((await this.#keys).publicKey)
    return { keys: [{ ...jwk, ...this.#header, use: 'sig', ...this.marks }] }
  }

  get #header() {
    return { alg: this.#algorithm, kid: `k${this.#number}` }
  }

  async sign({ claims, sign = 'properly' }: ForgedLogin): Promise<string> {
    const { privateKey, publicKey } = await this.#keys
    const jwt = new SignJWT(claims)
    if (sign === 'none') {
      const parts = [{ alg: 'none' }, claims].map((part) => JSON.stringify(part))
      return `${parts.map((part) => Buffer.from(part).toString('base64url')).join('.')}.`
    }
    if (sign === 'HS256') {
      const secret = Buffer.from(await exportSPKI(publicKey))
      return jwt.setProtectedHeader({ ...this.#header, alg: 'HS256' }).sign(secret)
    }
    const key = sign === 'unknown-key' ? (await this.#unknown).privateKey : privateKey
    const token = await jwt.setProtectedHeader(this.#header).sign(key)
    if (sign !== 'tampered') return token
    const [head = '', , signature = ''] = token.split('.')
    const changed = Buffer.from(JSON.stringify({ ...claims, sub: 'admin' })).toString('base64url')
    return `${head}.${changed}.${signature}`
  }
}

/** What an endpoint answers: always JSON. */
class ForgingEndpoints {
  readonly keys: ForgingKeys
  readonly exchanges: URLSearchParams[] = []
  issuer = ''
  down = false
  beforeTokens = async (): Promise<void> => {}
  override: object = {}
  readonly #metadata: object

  constructor(algorithm: string, metadata: object) {
    this.keys = new ForgingKeys(algorithm)
    this.#metadata = {
      id_token_signing_alg_values_supported: [algorithm, 'HS256', 'none'],
      ...metadata,
    }
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, body } = this.down ? { status: 503, body: {} } : await this.#answer(request)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }

  async #answer(request: IncomingMessage): Promise<{ status: number; body: object }> {
    const { issuer } = this
    const path = (request.url ?? '').split('?', 1)[0] ?? ''
    switch (path.replace(/^\/(common|organizations)\/v2\.0(?=\/\.well-known)/, '')) {
      case '/token':
        await this.beforeTokens()
        return this.#exchange(request)
      case '/jwks':
        return { status: 200, body: await this.keys.published() }
      case '/me': {
        const bearer = String(request.headers.authorization).replace(/^bearer /i, '')
        return { status: 200, body: JSON.parse(Buffer.from(bearer, 'base64url').toString()) }
      }
      case '/.well-known/openid-configuration': {
        const body = {
          issuer,
          authorization_endpoint: `${issuer}/auth`,
          token_endpoint: `${issuer}/token`,
          userinfo_endpoint: `${issuer}/me`,
          jwks_uri: `${issuer}/jwks`,
          response_types_supported: ['code'],
          ...this.#metadata,
          ...this.override,
        }
        return { status: 200, body }
      }
      default:
        return { status: 404, body: {} }
    }
  }

  async #exchange(request: IncomingMessage) {
    const sent = new URLSearchParams(await text(request))
    this.exchanges.push(sent)
    const code = Buffer.from(sent.get('code') ?? '', 'base64url').toString()
    const forged: ForgedLogin = JSON.parse(code)
    const verified = hash('sha256', sent.get('code_verifier') ?? '', 'base64url')
    if (verified !== forged.challenge) return { status: 400, body: { error: 'invalid_grant' } }
    const id_token = await this.keys.sign(forged)
    const userinfo = forged.userinfo ?? { sub: forged.claims.sub }
    const access_token = Buffer.from(JSON.stringify(userinfo)).toString('base64url')
    return { status: 200, body: { access_token, token_type: 'bearer', id_token } }
  }
}

/** The query of a callback in answer to where the service leads. */
function answerTo(
  issuer: string,
  location: string,
  { claims = {}, query = {}, ...more }: ForgedAnswer,
): Record<string, string> {
  const asked = new URL(location).searchParams
  const now = Math.floor(Date.now() / 1_000)
  const forged: ForgedLogin = {
    challenge: asked.get('code_challenge') ?? '',
    ...more,
    claims: {
      iss: issuer,
      aud: asked.get('client_id') ?? '',
      sub: 'ana',
      nonce: asked.get('nonce'),
      iat: now,
      exp: now + 300,
      ...claims,
    },
  }
  const code = Buffer.from(JSON.stringify(forged)).toString('base64url')
  const answered = { state: asked.get('state') ?? '', code, iss: issuer, ...query }
  return Object.fromEntries(
    Object.entries(answered).filter((pair): pair is [string, string] => pair[1] !== undefined),
  )
}

/** Closed when the test ends. What is given replaces members of the discovery document. */
export async function startForgingProvider(
  t: Pick<TestContext, 'after'>,
  { algorithm = 'RS256', ...metadata }: { algorithm?: string; [member: string]: unknown } = {},
): Promise<ForgingProvider> {
  trustTestCertificate()
  const endpoints = new ForgingEndpoints(algorithm, metadata)
  const { port } = await startTlsServer(t, (request, response) => {
    void endpoints.serve(request, response)
  })
  const issuer = `https://127.0.0.1:${port}`
  endpoints.issuer = issuer
  return {
    issuer,
    exchanges: endpoints.exchanges,
    answer: (location, forged = {}) => answerTo(issuer, location, forged),
    signLogout: (claims) => endpoints.keys.sign({ claims, challenge: '' }),
    publish(override, marks = {}) {
      endpoints.override = override
      endpoints.keys.marks = marks
    },
    rotate: () => endpoints.keys.rotate(),
    fail(down) {
      endpoints.down = down
    },
    get beforeTokens() {
      return endpoints.beforeTokens
    },
    set beforeTokens(act) {
      endpoints.beforeTokens = act
    },
  }
}
