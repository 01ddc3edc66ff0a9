// Turns settings into a configuration. An unusable setting is a ConfigError of one line.

import { Resolver } from 'node:dns'
import { accessSync, constants } from 'node:fs'
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { AddressList, AllowedHosts } from '../platform/egress/addresses.ts'
import type { TimestampAuthority, WitnessPolicy } from '../platform/kernel/kernel.ts'
import {
  type BillingConfig,
  DEFAULT_PLANS,
  type PlanTable,
} from '../platform/kernel/plan-limits.ts'
import type { LogLevel } from '../platform/telemetry/logger.ts'
import { type EmbedderConfig, embedderConfig } from './embedder-config.ts'
import { type Environment, integer, wrong } from './env.ts'
import {
  billingConfig,
  origins,
  planTable,
  timestampAuthority,
  witnessPolicy,
} from './setting-files.ts'

export interface Config {
  readonly host: string
  readonly port: number
  readonly data_dir: string
  /** Null for the embedded engine in `data_dir`. */
  readonly postgres: PostgresConfig | null
  readonly auth: 'local' | 'required'
  readonly operator_key: string | null
  /** 64 hex digits. */
  readonly master_key: string | null
  /** 64 hex digits: the key that the master key is being rotated to. Only with PostgreSQL. */
  readonly next_master_key: string | null
  /** Null for the default `custos/<instance id>`. */
  readonly origin: string | null
  readonly ledger_copy: string | null
  readonly allowed_hosts: readonly string[]
  /** Origins of pages that may call with a bearer credential. */
  readonly cors_origins: readonly string[]
  readonly epoch_seconds: number
  readonly rewrite_hours: number
  readonly index_bytes_max: number
  /** Null if indexes are built from rows after each start. */
  readonly index_dir: string | null
  readonly embedder: EmbedderConfig
  /** Null if no plan has limits. */
  readonly plans: PlanTable | null
  /** Null if the service does not bill. */
  readonly billing: BillingConfig | null
  /** Whether the verify page is served. */
  readonly pages: boolean
  /** Null if checkpoints are not sent to witnesses. */
  readonly witnesses: WitnessPolicy | null
  /** Null if checkpoints have no timestamps. */
  readonly timestamps: TimestampAuthority | null
  /** Origins of consoles: their sessions may write, and payment pages may return to them. */
  readonly console_origins: readonly string[]
  /** Maximum idle time of a session; `session_hours` is its maximum duration. */
  readonly session_idle_minutes: number
  readonly session_hours: number
  /** Origin under which browsers reach the service; null for the address it listens on. */
  readonly public_url: string | null
  /** Networks and addresses of trusted proxies, whose `X-Forwarded-For` names the client. */
  readonly trusted_proxies: readonly string[]
  /** How requests to URLs that tenants chose leave the service. */
  readonly egress: {
    /** Private networks and host names that are reachable nevertheless. */
    readonly allow: readonly string[]
    /** An HTTP proxy that supports CONNECT, or null. */
    readonly proxy: string | null
  }
  /** Name servers for the proof of domains; if empty, those of the system. */
  readonly dns_servers: readonly string[]
  readonly log_level: LogLevel
  readonly metrics: {
    /** A separate address; null if metrics are served with everything else. */
    readonly address: { readonly host: string; readonly port: number } | null
    /** Whether metrics need no credential. */
    readonly open: boolean
    /** Whether metrics also have the names of the reference service. */
    readonly compat: boolean
  }
  /** OTLP endpoint for spans; null if tracing is off. */
  readonly otlp_endpoint: string | null
}

export interface PostgresConfig {
  readonly database_url: string
  /** Null for schema `custos_keyring` of the same database. */
  readonly keyring_url: string | null
  readonly pool: number
  readonly wait_seconds: number
}

const LOG_LEVELS: readonly string[] = ['silent', 'error', 'warn', 'info', 'debug']

