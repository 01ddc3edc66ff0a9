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
  readonly sign?: 'RS256' | 'none' | 'HS256' | 'unknown-key' | 'tampered'
  readonly userinfo?: Readonly<Record<string, unknown>>
  readonly challenge: string
}

export interface ForgingProvider {
  readonly issuer: string
  /** What the token endpoint was sent, newest last. */
  readonly exchanges: readonly URLSearchParams[]
  /** Requests by path. */
  readonly requests: readonly string[]
  /** The query of the callback, in answer to where the service leads. */
  answer(location: string, forged?: ForgedAnswer): Record<string, string>
  signLogout(claims: JWTPayload): Promise<string>
  /** New keys from here on; the old ones are gone. */
  rotate(): Promise<void>
  /** 503 from here on, or not. */
  fail(down: boolean): void
}

interface ForgedAnswer extends Omit<Partial<ForgedLogin>, 'claims'> {
  readonly claims?: JWTPayload
  readonly query?: Readonly<Record<string, string | undefined>>
}

const newKeys = () => generateKeyPair('RS256', { extractable: true })

/** Closed when the test ends. `metadata` replaces members of the discovery document. */
export async function startForgingProvider(
  t: Pick<TestContext, 'after'>,
  metadata: object = {},
): Promise<ForgingProvider> {
  trustTestCertificate()
  const exchanges: URLSearchParams[] = []
  const requests: string[] = []
  let keys = await newKeys()
  let kid = 1
  let down = false
  const other = await newKeys()
  let issuer = ''

  async function sign({ claims, sign: how = 'RS256' }: ForgedLogin): Promise<string> {
    const header = { alg: 'RS256', kid: `k${kid}` }
    if (how === 'none') {
      const parts = [{ alg: 'none' }, claims].map((part) => JSON.stringify(part))
      return `${parts.map((part) => Buffer.from(part).toString('base64url')).join('.')}.`
    }
    const jwt = new SignJWT(claims)
    if (how === 'HS256') {
      const secret = Buffer.from(await exportSPKI(keys.publicKey))
      return jwt.setProtectedHeader({ ...header, alg: 'HS256' }).sign(secret)
    }
    const key = how === 'unknown-key' ? other.privateKey : keys.privateKey
    const token = await jwt.setProtectedHeader(header).sign(key)
    if (how !== 'tampered') return token
    const [head = '', , signature = ''] = token.split('.')
    const changed = Buffer.from(JSON.stringify({ ...claims, sub: 'admin' })).toString('base64url')
    return `${head}.${changed}.${signature}`
  }

  async function token(request: IncomingMessage) {
    const sent = new URLSearchParams(await text(request))
    exchanges.push(sent)
    const forged: ForgedLogin = JSON.parse(
      Buffer.from(sent.get('code') ?? '', 'base64url').toString(),
    )
    const verified = hash('sha256', sent.get('code_verifier') ?? '', 'base64url')
    if (verified !== forged.challenge) return { status: 400, body: { error: 'invalid_grant' } }
    const id_token = await sign(forged)
    const userinfo = forged.userinfo ?? { sub: forged.claims.sub }
    const access_token = Buffer.from(JSON.stringify(userinfo)).toString('base64url')
    return { status: 200, body: { access_token, token_type: 'bearer', id_token } }
  }

  async function answerTo(request: IncomingMessage): Promise<{ status: number; body: object }> {
    const [path = ''] = (request.url ?? '').split('?')
    requests.push(path)
    if (down) return { status: 503, body: {} }
    if (path === '/token') return token(request)
    if (path === '/jwks') {
      const jwk = await exportJWK(keys.publicKey)
      return { status: 200, body: { keys: [{ ...jwk, kid: `k${kid}`, alg: 'RS256', use: 'sig' }] } }
    }
    if (path === '/me') {
      const bearer = String(request.headers.authorization).replace(/^bearer /i, '')
      return { status: 200, body: JSON.parse(Buffer.from(bearer, 'base64url').toString()) }
    }
    if (path !== '/.well-known/openid-configuration') return { status: 404, body: {} }
    const body = {
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/me`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
      ...metadata,
    }
    return { status: 200, body }
  }

  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const { status, body } = await answerTo(request)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  const { port } = await startTlsServer(t, (request, response) => void serve(request, response))
  issuer = `https://127.0.0.1:${port}`

  return {
    get issuer() {
      return issuer
    },
    exchanges,
    requests,
    answer(location, { claims = {}, query = {}, ...more } = {}) {
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
    },
    signLogout: (claims) => sign({ claims, challenge: '' }),
    async rotate() {
      keys = await newKeys()
      kid += 1
    },
    fail(now) {
      down = now
    },
  }
}
