// The only way to URLs that a tenant chose: checks addresses before anything is sent.

import { lookup as lookupAll, NODATA, NOTFOUND, Resolver } from 'node:dns/promises'
import { isIP, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import {
  AllowedHosts,
  hostOf,
  isBlocked,
  isLocalHost,
  isLoopback,
  parseTarget,
  portOf,
} from './addresses.ts'
import {
  abortable,
  EgressError,
  type EgressReply,
  exchange,
  faultOf,
  type HostAddress,
  type OutgoingRequest,
  openConnection,
  takeReply,
  takeWhole,
} from './connection.ts'

/** Looks up the addresses of a host name; rejects if there are none. */
export type HostLookup = (host: string) => Promise<readonly HostAddress[]>

interface EgressOptions {
  /** Private networks, addresses and host names that are reachable nevertheless. */
  readonly allow: readonly string[]
  /** `http://host:port` of a proxy that supports CONNECT and resolves names, or null. */
  readonly proxy: string | null
  /** In local mode loopback addresses are reachable, even without TLS. */
  readonly local: boolean
  readonly lookup?: HostLookup | undefined
  /** Name servers for `texts`; default: those of the system. */
  readonly dns_servers?: readonly string[]
}

interface EgressRequest extends OutgoingRequest {
  /** Aborts the request; `send` then rejects. */
  readonly signal?: AbortSignal
  /** Timeout of the whole exchange; default: 15 s. */
  readonly total_ms?: number
}

const CONNECT_MS = 5_000
const TOTAL_MS = 15_000
const DNS_TRIES = 2
const DNS_TIMEOUT_MS = 1_000

const LOOPBACK: HostAddress = { address: '127.0.0.1', family: 4 }

const systemLookup: HostLookup = (host) => lookupAll(host, { all: true, order: 'verbatim' })

export class Egress {
  readonly #allowed: AllowedHosts
  readonly #proxy: URL | null
  readonly #local: boolean
  readonly #lookup: HostLookup
  readonly #dns_servers: readonly string[]
  #own_port: number | null = null

  /** Throws RangeError if an entry of `allow` is neither a network nor a host name. */
  constructor({ allow, proxy, local, lookup, dns_servers = [] }: EgressOptions) {
    this.#allowed = new AllowedHosts(allow)
    this.#proxy = proxy === null ? null : new URL(proxy)
    this.#local = local
    this.#lookup = lookup ?? systemLookup
    this.#dns_servers = dns_servers
  }

  /** Sets the address of this service, so that no tenant can make it call itself. */
  listensAt(url: string): void {
    this.#own_port = portOf(new URL(url))
  }

  /**
   * Whether requests to the URL are refused as it resolves now. A name that does not resolve is not
   * refused, because each request looks it up again.
   */
  async isRefused(url: string): Promise<boolean> {
    try {
      await this.#resolve(this.#parse(url), AbortSignal.timeout(CONNECT_MS))
      return false
    } catch (error) {
      return faultOf(error) === 'refused_address'
    }
  }

  /** The TXT records of a name, if any. Throws EgressError if the name servers do not answer. */
  async texts(name: string): Promise<string[]> {
    const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES })
    if (this.#dns_servers.length > 0) resolver.setServers(this.#dns_servers)
    try {
      return (await resolver.resolveTxt(name)).map((parts) => parts.join(''))
    } catch (error) {
      const { code } = Object(error)
      if (code === NODATA || code === NOTFOUND) return []
      throw new EgressError('dns')
    }
  }

  /** Sends one request; never follows a redirect. Rejects only if `signal` is aborted. */
  async send(
    url: string,
    { signal, total_ms = TOTAL_MS, ...request }: EgressRequest,
  ): Promise<EgressReply> {
    const late = AbortSignal.timeout(total_ms)
    const ended = signal ? AbortSignal.any([signal, late]) : late
    try {
      const target = this.#parse(url)
      const socket = await this.#connect(target, ended)
      return await exchange(socket, { url: target, ...request }, ended, (response) =>
        takeReply(response, request, ended),
      )
    } catch (error) {
      signal?.throwIfAborted()
      return { fault: late.aborted ? 'timeout' : faultOf(error) }
    }
  }

  /**
   * Sends one request and reads a response of at most `bytesMax` bytes. Throws EgressError if there
   * is no response, and for a redirect.
   */
  async fetch(url: string, request: OutgoingRequest, bytesMax: number) {
    const ended = AbortSignal.timeout(TOTAL_MS)
    const target = this.#parse(url)
    const socket = await this.#connect(target, ended)
    return exchange(socket, { url: target, ...request }, ended, (response) =>
      takeWhole(response, bytesMax, ended),
    )
  }

  async #connect(url: URL, ended: AbortSignal): Promise<Socket> {
    const connecting = AbortSignal.any([ended, AbortSignal.timeout(CONNECT_MS)])
    const addresses = await this.#resolve(url, connecting)
    const proxy = isLocalHost(hostOf(url)) ? null : this.#proxy
    return openConnection({ url, addresses, proxy }, connecting)
  }

  #parse(text: string): URL {
    const url = parseTarget(text, { http_loopback: this.#local })
    if (!url) throw new EgressError('refused_address')
    return url
  }

  /** Addresses to connect to, all of them allowed; null if the proxy resolves the name. */
  async #resolve(url: URL, signal: AbortSignal): Promise<readonly HostAddress[] | null> {
    const host = hostOf(url)
    const family = isIP(host)
    const found =
      family !== 0
        ? [{ address: host, family }]
        : this.#proxy && !isLocalHost(host)
          ? null
          : await this.#addressesOf(host, signal)
    if (found?.length === 0) throw new EgressError('dns')
    // The connection may use any of them, so one that is refused refuses the host.
    for (const { address } of found ?? []) this.#require(address, url)
    return found
  }

  /** A name of this machine resolves to loopback even if no name server knows it. */
  async #addressesOf(host: string, signal: AbortSignal): Promise<readonly HostAddress[]> {
    const looked = abortable(this.#lookup(host), signal, 'dns')
    if (!isLocalHost(host)) return looked
    const found = await looked.catch(() => [])
    return found.length === 0 ? [LOOPBACK] : found
  }

  #require(address: string, url: URL): void {
    const isOwn = portOf(url) === this.#own_port && isThisMachine(address)
    const allowed =
      this.#allowed.hasName(hostOf(url)) ||
      this.#allowed.hasAddress(address) ||
      (this.#local && isLoopback(address)) ||
      !isBlocked(address)
    const inClear = url.protocol === 'http:' && !isLoopback(address)
    if (inClear || isOwn || !allowed) throw new EgressError('refused_address')
  }
}

const isThisMachine = (address: string): boolean =>
  isLoopback(address) ||
  Object.values(networkInterfaces()).some((known) =>
    known?.some((interfaceAddress) => interfaceAddress.address === address),
  )