export function parseConfig(env: Environment): Config {
  const host = listenHost(env, 'CUSTOS_HOST')
  const billing = billingConfig(env)
  return {
    host,
    port: integer(env, 'CUSTOS_PORT'),
    data_dir: resolve(env.CUSTOS_DATA_DIR ?? './custos-data'),
    postgres: postgres(env),
    auth: authMode(env, host),
    operator_key: operatorKey(env),
    master_key: masterKey(env, 'CUSTOS_MASTER_KEY'),
    next_master_key: nextMasterKey(env),
    origin: origin(env),
    ledger_copy: env.CUSTOS_LEDGER_COPY ? resolve(env.CUSTOS_LEDGER_COPY) : null,
    allowed_hosts: allowedHosts(env),
    cors_origins: origins(env, 'CUSTOS_CORS_ORIGINS'),
    epoch_seconds: integer(env, 'CUSTOS_EPOCH_SECONDS'),
    rewrite_hours: integer(env, 'CUSTOS_REWRITE_HOURS'),
    index_bytes_max: integer(env, 'CUSTOS_INDEX_MB') * 1024 * 1024,
    index_dir: indexDir(env),
    embedder: embedderConfig(env),
    plans: planTable(env) ?? (billing === null ? null : DEFAULT_PLANS),
    billing,
    pages: pagesOn(env),
    witnesses: witnessPolicy(env),
    timestamps: timestampAuthority(env),
    session_idle_minutes: integer(env, 'CUSTOS_SESSION_IDLE'),
    session_hours: integer(env, 'CUSTOS_SESSION_HOURS'),
    console_origins: origins(env, 'CUSTOS_CONSOLE_ORIGINS'),
    public_url: publicUrl(env),
    trusted_proxies: trustedProxies(env),
    egress: { allow: egressAllow(env), proxy: egressProxy(env) },
    dns_servers: dnsServers(env),
    log_level: logLevel(env),
    metrics: metrics(env),
    otlp_endpoint: otlpEndpoint(env),
  }
}

/** Letters of every script, as the resolver accepts them; a dot at the end is the DNS root. */
const HOST_NAME = /^[\p{L}\p{M}\p{N}_-]+(\.[\p{L}\p{M}\p{N}_-]+)*\.?$/u

function listenHost(env: Environment, name: 'CUSTOS_HOST' | 'CUSTOS_METRICS_HOST'): string {
  const given = env[name] ?? '127.0.0.1'
  const address = given.replace(/^\[(.*)\]$/, '$1')
  if (isIP(address) !== 0) return address
  if (HOST_NAME.test(given)) return given
  throw wrong(name, 'must be an address or a host name, without scheme, port and path')
}

/** Origins of browser extensions and desktop programs, such as chrome-extension://abc. */
const OTHER_ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^/?#@*\s]+$/

/** Must be spelled as requests name them, because other spellings would match no request. */
function allowedHosts(env: Environment): string[] {
  return list(env.CUSTOS_ALLOWED_HOSTS).map((given) => {
    const entry = given.toLowerCase()
    const isWeb = /^https?:/.test(entry)
    const url = URL.parse(isWeb ? entry : `http://${entry}`)
    const names = [url?.hostname, `${url?.hostname}:${/\d*$/.exec(entry)?.[0]}`]
    if (!entry.includes('*')) {
      if (isWeb && url?.href === `${url?.origin}/`) return url.origin
      if (!isWeb && (names.includes(entry) || OTHER_ORIGIN.test(entry))) return entry
    }
    throw wrong(
      'CUSTOS_ALLOWED_HOSTS',
      'must be host names, host:port or origins, such as memory.internal or http://localhost:3000',
    )
  })
}

function publicUrl(env: Environment): string | null {
  const given = env.CUSTOS_PUBLIC_URL
  if (given === undefined) return null
  const url = URL.parse(given)
  const isWeb = url !== null && /^https?:$/.test(url.protocol) && !given.includes('*')
  if (isWeb && url.href === `${url.origin}/`) return url.origin
  throw wrong('CUSTOS_PUBLIC_URL', 'must be an origin, as https://custos.example.com')
}

function pagesOn(env: Environment): boolean {
  const given = env.CUSTOS_CONSOLE ?? 'on'
  if (given !== 'on' && given !== 'off') throw wrong('CUSTOS_CONSOLE', 'must be on or off')
  return given === 'on'
}

/** A process on PostgreSQL writes no files unless the setting names a directory. */
function indexDir(env: Environment): string | null {
  const given = env.CUSTOS_INDEX_DIR
  if (given) return given === 'none' ? null : resolve(given)
  return env.CUSTOS_DATABASE_URL ? null : resolve(env.CUSTOS_DATA_DIR ?? './custos-data', 'index')
}

