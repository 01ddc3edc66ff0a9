// The protocol with a provider: discovery, the code flow and logout tokens, through the egress.

import { hash } from 'node:crypto'
import type { JSONWebKeySet } from 'jose'
import type * as OpenidClient from 'openid-client'
import { loadOnce } from '../../platform/concurrency.ts'
import { EgressError } from '../../platform/egress/connection.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { LruCache } from '../../platform/lru-cache.ts'
import { type Claims, isOfThisLogin, SKEW_S } from './sso-claims.ts'
import {
  type ConnectionSettings,
  hasDirectories,
  type OpenConnection,
  TEMPLATED_ISSUER,
} from './sso-connection.ts'

type ServerMetadata = OpenidClient.ServerMetadata

const ANSWER_BYTES_MAX = 512 * 1024
const METADATA_US = 600_000_000
/** Keys are read again for an unknown key only if they are at least this old. */
const NEW_KEYS_US = 60_000_000
const CONNECTIONS_MAX = 1_000
const SECOND_US = 1_000_000
const SUBJECT_CHARS_MAX = 255
/** The issuer template that discovery documents and keys state for all directories. */
const TEMPLATE_OF_ALL = /^(https?:\/\/[^/]+)\/\{tenantid\}\/v2\.0$/
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout'
/** Maximum age of a logout token, in seconds. */
export const LOGOUT_S = 300

/** Loaded on first use: most services sign nobody in through a provider. */
const loadClient = loadOnce(() => import('openid-client'))
const loadJose = loadOnce(() => import('jose'))

/** An error of a provider, or its failure to answer. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError'
  readonly reason: 'provider_error' | 'provider_unavailable' | 'answer_invalid' | 'token_invalid'

  constructor(reason: ProviderError['reason']) {
    super(reason)
    this.reason = reason
  }
}

/** `fetch` for the library, which has already turned the body of a form into text. */
const fetchThrough =
  ({ egress }: Kernel): OpenidClient.CustomFetch =>
  async (url, { method, headers, body }) => {
    const request = {
      method: method === 'POST' ? ('POST' as const) : ('GET' as const),
      headers: { ...headers, 'accept-encoding': 'identity' },
      body: body instanceof URLSearchParams || typeof body === 'string' ? String(body) : '',
    }
    const answer = await egress.fetch(url, request, ANSWER_BYTES_MAX)
    const { status } = answer
    const type = answer.headers['content-type']
    return new Response(status === 204 || status === 304 ? null : new Uint8Array(answer.body), {
      status: status < 200 ? 502 : status,
      ...(type === undefined ? {} : { headers: { 'content-type': type } }),
    })
  }

/** Thrown if the discovery document is of another issuer. */
class IssuerError extends Error {}

const knownMetadata = perKernel(
  () =>
    new LruCache<string, { metadata: ServerMetadata; read_us: number }>({ max: CONNECTIONS_MAX }),
)

/** The discovery document, at most 10 minutes old. Throws the error that occurred. */
async function discover(
  kernel: Kernel,
  { tenant_id, row, settings }: OpenConnection,
): Promise<ServerMetadata> {
  const key = `${tenant_id}/${row.connection_id}`
  const now_us = kernel.clock.now()
  const known = knownMetadata(kernel).get(key)
  if (known && now_us - known.read_us < METADATA_US) return known.metadata
  const client = await loadClient()
  const fetch = fetchThrough(kernel)
  const config = await client.discovery(
    new URL(settings.issuer),
    settings.client_id,
    undefined,
    client.None(),
    {
      [client.customFetch]: hasDirectories(settings)
        ? async (url, options) => withIssuer(await fetch(url, options), settings)
        : fetch,
      ...insecure(client, settings),
    },
  )
  const { supportsPKCE: _, ...metadata } = config.serverMetadata()
  // The library ignores a final slash; this check does not.
  if (metadata.issuer !== settings.issuer) throw new IssuerError()
  knownMetadata(kernel).set(key, { metadata, read_us: now_us })
  return metadata
}

/** The common discovery document states a template as issuer. Replaces exactly that template. */
async function withIssuer(answer: Response, { issuer }: ConnectionSettings): Promise<Response> {
  if (answer.status !== 200) return answer
  const document = Object(await answer.json())
  const template = issuer.replace(TEMPLATED_ISSUER, '$1{tenantid}$2')
  if (document.issuer !== template) throw new IssuerError()
  return Response.json({ ...document, issuer })
}

// The egress allows plain HTTP only to loopback, and only in local mode.
const insecure = (client: typeof OpenidClient, { issuer }: ConnectionSettings) =>
  issuer.startsWith('http:') ? { execute: [client.allowInsecureRequests] } : {}

