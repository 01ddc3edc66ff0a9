// The only reader of the environment: the name, default, range and meaning of each setting.

import assert from 'node:assert/strict'
import { DIMENSIONS_MAX } from '../platform/embed/embedder.ts'
import { OperatorError } from '../platform/operator-error.ts'

/** One row of `--help` and of docs/configuration.md. */
export interface Setting {
  readonly name: string
  /** Without the leading dashes; empty for secrets, which have no flag. */
  readonly flag: string
  /** Placeholder of the value in help texts. */
  readonly value: string
  /** The default in words, or the number itself for settings with a range. */
  readonly fallback: string
  readonly help: string
  /** Set for whole numbers; both ends are included. */
  readonly range?: { readonly min: number; readonly max: number }
  /** Heading under which docs/configuration.md lists the setting. */
  readonly topic?: string
}

/** Every setting of `custos serve`, in the order of `--help` and docs/configuration.md. */
export const SETTINGS = [
  {
    name: 'CUSTOS_HOST',
    topic: 'Address and data',
    flag: 'host',
    value: 'ADDRESS',
    fallback: '127.0.0.1',
    help: 'address the service listens on',
  },
  {
    name: 'CUSTOS_PORT',
    topic: 'Address and data',
    flag: 'port',
    value: 'PORT',
    fallback: '8420',
    help: 'port the service listens on; 0 takes a free one',
    range: { min: 0, max: 65_535 },
  },
  {
    name: 'CUSTOS_DATA_DIR',
    topic: 'Address and data',
    flag: 'data-dir',
    value: 'DIR',
    fallback: './custos-data',
    help: 'directory of the database and the keyring',
  },
  {
    name: 'CUSTOS_LOG_LEVEL',
    topic: 'Address and data',
    flag: 'log-level',
    value: 'LEVEL',
    fallback: 'info',
    help: 'silent, error, warn, info or debug',
  },
  {
    name: 'CUSTOS_METRICS_PORT',
    topic: 'Metrics and traces',
    flag: 'metrics-port',
    value: 'PORT',
    fallback: 'none: /metrics is on the main port',
    help: 'separate port for /metrics, which is then not served on the main port',
    range: { min: 0, max: 65_535 },
  },
  {
    name: 'CUSTOS_METRICS_HOST',
    topic: 'Metrics and traces',
    flag: 'metrics-host',
    value: 'ADDRESS',
    fallback: '127.0.0.1',
    help: 'address that the metrics port listens on',
  },
  {
    name: 'CUSTOS_METRICS_PUBLIC',
    topic: 'Metrics and traces',
    flag: 'metrics-public',
    value: '0|1',
    fallback: '0',
    help: '1: /metrics needs no credential; 0: it needs the credential of an operator',
  },
  {
    name: 'CUSTOS_METRICS_COMPAT',
    topic: 'Metrics and traces',
    flag: 'metrics-compat',
    value: '0|1',
    fallback: '0',
    help: '1: exports each metric also under its earlier name, which begins with grafomem_',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    topic: 'Metrics and traces',
    flag: 'otlp-endpoint',
    value: 'URL',
    fallback: 'none: tracing is off',
    help: 'OpenTelemetry collector that receives spans (OTLP over HTTP), http://host:4318',
  },
  {
    name: 'CUSTOS_CONSOLE',
    topic: 'Access',
    flag: 'console',
    value: 'SWITCH',
    fallback: 'on',
    help: 'on, or off: does not serve the pages /console and /verify',
  },
  {
    name: 'CUSTOS_AUTH',
    topic: 'Access',
    flag: 'auth',
    value: 'MODE',
    fallback: 'local on loopback, otherwise required',
    help: 'local (no credential, tenant "local") or required',
  },
  {
    name: 'CUSTOS_OPERATOR_KEY',
    topic: 'Access',
    flag: '',
    value: 'KEY',
    fallback: 'none',
    help: 'operator credential of your choice, 24 characters or more',
  },
  {
    name: 'CUSTOS_ALLOWED_HOSTS',
    topic: 'Access',
    flag: 'allowed-hosts',
    value: 'LIST',
    fallback: 'loopback names',
    help: 'more Host names and Origins to accept in local mode, separated by commas',
  },
  {
    name: 'CUSTOS_SESSION_IDLE',
    topic: 'Access',
    flag: 'session-idle',
    value: 'MINUTES',
    fallback: '480',
    help: 'minutes without a request after which a browser session ends',
    range: { min: 15, max: 480 },
  },
  {
    name: 'CUSTOS_SESSION_HOURS',
    topic: 'Access',
    flag: 'session-hours',
    value: 'HOURS',
    fallback: '24',
    help: 'hours after which a browser session ends',
    range: { min: 1, max: 24 },
  },
  {
    name: 'CUSTOS_CORS_ORIGINS',
    topic: 'Access',
    flag: 'cors-origins',
    value: 'LIST',
    fallback: 'none',
    help: 'origins of web pages that may call the API with a bearer credential, by commas',
  },
  {
    name: 'CUSTOS_PUBLIC_URL',
    topic: 'Access',
    flag: 'public-url',
    value: 'URL',
    fallback: 'where the service listens',
    help: 'origin at which browsers reach the service; sign-in providers redirect to it',
  },
  {
    name: 'CUSTOS_TRUSTED_PROXIES',
    topic: 'Access',
    flag: 'trusted-proxies',
    value: 'LIST',
    fallback: 'none: the client is the peer of the connection',
    help: 'addresses or networks of proxies whose X-Forwarded-For is trusted, separated by commas',
  },
  {
    name: 'CUSTOS_DNS_SERVERS',
    topic: 'Access',
    flag: 'dns-servers',
    value: 'LIST',
    fallback: 'the system resolver',
    help: 'DNS servers for verifying domains for single sign-on, separated by commas',
  },
  {
    name: 'CUSTOS_EGRESS_ALLOW',
    topic: 'Outgoing requests',
    flag: 'egress-allow',
    value: 'LIST',
    fallback: 'none',
    help: 'private networks and host names that outgoing requests may reach, separated by commas',
  },
  {
    name: 'CUSTOS_EGRESS_PROXY',
    topic: 'Outgoing requests',
    flag: 'egress-proxy',
    value: 'URL',
    fallback: 'none; proxy variables of the environment are ignored',
    help: 'HTTP proxy for outgoing requests, http://host:port; the proxy must check addresses',
  },
  {
    name: 'CUSTOS_MASTER_KEY',
    topic: 'Keys, audit log and erasure',
    flag: '',
    value: 'HEX',
    fallback: 'generated into the data directory',
    help: 'master key of the keyring, 64 hex digits; required with PostgreSQL',
  },
  {
    name: 'CUSTOS_NEXT_MASTER_KEY',
    topic: 'Keys, audit log and erasure',
    flag: '',
    value: 'HEX',
    fallback: 'none',
    help: 'key that the master key is being rotated to, 64 hex digits; only with PostgreSQL',
  },
  {
    name: 'CUSTOS_ORIGIN',
    topic: 'Keys, audit log and erasure',
    flag: 'origin',
    value: 'NAME',
    fallback: 'custos/INSTANCE-ID',
    help: 'origin line of signed checkpoints, a URL without its scheme',
  },
  {
    name: 'CUSTOS_EPOCH_SECONDS',
    topic: 'Keys, audit log and erasure',
    flag: 'epoch-seconds',
    value: 'N',
    fallback: '3600',
    help: 'seconds between checkpoints, signed only if the log has grown; 0 never',
    // A timer of Node fires at once above 24.8 days.
    range: { min: 0, max: 86_400 * 24 },
  },
  {
    name: 'CUSTOS_WITNESSES',
    topic: 'Keys, audit log and erasure',
    flag: 'witnesses',
    value: 'FILE',
    fallback: 'none: checkpoints are not cosigned',
    help: 'JSON file with the witnesses of checkpoints, and how many must cosign each',
  },
  {
    name: 'CUSTOS_TIMESTAMP_URL',
    topic: 'Keys, audit log and erasure',
    flag: 'timestamp-url',
    value: 'URL',
    fallback: 'none: checkpoints have no timestamps',
    help: 'RFC 3161 authority that timestamps checkpoints; needs CUSTOS_TIMESTAMP_CERTIFICATES',
  },
  {
    name: 'CUSTOS_TIMESTAMP_CERTIFICATES',
    topic: 'Keys, audit log and erasure',
    flag: 'timestamp-certificates',
    value: 'FILE',
    fallback: 'none',
    help: 'PEM file: the certificate of that authority, or of one of its issuers',
  },
  {
    name: 'CUSTOS_LEDGER_COPY',
    topic: 'Keys, audit log and erasure',
    flag: 'ledger-copy',
    value: 'FILE',
    fallback: 'none',
    help: 'second copy of the erasure ledger and the signed checkpoints; use another disk',
  },
  {
    name: 'CUSTOS_DATABASE_URL',
    topic: 'PostgreSQL',
    flag: '',
    value: 'URL',
    fallback: 'none: the embedded engine',
    help: 'PostgreSQL database for the data; no data directory is used',
  },
  {
    name: 'CUSTOS_KEYRING_URL',
    topic: 'PostgreSQL',
    flag: '',
    value: 'URL',
    fallback: 'in the data database, with a warning',
    help: 'PostgreSQL database for the keyring, separate from the data',
  },
  {
    name: 'CUSTOS_DATABASE_POOL',
    topic: 'PostgreSQL',
    flag: 'database-pool',
    value: 'N',
    fallback: '10',
    help: 'maximum PostgreSQL connections of this process to the data',
    range: { min: 2, max: 1_000 },
  },
  {
    name: 'CUSTOS_DATABASE_WAIT',
    topic: 'PostgreSQL',
    flag: 'database-wait',
    value: 'SECONDS',
    fallback: '0',
    help: 'seconds to retry at the start while PostgreSQL does not answer',
    range: { min: 0, max: 86_400 },
  },
  {
    name: 'CUSTOS_REWRITE_HOURS',
    topic: 'PostgreSQL',
    flag: 'rewrite-hours',
    value: 'N',
    fallback: '24',
    help: 'hours between table rewrites that physically remove deleted secrets; 0 never',
    range: { min: 0, max: 24 * 365 },
  },
  {
    name: 'CUSTOS_INDEX_DIR',
    topic: 'Search and embedders',
    flag: 'index-dir',
    value: 'DIR',
    fallback: '`index` in the data directory; on PostgreSQL none',
    help: 'directory of sealed snapshots of search indexes, read after a start; or `none`',
  },
  {
    name: 'CUSTOS_INDEX_MB',
    topic: 'Search and embedders',
    flag: 'index-mb',
    value: 'N',
    fallback: '512',
    help: 'memory for search indexes in MB; the least recently used index is dropped first',
    range: { min: 16, max: 1_048_576 },
  },
  {
    name: 'CUSTOS_EMBEDDER',
    topic: 'Search and embedders',
    flag: 'embedder',
    value: 'NAME',
    fallback: 'static',
    help: 'embedder of new stores: static, none, http or onnx',
  },
  {
    name: 'CUSTOS_EMBEDDER_URL',
    topic: 'Search and embedders',
    flag: 'embedder-url',
    value: 'URL',
    fallback: 'none',
    help: 'OpenAI-compatible service of the embedder http; it receives texts and queries',
  },
  {
    name: 'CUSTOS_EMBEDDER_MODEL',
    topic: 'Search and embedders',
    flag: 'embedder-model',
    value: 'NAME',
    fallback: 'none',
    help: 'model to request from that service',
  },
  {
    name: 'CUSTOS_EMBEDDER_KEY',
    topic: 'Search and embedders',
    flag: '',
    value: 'KEY',
    fallback: 'none',
    help: 'credential for that service',
  },
  {
    name: 'CUSTOS_EMBEDDER_DIMENSIONS',
    topic: 'Search and embedders',
    flag: 'embedder-dimensions',
    value: 'N',
    fallback: 'none',
    help: 'vector length of that model',
    range: { min: 1, max: DIMENSIONS_MAX },
  },
  {
    name: 'CUSTOS_EMBEDDER_TIMEOUT',
    topic: 'Search and embedders',
    flag: 'embedder-timeout',
    value: 'MS',
    fallback: '5000',
    help: 'milliseconds a write or retrieval waits for that service before it goes on without',
    range: { min: 50, max: 120_000 },
  },
  {
    name: 'CUSTOS_ONNX_MODEL',
    topic: 'Search and embedders',
    flag: 'onnx-model',
    value: 'FILE',
    fallback: 'none',
    help: 'model file of the embedder onnx; needs the package onnxruntime-node',
  },
  {
    name: 'CUSTOS_ONNX_TOKENIZER',
    topic: 'Search and embedders',
    flag: 'onnx-tokenizer',
    value: 'FILE',
    fallback: 'none',
    help: 'vocab.txt or tokenizer.json (WordPiece) of that model',
  },
  {
    name: 'CUSTOS_PLANS',
    topic: 'Plans and billing',
    flag: 'plans',
    value: 'FILE',
    fallback: 'none: no plan has limits',
    help: 'JSON file with the limits of each plan, which are then enforced',
  },
  {
    name: 'CUSTOS_BILLING',
    topic: 'Plans and billing',
    flag: 'billing',
    value: 'PROVIDER',
    fallback: 'none: billing is off',
    help: 'payment provider: stripe (needs the package stripe), or loopback for tests',
  },
  {
    name: 'CUSTOS_BILLING_SECRET_KEY',
    topic: 'Plans and billing',
    flag: '',
    value: 'KEY',
    fallback: 'none',
    help: 'API secret key of the payment provider',
  },
  {
    name: 'CUSTOS_BILLING_WEBHOOK_SECRET',
    topic: 'Plans and billing',
    flag: '',
    value: 'LIST',
    fallback: 'none: events are refused',
    help: 'secrets that verify events of the payment provider, separated by commas',
  },
  {
    name: 'CUSTOS_CONSOLE_ORIGINS',
    topic: 'Plans and billing',
    flag: 'console-origins',
    value: 'LIST',
    fallback: 'none',
    help: 'more origins whose pages may use sessions and be redirected to, separated by commas',
  },
] as const satisfies readonly Setting[]