function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true
  return isIP(host) === 4 && host.startsWith('127.')
}

function authMode(env: Environment, host: string): 'local' | 'required' {
  const given = env.CUSTOS_AUTH
  if (given === undefined) return isLoopback(host) ? 'local' : 'required'
  if (given !== 'local' && given !== 'required')
    throw wrong('CUSTOS_AUTH', 'must be local or required')
  // Without credentials, anybody who can reach a public address would have full access.
  if (given === 'local' && !isLoopback(host))
    throw wrong('CUSTOS_AUTH', 'can be local only where CUSTOS_HOST is a loopback address')
  return given
}

function postgres(env: Environment): PostgresConfig | null {
  const database_url = databaseUrl(env, 'CUSTOS_DATABASE_URL')
  const keyring_url = databaseUrl(env, 'CUSTOS_KEYRING_URL')
  const pool = integer(env, 'CUSTOS_DATABASE_POOL')
  const wait_seconds = integer(env, 'CUSTOS_DATABASE_WAIT')
  if (database_url === null) {
    if (keyring_url === null) return null
    throw wrong('CUSTOS_KEYRING_URL', 'requires CUSTOS_DATABASE_URL')
  }
  // A generated key would be lost with the machine, and each process would generate its own.
  if (env.CUSTOS_MASTER_KEY === undefined)
    throw wrong('CUSTOS_MASTER_KEY', 'is required with CUSTOS_DATABASE_URL (64 hex digits)')
  return { database_url, keyring_url, pool, wait_seconds }
}

const DATABASE_URL = /^postgres(ql)?:\/\//
/** Parameters that the driver knows: it would ignore a misspelt one and not encrypt. */
const SSL_PARAMETERS = ['ssl', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation']
const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']

function databaseUrl(
  env: Environment,
  name: 'CUSTOS_DATABASE_URL' | 'CUSTOS_KEYRING_URL',
): string | null {
  const given = env[name]
  if (given === undefined) return null
  if (!DATABASE_URL.test(given))
    throw wrong(name, 'must be a URL that begins with postgres:// or postgresql://')
  const url = URL.parse(given)
  if (url === null)
    throw wrong(
      name,
      'is no URL of one host; in a password, / ? # @ : % are written %2F %3F %23 %40 %3A %25',
    )
  for (const [parameter, value] of url.searchParams) {
    if (/^ssl/i.test(parameter) && !SSL_PARAMETERS.includes(parameter))
      throw wrong(name, `has ${parameter}, which has no effect: use ${SSL_PARAMETERS.join(', ')}`)
    if (parameter === 'sslmode' && !SSL_MODES.includes(value))
      throw wrong(name, `has an unknown sslmode: use ${SSL_MODES.join(', ')}`)
    if (parameter === 'pgbouncer' && !/^(true|false|1|0)$/.test(value))
      throw wrong(name, 'has pgbouncer, which must be true or false')
  }
  for (const parameter of ['sslrootcert', 'sslcert', 'sslkey']) {
    const file = url.searchParams.get(parameter)
    if (file && !isReadable(file))
      throw wrong(name, `has ${parameter} ${file}, which cannot be read`)
  }
  return given
}

function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK)
    return true
  } catch {
    return false
  }
}

/** A value that fits into a header unchanged; the newline at the end of a file would be cut off. */
const HEADER_VALUE = /^[!-~]([ -~]*[!-~])?$/

function operatorKey(env: Environment): string | null {
  const given = env.CUSTOS_OPERATOR_KEY
  if (given === undefined) return null
  if (given.length < 24)
    throw wrong(
      'CUSTOS_OPERATOR_KEY',
      'must have 24 characters or more; make one with: openssl rand -hex 24',
    )
  if (!HEADER_VALUE.test(given))
    throw wrong(
      'CUSTOS_OPERATOR_KEY',
      'must be printable ASCII, with no space or line end around it',
    )
  return given
}

function masterKey(
  env: Environment,
  name: 'CUSTOS_MASTER_KEY' | 'CUSTOS_NEXT_MASTER_KEY',
): string | null {
  const given = env[name]
  if (given === undefined) return null
  if (!/^[0-9a-fA-F]{64}$/.test(given)) throw wrong(name, 'must be 64 hex digits')
  return given
}

