// Decides which web pages may call: in local mode, which has no credential, and with sessions.

import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { Refusal } from '../../platform/refusal.ts'

/**
 * Refuses requests that a browser could be tricked into: a Host that is neither loopback nor listed
 * (DNS rebinding), and an Origin other than the service's own or a listed one. An origin that may
 * call with a credential is refused without one.
 */
export class LocalGuard {
  readonly #allowed: ReadonlySet<string>
  readonly #withKey: ReadonlySet<string>
  // A small cache of Host headers that passed before; cleared when it is full.
  readonly #knownHosts = new Set<string>()

  /**
   * @param allowed host names, `host:port` or origins
   * @param withKey origins that may call with a credential
   */
  constructor(allowed: readonly string[], withKey: readonly string[]) {
    this.#allowed = new Set(allowed.map((entry) => entry.toLowerCase()))
    this.#withKey = new Set(withKey)
  }

  assert(
    headers: { host?: string | undefined; origin?: string | undefined },
    hasKey: boolean,
  ): void {
    const host = headers.host?.toLowerCase()
    if (host === undefined || !this.#isAllowedHost(host))
      throw new Refusal('origin_refused', 'The Host header is neither loopback nor listed')
    const origin = headers.origin?.toLowerCase()
    if (origin !== undefined && hasKey && this.#withKey.has(origin)) return
    if (origin !== undefined && !this.#isAllowedOrigin(origin, host))
      throw new Refusal('origin_refused', 'Requests from another origin are refused')
  }

  #isAllowedHost(host: string): boolean {
    if (this.#knownHosts.has(host)) return true
    const name = parseOrigin(`http://${host}`)?.hostname
    if (name === undefined || !(isLoopbackName(name) || this.#lists(name, host))) return false
    if (this.#knownHosts.size >= 16) this.#knownHosts.clear()
    this.#knownHosts.add(host)
    return true
  }

  #isAllowedOrigin(origin: string, host: string): boolean {
    if (this.#allowed.has(origin)) return true
    const url = parseOrigin(origin)
    if (url === null) return false
    return (
      url.host === parseOrigin(`${url.protocol}//${host}`)?.host ||
      this.#lists(url.hostname, url.host)
    )
  }

  #lists(name: string, host: string): boolean {
    return this.#allowed.has(name) || this.#allowed.has(host)
  }
}

/** Returns null if the URL is no origin. */
export function parseOrigin(url: string): URL | null {
  const parsed = URL.canParse(url) ? new URL(url) : null
  return parsed?.username === '' && parsed.pathname === '/' ? parsed : null
}

export function isLoopbackName(name: string): boolean {
  if (name === 'localhost' || name === '[::1]') return true
  return isIP(name) === 4 && name.startsWith('127.')
}

/** Whether the browser states that a page of this service or of a listed console made it. */
function isSameOrigin(headers: IncomingHttpHeaders, consoles: readonly string[]): boolean {
  if (headers['sec-fetch-site'] === 'same-origin') return true
  const { origin, host } = headers
  if (origin === undefined || host === undefined) return false
  if (consoles.includes(origin)) return true
  const url = parseOrigin(origin)
  return url !== null && url.host === parseOrigin(`${url.protocol}//${host.toLowerCase()}`)?.host
}

/** For requests that a cookie alone would allow: refuses one that does not state its origin. */
export function requireSameOrigin(headers: IncomingHttpHeaders, consoles: readonly string[]): void {
  if (isSameOrigin(headers, consoles)) return
  throw new Refusal('origin_refused', 'Requests of a session come from a page of the service')
}

/** For requests without a browser credential: allows programs, which state no origin. */
export function refuseCrossSite(headers: IncomingHttpHeaders, consoles: readonly string[]): void {
  const site = headers['sec-fetch-site']
  if (headers.origin === undefined && (site === undefined || site === 'none')) return
  if (isSameOrigin(headers, consoles)) return
  throw new Refusal('origin_refused', 'Requests from another origin are refused')
}
