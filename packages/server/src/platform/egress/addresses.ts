// Pure: decides which addresses and URLs an outgoing request of a tenant may reach.

import { BlockList, isIP } from 'node:net'

/** Loopback, private, shared, link-local, reserved, multicast and translated networks. */
const BLOCKED = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/96',
  '::ffff:0:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
]
const LOOPBACK = ['127.0.0.0/8', '::1/128']

const URL_CHARS_MAX = 2_048
const HTTP_PORT = 80
const HTTPS_PORT = 443
const FIRST_FREE_PORT = 1_024

const typeOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 4 ? 'ipv4' : 'ipv6')

/** An IPv4-mapped IPv6 address (`::ffff:…`) is matched as the IPv4 address. */
const contains = (list: BlockList, address: string): boolean => list.check(address, typeOf(address))

/** Throws RangeError if it is not a network in CIDR notation. */
function addNetwork(list: BlockList, network: string): void {
  const [, address = '', prefix] = /^([^/]+)\/(\d{1,3})$/.exec(network) ?? []
  const bits = Number(prefix)
  if (isIP(address) === 0 || bits > (isIP(address) === 4 ? 32 : 128))
    throw new RangeError('not a network')
  list.addSubnet(address, bits, typeOf(address))
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) addNetwork(list, network)
  return list
}

const blocked = listOf(BLOCKED)
const loopback = listOf(LOOPBACK)

/** Normalises `host` for comparison: lower case, without brackets and final dot. */
const comparableHost = (host: string): string =>
  host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')

/** A list of networks and single addresses. */
export class AddressList {
  readonly #networks = new BlockList()

  /** @param entries networks (`10.2.0.0/16`) or addresses. Throws RangeError for anything else. */
  constructor(entries: readonly string[]) {
    for (const entry of entries)
      if (isIP(entry) === 0) addNetwork(this.#networks, entry)
      else this.#networks.addAddress(entry, typeOf(entry))
  }

  has(address: string): boolean {
    return isIP(address) !== 0 && contains(this.#networks, address)
  }
}

/**
 * The block that one customer of a network typically has: 256 addresses of IPv4, the first 64 bits
 * of IPv6. All spellings of an address have the same block.
 */
export function blockOf(address: string): string {
  if (isIP(address) === 4) return address.slice(0, address.lastIndexOf('.'))
  if (isIP(address) === 0) return ''
  // The URL parser normalises an IPv6 address to the form of RFC 5952.
  const host = URL.parse(`http://[${address.replace(/%.*/, '')}]`)?.hostname.slice(1, -1)
  if (host === undefined) return ''
  const [head = '', tail] = host.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail ? tail.split(':') : []
  const zeros = new Array<string>(tail === undefined ? 0 : 8 - before.length - after.length)
  const groups = [...before, ...zeros.fill('0'), ...after].map((group) =>
    Number.parseInt(group, 16),
  )
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups
  const isMapped = a + b + c + d + e === 0 && f === 0xff_ff
  if (isMapped) return `${g >> 8}.${g & 0xff}.${h >> 8}`
  return [a, b, c, d].map((group) => group.toString(16)).join(':')
}

/** Private networks and host names that the operator allows tenants to reach. */
export class AllowedHosts {
  readonly #networks = new BlockList()
  readonly #names = new Set<string>()

  /** @param entries networks, addresses or host names. Throws RangeError for anything else. */
  constructor(entries: readonly string[]) {
    for (const entry of entries) this.#add(comparableHost(entry))
  }

  hasName(host: string): boolean {
    return this.#names.has(comparableHost(host))
  }

  hasAddress(address: string): boolean {
    return contains(this.#networks, address)
  }

  #add(entry: string): void {
    if (entry.includes('/')) addNetwork(this.#networks, entry)
    else if (isIP(entry) !== 0) this.#networks.addAddress(entry, typeOf(entry))
    else if (/^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(entry)) this.#names.add(entry)
    else throw new RangeError('neither a network nor a host name')
  }
}

export const isLoopback = (address: string): boolean => contains(loopback, address)

/** Whether tenants cannot reach it unless the operator allows it. */
export const isBlocked = (address: string): boolean => contains(blocked, address)

/** The host name, without the brackets of an IPv6 address. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1')

export const portOf = ({ port, protocol }: URL): number =>
  port === '' ? (protocol === 'http:' ? HTTP_PORT : HTTPS_PORT) : Number(port)

/** Whether the host is a loopback address, or a name reserved for loopback (RFC 6761, 6.3). */
export const isLocalHost = (host: string): boolean =>
  isIP(host) === 0 ? /(^|\.)localhost$/.test(comparableHost(host)) : isLoopback(host)

/**
 * Returns null if requests to such a URL are not allowed. The WHATWG parser normalises spellings of
 * an address (`127.1`, `0x7f000001`, full-width digits), so that the checked address is the one
 * that is connected to.
 */
export function parseTarget(
  text: string,
  { http_loopback }: { readonly http_loopback: boolean },
): URL | null {
  if (text.length > URL_CHARS_MAX || /[#\s\\]/.test(text)) return null
  const url = URL.parse(text)
  if (!url || url.href.length > URL_CHARS_MAX || url.username !== '' || url.password !== '')
    return null
  if (url.protocol === 'http:') return http_loopback && isLocalHost(hostOf(url)) ? url : null
  const port = portOf(url)
  const open = port === HTTPS_PORT || port >= FIRST_FREE_PORT
  return url.protocol === 'https:' && open && hostOf(url) !== '' ? url : null
}
