// Local mode has no credential, so a web page must not be able to use it: Host and Origin checks.

import { isIP } from 'node:net'
import { Refusal } from '../../platform/refusal.ts'

/**
 * Refuses requests a browser could be tricked into: a Host that is neither loopback nor listed
 * (DNS rebinding) and an Origin other than the service's own or a listed one.
 */
export class LocalGuard {
  readonly #allowed: ReadonlySet<string>
  // The handful of Host headers seen before; a full set is started again.
  readonly #knownHosts = new Set<string>()

  /** @param allowed host names, `host:port` or origins, from the configuration */
  constructor(allowed: readonly string[]) {
    this.#allowed = new Set(allowed.map((entry) => entry.toLowerCase()))
  }

  assert(headers: { host?: string | undefined; origin?: string | undefined }): void {
    const host = headers.host?.toLowerCase()
    if (host === undefined || !this.#isAllowedHost(host))
      throw new Refusal('origin_refused', 'The Host header is neither loopback nor listed')
    const origin = headers.origin?.toLowerCase()
    if (origin !== undefined && !this.#isAllowedOrigin(origin, host))
      throw new Refusal('origin_refused', 'Requests from another origin are refused')
  }

  #isAllowedHost(host: string): boolean {
    if (this.#knownHosts.has(host)) return true
    const name = parseHost(`http://${host}`)?.hostname
    if (name === undefined || !(isLoopbackName(name) || this.#lists(name, host))) return false
    if (this.#knownHosts.size >= 16) this.#knownHosts.clear()
    this.#knownHosts.add(host)
    return true
  }

  #isAllowedOrigin(origin: string, host: string): boolean {
    if (this.#allowed.has(origin)) return true
    const url = parseHost(origin)
    if (url === null) return false
    return (
      url.host === parseHost(`${url.protocol}//${host}`)?.host ||
      this.#lists(url.hostname, url.host)
    )
  }

  #lists(name: string, host: string): boolean {
    return this.#allowed.has(name) || this.#allowed.has(host)
  }
}

function parseHost(url: string): URL | null {
  const parsed = URL.canParse(url) ? new URL(url) : null
  return parsed?.username === '' && parsed.pathname === '/' ? parsed : null
}

function isLoopbackName(name: string): boolean {
  if (name === 'localhost' || name === '[::1]') return true
  return isIP(name) === 4 && name.startsWith('127.')
}