function nextMasterKey(env: Environment): string | null {
  const key = masterKey(env, 'CUSTOS_NEXT_MASTER_KEY')
  if (key === null || env.CUSTOS_DATABASE_URL !== undefined) return key
  throw wrong('CUSTOS_NEXT_MASTER_KEY', 'requires CUSTOS_DATABASE_URL')
}

function origin(env: Environment): string | null {
  const given = env.CUSTOS_ORIGIN
  if (given === undefined) return null
  // The origin is the key name of a signed note: no spaces, no plus sign (C2SP signed-note).
  if (!/^[!-*,-~]{1,200}$/.test(given))
    throw wrong('CUSTOS_ORIGIN', 'must be printable ASCII without spaces or "+"')
  return given
}

function trustedProxies(env: Environment): string[] {
  const proxies = list(env.CUSTOS_TRUSTED_PROXIES)
  try {
    new AddressList(proxies)
  } catch {
    throw wrong('CUSTOS_TRUSTED_PROXIES', 'must be networks (10.2.0.0/16) or addresses')
  }
  return proxies
}

function egressAllow(env: Environment): string[] {
  const allow = list(env.CUSTOS_EGRESS_ALLOW)
  try {
    new AllowedHosts(allow)
  } catch {
    throw wrong('CUSTOS_EGRESS_ALLOW', 'must be networks (10.2.0.0/16), addresses or host names')
  }
  return allow
}

function dnsServers(env: Environment): string[] {
  const servers = list(env.CUSTOS_DNS_SERVERS)
  try {
    if (servers.length > 0) new Resolver().setServers(servers)
  } catch {
    throw wrong('CUSTOS_DNS_SERVERS', 'must be addresses, with a port where it is not 53')
  }
  return servers
}

function egressProxy(env: Environment): string | null {
  const given = env.CUSTOS_EGRESS_PROXY
  if (given === undefined) return null
  const url = URL.parse(given)
  const plain = url && url.href === `${url.origin}/`
  if (plain && url.protocol === 'http:' && url.hostname !== '') return url.origin
  throw wrong('CUSTOS_EGRESS_PROXY', 'must be http://host:port')
}

function logLevel(env: Environment): LogLevel {
  const given = env.CUSTOS_LOG_LEVEL ?? 'info'
  if (!LOG_LEVELS.includes(given))
    throw wrong('CUSTOS_LOG_LEVEL', `must be one of ${LOG_LEVELS.join(', ')}`)
  // The list above contains it.
  return given as LogLevel
}

function metrics(env: Environment): Config['metrics'] {
  const host = listenHost(env, 'CUSTOS_METRICS_HOST')
  const port = env.CUSTOS_METRICS_PORT
  if (port === undefined && env.CUSTOS_METRICS_HOST !== undefined)
    throw wrong('CUSTOS_METRICS_HOST', 'requires CUSTOS_METRICS_PORT')
  const number = port === undefined ? null : integer(env, 'CUSTOS_METRICS_PORT')
  const hosts = [listenHost(env, 'CUSTOS_HOST'), host]
  const shared = hosts[0] === hosts[1] || hosts.some((one) => one === '0.0.0.0' || one === '::')
  if (number && shared && number === integer(env, 'CUSTOS_PORT'))
    throw wrong('CUSTOS_METRICS_PORT', 'must be another port than CUSTOS_PORT')
  return {
    address: number === null ? null : { host, port: number },
    open: isSet(env, 'CUSTOS_METRICS_PUBLIC'),
    compat: isSet(env, 'CUSTOS_METRICS_COMPAT'),
  }
}

function isSet(env: Environment, name: 'CUSTOS_METRICS_PUBLIC' | 'CUSTOS_METRICS_COMPAT'): boolean {
  const given = env[name] ?? '0'
  if (given !== '0' && given !== '1') throw wrong(name, 'must be 0 or 1')
  return given === '1'
}

function otlpEndpoint(env: Environment): string | null {
  const given = env.OTEL_EXPORTER_OTLP_ENDPOINT
  if (given === undefined) return null
  const url = URL.parse(given)
  const plain = url && url.href === `${url.origin}${url.pathname}`
  if (plain && ['http:', 'https:'].includes(url.protocol)) return given
  throw wrong('OTEL_EXPORTER_OTLP_ENDPOINT', 'must be http://host:port or https://host:port')
}

const list = (text: string | undefined): string[] =>
  (text ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