export type SettingName = (typeof SETTINGS)[number]['name']
export type Environment = Readonly<Partial<Record<SettingName, string>>>

/** The settings in the process environment; empty values count as unset. */
export const readEnvironment = (): Environment => read(SETTINGS)

/** Reads settings from the process environment; empty values count as unset. */
export function read<N extends string>(settings: readonly { readonly name: N }[]) {
  const values: Partial<Record<N, string>> = {}
  for (const { name } of settings) {
    const value = process.env[name]
    if (value !== undefined && value !== '') values[name] = value
  }
  return values
}

const PREFIX = 'CUSTOS_'
/** Prefix of the settings of this project's tests. */
const OF_TESTS = 'CUSTOS_TEST_'

/** Names in the environment that look like settings but are not among these. */
export function unknownNames(settings: readonly Setting[]): string[] {
  const known = new Set(settings.map(({ name }) => name))
  return Object.keys(process.env).filter(
    (name) => name.startsWith(PREFIX) && !name.startsWith(OF_TESTS) && !known.has(name),
  )
}

/** The `--help` lines of the settings: flag and name, then meaning and default. */
export const settingsHelp = (settings: readonly Setting[] = SETTINGS): string =>
  settings
    .map(({ name, flag, value, fallback, help }) => {
      const left = flag === '' ? name : `--${flag} ${value}, ${name}`
      return `  ${left}\n      ${help}\n      (default: ${fallback})`
    })
    .join('\n')

/** A setting is unusable; the message is one line. */
export class ConfigError extends OperatorError {}

// The value may be a secret, so it is not part of the message.
export const wrong = (name: SettingName, rule: string) => new ConfigError(`${name} ${rule}`)

/** The whole number of a setting, or its default. Throws ConfigError if it is out of range. */
export function integer(env: Environment, name: SettingName): number {
  const { range, fallback }: Partial<Setting> = SETTINGS.find((row) => row.name === name) ?? {}
  assert(range, `${name} has no range`)
  const given = env[name] ?? fallback ?? ''
  const value = /^\d{1,9}$/.test(given) ? Number(given) : Number.NaN
  if (value >= range.min && value <= range.max) return value
  throw wrong(name, `must be a whole number from ${range.min} to ${range.max}`)
}