/** The algorithms of the connection that the provider signs with. */
const commonAlgorithms = (metadata: ServerMetadata, { algorithms }: ConnectionSettings): string[] =>
  algorithms.filter((algorithm) =>
    (metadata.id_token_signing_alg_values_supported ?? ['RS256']).includes(algorithm),
  )

/** Uses the current keys of the provider; keys are not cached between sign-ins. */
async function configure(
  kernel: Kernel,
  connection: OpenConnection,
  issuer = connection.settings.issuer,
): Promise<{ client: typeof OpenidClient; config: OpenidClient.Configuration }> {
  const { settings } = connection
  const client = await loadClient()
  const metadata = { ...(await discover(kernel, connection)), issuer }
  const config = new client.Configuration(
    { ...metadata, id_token_signing_alg_values_supported: commonAlgorithms(metadata, settings) },
    settings.client_id,
    { [client.clockTolerance]: SKEW_S },
    await clientAuth(client, settings),
  )
  config[client.customFetch] = fetchThrough(kernel)
  if (settings.issuer.startsWith('http:')) client.allowInsecureRequests(config)
  // Without this the library accepts the TLS connection to the provider as sufficient proof.
  client.enableNonRepudiationChecks(config)
  return { client, config }
}

async function clientAuth(
  client: typeof OpenidClient,
  { auth_method, client_secret, private_key, public_jwk }: ConnectionSettings,
): Promise<OpenidClient.ClientAuth> {
  switch (auth_method) {
    case 'none':
      return client.None()
    case 'client_secret_basic':
      return client.ClientSecretBasic(client_secret ?? '')
    case 'client_secret_post':
      return client.ClientSecretPost(client_secret ?? '')
    case 'private_key_jwt': {
      const bytes = Buffer.from(private_key ?? '', 'base64')
      const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
      const key = await crypto.subtle.importKey('pkcs8', bytes, algorithm, false, ['sign'])
      return client.PrivateKeyJwt({ key, kid: public_jwk?.kid ?? '' })
    }
  }
}

/** What a sign-in is bound to. Derived from the browser's cookie and never stored. */
export interface LoginSecrets {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** The URL to redirect the browser to. Throws ProviderError. */
export async function authorizationUrl(
  kernel: Kernel,
  connection: OpenConnection,
  { state, nonce, verifier, redirect_uri }: LoginSecrets & { readonly redirect_uri: string },
): Promise<string> {
  try {
    const { client, config } = await configure(kernel, connection)
    const scopes = new Set(['openid', ...connection.settings.scopes])
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri,
      scope: [...scopes].join(' '),
      state,
      nonce,
      response_mode: 'query',
      code_challenge: hash('sha256', verifier, 'base64url'),
      code_challenge_method: 'S256',
    })
    return url.href
  } catch (error) {
    throw asProviderError(error, 'answer_invalid')
  }
}

/**
 * The verified claims of the person; of several directories `sub` names that too.
 * @param answer.url the redirect URI with what the provider answered
 */
export async function authenticate(
  kernel: Kernel,
  connection: OpenConnection,
  answer: LoginSecrets & { readonly url: URL; readonly begun_us: number },
): Promise<Claims & { readonly sub: string }> {
  const { url, state, nonce, verifier, begun_us } = answer
  const { settings } = connection
  try {
    const checks = {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    }
    const { client, config } = hasDirectories(settings)
      ? await configureDirectory(kernel, connection, url, checks)
      : await configure(kernel, connection)
    const tokens = await client.authorizationCodeGrant(config, url, checks)
    const claims = tokens.claims()
    const times = { begun_s: begun_us / SECOND_US, now_s: kernel.clock.now() / SECOND_US }
    const { client_id } = settings
    if (!claims || !isOfThisLogin(claims, { client_id, ...times }))
      throw new ProviderError('token_invalid')
    if (claims.sub === '' || claims.sub.length > SUBJECT_CHARS_MAX)
      throw new ProviderError('token_invalid')
    const sub = subjectOf(settings, claims)
    if (sub === null) throw new ProviderError('token_invalid')
    if (!lacks(claims, settings) || !config.serverMetadata().userinfo_endpoint)
      return { ...claims, sub }
    // Throws unless its `sub` equals that of the token.
    const more = await client.fetchUserInfo(config, tokens.access_token, claims.sub)
    // The address and whether it is verified come from one source.
    const { email, email_verified } = claims['email'] === undefined ? more : claims
    return { ...more, ...claims, sub, email, email_verified }
  } catch (error) {
    throw asProviderError(error, 'token_invalid')
  }
}

