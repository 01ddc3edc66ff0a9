// Identifies the caller: bootstrap operator key, stored key, session, or the local principal.

import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Principal } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { findBySession, findBySessionId } from '../../slices/identity/index.ts'
import { redeemTicket } from '../../slices/streams/index.ts'
import { bootstrapKey, findByKey, findByKeyId, noteKeyUse } from '../../slices/tenants/index.ts'
import { readCookie, renderCookie } from './cookies.ts'
import { LocalGuard, refuseCrossSite, requireSameOrigin } from './local-guard.ts'

export const ANONYMOUS: Principal = {
  kind: 'anonymous',
  tenant_id: '',
  key_id: '',
  class: 'local',
  scopes: [],
  allowed_stores: [],
}

export interface AuthOptions {
  readonly auth: 'local' | 'required'
  readonly operator_key: string | null
  /** Host names and origins accepted in local mode besides loopback. */
  readonly allowed_hosts: readonly string[]
  /** Origins of pages that may call with a credential; see `allowOrigins`. */
  readonly cors_origins: readonly string[]
  readonly local_tenant: string
}

export class Authenticator {
  readonly #kernel: Kernel
  readonly #guard: LocalGuard | null
  readonly #local: Principal

  constructor(kernel: Kernel, options: AuthOptions) {
    this.#kernel = kernel
    // The digest is of the configured text as UTF-8, which are the bytes in a client's header.
    const { operator_key: key, allowed_hosts, cors_origins } = options
    bootstrapKey(kernel).digest = key === null ? null : hash('sha256', key, 'buffer')
    this.#guard = options.auth === 'local' ? new LocalGuard(allowed_hosts, cors_origins) : null
    this.#local = {
      kind: 'local',
      tenant_id: options.local_tenant,
      key_id: 'local',
      class: 'local',
      scopes: ['*'],
      allowed_stores: [],
    }
  }

  /** Whether requests without a credential act as the local tenant. */
  get isLocal(): boolean {
    return this.#guard !== null
  }

  /** Finds the caller. Returns a promise only if it looks up a credential in the database. */
  find(headers: IncomingHttpHeaders, method: string): Principal | Promise<Principal> {
    const cookie = readCookie(headers, 'session')
    if (cookie === null) return this.findByKey(headers)
    this.#guard?.assert(headers, false)
    if (presentedKey(headers) !== null || headers.authorization !== undefined)
      throw new Refusal('credentials_differ', 'A key was sent together with a session')
    return this.#findBySession(headers, cookie, method)
  }

  /** The same for callers that are not browsers: ignores cookies. */
  findByKey(headers: IncomingHttpHeaders): Principal | Promise<Principal> {
    const key = presentedKey(headers)
    this.#guard?.assert(headers, key !== null)
    if (key === null) {
      if (this.isLocal && headers.authorization === undefined) return this.#local
      if (this.isLocal && isEmptyBearer(headers.authorization)) return this.#local
      throw new Refusal('unauthenticated')
    }
    const found = findByKey(this.#kernel, key)
    if (found instanceof Promise) return found.then((late) => this.#accept(late))
    return this.#accept(found)
  }

  async #findBySession(
    headers: IncomingHttpHeaders,
    cookie: string,
    method: string,
  ): Promise<Principal> {
    // Another site can make a browser send the cookie, but cannot forge its origin or read it.
    if (!READS.has(method)) requireSameOrigin(headers, this.#kernel.settings.console_origins)
    const found = await findBySession(this.#kernel, cookie)
    if (found === null) {
      const removed = renderCookie(headers, { name: 'session', value: '', max_age_s: 0 })
      const gone = { headers: { 'set-cookie': removed } }
      throw new Refusal('unauthenticated', 'The session has ended', gone)
    }
    if (!READS.has(method)) requireToken(headers, found.session?.csrf_token ?? null)
    return this.#accept(found)
  }

  /** Refuses requests that only a page of the service itself may make. */
  assertOwnPage(headers: IncomingHttpHeaders): void {
    this.#guard?.assert(headers, false)
    refuseCrossSite(headers, this.#kernel.settings.console_origins)
  }

  /** The caller who created the ticket, with its current rights. The ticket is used up. */
  async redeem(ticket: string, path: string, headers: IncomingHttpHeaders): Promise<Principal> {
    this.#guard?.assert(headers, false)
    if (presentedKey(headers) !== null) throw new Refusal('credentials_differ')
    const redeemed = await redeemTicket(this.#kernel, ticket, path)
    if (redeemed === null) throw new Refusal('unauthenticated')
    const { key_id, session_id } = redeemed
    if (session_id !== null) return this.#accept(await findBySessionId(this.#kernel, session_id))
    if (key_id === this.#local.key_id && this.isLocal) return this.#local
    return this.#accept(await findByKeyId(this.#kernel, key_id))
  }

  #accept(found: Principal | null): Principal {
    if (found === null) throw new Refusal('unauthenticated')
    noteKeyUse(this.#kernel, found)
    return found
  }
}

/** Methods that change nothing. */
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

function requireToken(headers: IncomingHttpHeaders, token: string | null): void {
  const given = Buffer.from(String(headers['x-custos-csrf'] ?? ''))
  const wanted = Buffer.from(token ?? '')
  if (token && given.length === wanted.length && timingSafeEqual(given, wanted)) return
  throw new Refusal('origin_refused', 'x-custos-csrf is not the token of the session')
}

/** The key in the two headers, or null; refuses two different ones. */
function presentedKey(headers: IncomingHttpHeaders): string | null {
  const bearer = bearerToken(headers.authorization)
  const header = headers['x-api-key']
  const plain = typeof header === 'string' && header !== '' ? header : null
  if (bearer !== null && plain !== null && bearer !== plain) throw new Refusal('credentials_differ')
  return bearer ?? plain
}

function bearerToken(authorization: string | undefined): string | null {
  if (authorization === undefined || authorization.length <= 7) return null
  if (!/^bearer /i.test(authorization)) return null
  return authorization.slice(7).trim() || null
}

// Clients without a configured key still send the header, with an empty value.
const isEmptyBearer = (authorization: string | undefined): boolean =>
  authorization !== undefined && /^bearer\s*$/i.test(authorization)