/** The issuers of the listed directories, which replace `{tenantid}` in the discovery document. */
const issuersOf = ({ issuer, directories = [] }: ConnectionSettings): readonly string[] =>
  directories.map((directory) => issuer.replace(TEMPLATED_ISSUER, `$1${directory}$2`))

/**
 * A subject is unique only within its issuer: in another directory it may be another person.
 * Returns `null` if the token's directory (`tid`) is not that of its issuer.
 */
function subjectOf(settings: ConnectionSettings, { sub, iss, tid }: Claims): string | null {
  if (!hasDirectories(settings)) return String(sub)
  const directory = settings.directories?.[issuersOf(settings).indexOf(String(iss))]
  return directory !== undefined && tid === directory ? `${directory}/${sub}` : null
}

/**
 * Expects the one listed issuer that gave the answer. If the answer does not state it, the token is
 * fetched first and its issuer is read, and the token is then verified for exactly that issuer.
 */
async function configureDirectory(
  kernel: Kernel,
  connection: OpenConnection,
  url: URL,
  checks: OpenidClient.AuthorizationCodeGrantChecks,
): Promise<{ client: typeof OpenidClient; config: OpenidClient.Configuration }> {
  const stated = url.searchParams.get('iss')
  const kept = stated === null ? await fetchToken(kernel, connection, url, checks) : null
  const issuer = stated ?? (await issuerOfToken(kept))
  if (!issuersOf(connection.settings).includes(issuer)) throw new ProviderError('token_invalid')
  const { client, config } = await configure(kernel, connection, issuer)
  const { token_endpoint, jwks_uri } = config.serverMetadata()
  const fetch = fetchThrough(kernel)
  config[client.customFetch] = async (target, options) => {
    if (kept && target === token_endpoint) return kept.clone()
    const answer = await fetch(target, options)
    return target === jwks_uri ? withKeysOf(answer, issuer) : answer
  }
  return { client, config }
}

/** The response of the token endpoint, with nothing verified yet. */
async function fetchToken(
  kernel: Kernel,
  connection: OpenConnection,
  url: URL,
  checks: OpenidClient.AuthorizationCodeGrantChecks,
): Promise<Response> {
  const { client, config } = await configure(kernel, connection)
  const { token_endpoint } = config.serverMetadata()
  const fetch = fetchThrough(kernel)
  const kept: Response[] = []
  config[client.customFetch] = async (target, options) => {
    const answer = await fetch(target, options)
    if (target === token_endpoint) kept.push(answer.clone())
    return answer
  }
  try {
    await client.authorizationCodeGrant(config, url, checks)
  } catch (error) {
    // Expected after a token: none has the issuer `common`. Earlier errors are real ones.
    if (kept[0]?.status !== 200) throw error
  }
  if (!kept[0]) throw new ProviderError('answer_invalid')
  return kept[0]
}

async function issuerOfToken(answer: Response | null): Promise<string> {
  const { decodeJwt } = await loadJose()
  const { id_token } = Object(await answer?.clone().json())
  return decodeJwt(String(id_token)).iss ?? ''
}

/** Keeps only keys for this issuer: Microsoft marks keys by the issuer that may sign with them. */
async function withKeysOf(answer: Response, issuer: string): Promise<Response> {
  const set = Object(await answer.clone().json())
  if (!Array.isArray(set.keys)) return answer
  return Response.json({ ...set, keys: keysOf(set.keys, issuer) })
}

const keysOf = <K>(keys: readonly K[], issuer: string): K[] =>
  keys.filter((key) => {
    const marked: unknown = Object(key).issuer
    if (typeof marked !== 'string') return true
    return marked === issuer || TEMPLATE_OF_ALL.exec(marked)?.[1] === new URL(issuer).origin
  })

/** Whether a needed claim is missing and may be available at the UserInfo endpoint. */
const lacks = (claims: Claims, { role_claim }: ConnectionSettings): boolean =>
  claims['email'] === undefined ||
  (role_claim !== null && claims[role_claim[0] ?? ''] === undefined)

function asProviderError(error: unknown, otherwise: ProviderError['reason']): ProviderError {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof ProviderError) return cause
    if (cause instanceof EgressError) return new ProviderError('provider_unavailable')
    if (cause.name === 'AuthorizationResponseError') return new ProviderError('provider_error')
    if (cause.cause instanceof Response && cause.cause.status >= 500)
      return new ProviderError('provider_unavailable')
  }
  return new ProviderError(otherwise)
}

/** Reports problems with a provider, as far as they can be found without signing in. */
export async function testProvider(kernel: Kernel, connection: OpenConnection) {
  const { tenant_id, row, settings } = connection
  knownMetadata(kernel).delete(`${tenant_id}/${row.connection_id}`)
  const failed = (problem: 'unreachable' | 'not_a_provider' | 'issuer_differs' | 'no_code_flow') =>
    ({ ok: false, problem, keys: 0 }) as const
  let metadata: ServerMetadata
  try {
    metadata = await discover(kernel, connection)
  } catch (error) {
    if (asProviderError(error, 'token_invalid').reason === 'provider_unavailable')
      return failed('unreachable')
    return failed(isIssuerError(error) ? 'issuer_differs' : 'not_a_provider')
  }
  const { authorization_endpoint, token_endpoint, jwks_uri } = metadata
  if (!authorization_endpoint || !token_endpoint) return failed('no_code_flow')
  if (commonAlgorithms(metadata, settings).length === 0)
    return { ok: false, problem: 'no_common_algorithm', keys: 0 } as const
  const keys = jwks_uri ? await readKeys(kernel, jwks_uri).catch(() => null) : null
  if (!keys || keys.keys.length === 0) return { ok: false, problem: 'no_keys', keys: 0 } as const
  return { ok: true, problem: null, keys: keys.keys.length }
}

function isIssuerError(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof IssuerError || Object(cause.cause).attribute === 'issuer') return true
  return false
}

async function readKeys({ egress }: Kernel, jwks_uri: string): Promise<JSONWebKeySet> {
  const request = { method: 'GET', headers: { accept: 'application/json' }, body: '' } as const
  const { status, body } = await egress.fetch(jwks_uri, request, ANSWER_BYTES_MAX)
  if (status !== 200) throw new EgressError('connect')
  const parsed: unknown = JSON.parse(body.toString())
  const { keys } = Object(parsed)
  return { keys: Array.isArray(keys) ? keys : [] }
}

const knownKeys = perKernel(
  () =>
    new LruCache<string, { keys: Promise<JSONWebKeySet>; read_us: number }>({
      max: CONNECTIONS_MAX,
    }),
)

/** Cached keys for logout tokens: anybody can send tokens, so keys are not read for each. */
function keysWithin(
  kernel: Kernel,
  { tenant_id, row }: OpenConnection,
  jwks_uri: string,
  age_us: number,
): Promise<JSONWebKeySet> {
  const key = `${tenant_id}/${row.connection_id}/${jwks_uri}`
  const now_us = kernel.clock.now()
  const known = knownKeys(kernel).get(key)
  if (known && now_us - known.read_us < age_us) return known.keys
  const keys = readKeys(kernel, jwks_uri)
  knownKeys(kernel).set(key, { keys, read_us: now_us })
  keys.catch(() => knownKeys(kernel).delete(key))
  return keys
}

/**
 * What a logout token names, once it is verified: OpenID Connect Back-Channel Logout 1.0, section
 * 2.6. Null: it is not valid.
 */
export async function verifyLogout(
  kernel: Kernel,
  connection: OpenConnection,
  token: string,
): Promise<{ jti: string; sub: string | null; sid: string | null } | null> {
  const { settings } = connection
  try {
    const metadata = await discover(kernel, connection)
    const { createLocalJWKSet, decodeJwt, errors, jwtVerify } = await loadJose()
    const jwks_uri = metadata.jwks_uri ?? ''
    // With several directories, the token states a listed one and is verified for exactly that one.
    const issuer = hasDirectories(settings) ? (decodeJwt(token).iss ?? '') : metadata.issuer
    if (hasDirectories(settings) && !issuersOf(settings).includes(issuer)) return null
    const verify = async (age_us: number) => {
      const { keys } = await keysWithin(kernel, connection, jwks_uri, age_us)
      const own = hasDirectories(settings) ? keysOf(keys, issuer) : keys
      return jwtVerify(token, createLocalJWKSet({ keys: own }), {
        issuer,
        audience: settings.client_id,
        algorithms: commonAlgorithms(metadata, settings),
        clockTolerance: SKEW_S,
        maxTokenAge: LOGOUT_S,
        requiredClaims: ['iat', 'jti', 'events'],
      })
    }
    const { payload } = await verify(METADATA_US).catch((error: unknown) => {
      // The provider may have signed with a key that is newer than the cached ones.
      if (error instanceof errors.JWKSNoMatchingKey) return verify(NEW_KEYS_US)
      throw error
    })
    const { sub, jti, events, nonce, sid } = payload
    if (nonce !== undefined || !Object.hasOwn(Object(events), LOGOUT_EVENT)) return null
    if (sub === undefined && typeof sid !== 'string') return null
    const subject = sub === undefined ? null : subjectOf(settings, payload)
    if (sub !== undefined && subject === null) return null
    return { jti: jti ?? '', sub: subject, sid: typeof sid === 'string' ? sid : null }
  } catch {
    return null
  }
}
