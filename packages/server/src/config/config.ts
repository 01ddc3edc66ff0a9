// Turns settings into a configuration; a setting that cannot be used is a one-line ConfigError.

import { isIP } from 'node:net'
import { resolve } from 'node:path'
import type { LogLevel } from '../platform/logger.ts'
import { type EmbedderConfig, embedderConfig } from './embedder-config.ts'
import { type Environment, integer, wrong } from './env.ts'

export interface Config {
  readonly host: string
  readonly port: number
  readonly data_dir: string
  /** Null: the embedded engine in `data_dir`. */
  readonly postgres: PostgresConfig | null
  readonly auth: 'local' | 'required'
  readonly operator_key: string | null
  /** 64 hex digits. */
  readonly master_key: string | null
  /** Null: `custos/<instance id>`. */
  readonly origin: string | null
  readonly ledger_copy: string | null
  readonly allowed_hosts: readonly string[]
  readonly epoch_seconds: number
  readonly rewrite_hours: number
  readonly index_bytes_max: number
  readonly embedder: EmbedderConfig
  readonly log_level: LogLevel
}

export interface PostgresConfig {
  readonly database_url: string
  /** Null: schema `custos_keyring` of the same database. */
  readonly keyring_url: string | null
  readonly pool: number
  readonly wait_seconds: number
}

const LOG_LEVELS: readonly string[] = ['silent', 'error', 'warn', 'info']

export function parseConfig(env: Environment): Config {
  const host = env.CUSTOS_HOST ?? '127.0.0.1'
  return {
    host,
    port: integer(env, 'CUSTOS_PORT'),
    data_dir: resolve(env.CUSTOS_DATA_DIR ?? './custos-data'),
    postgres: postgres(env),
    auth: authMode(env, host),
    operator_key: operatorKey(env),
    master_key: masterKey(env),
    origin: origin(env),
    ledger_copy: env.CUSTOS_LEDGER_COPY ? resolve(env.CUSTOS_LEDGER_COPY) : null,
    allowed_hosts: list(env.CUSTOS_ALLOWED_HOSTS),
    epoch_seconds: integer(env, 'CUSTOS_EPOCH_SECONDS'),
    rewrite_hours: integer(env, 'CUSTOS_REWRITE_HOURS'),
    index_bytes_max: integer(env, 'CUSTOS_INDEX_MB') * 1024 * 1024,
    embedder: embedderConfig(env),
    log_level: logLevel(env),
  }
}

function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1' || host === '[::1]') return true
  return isIP(host) === 4 && host.startsWith('127.')
}

function authMode(env: Environment, host: string): 'local' | 'required' {
  const given = env.CUSTOS_AUTH
  if (given === undefined) return isLoopback(host) ? 'local' : 'required'
  if (given !== 'local' && given !== 'required')
    throw wrong('CUSTOS_AUTH', 'must be local or required')
  // Without credentials, anybody who can reach another address would have full access.
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
    throw wrong('CUSTOS_KEYRING_URL', 'is used only together with CUSTOS_DATABASE_URL')
  }
  // A generated key would be lost with the machine, and each process would have another one.
  if (env.CUSTOS_MASTER_KEY === undefined)
    throw wrong('CUSTOS_MASTER_KEY', 'must be given with CUSTOS_DATABASE_URL (64 hex digits)')
  return { database_url, keyring_url, pool, wait_seconds }
}

function databaseUrl(
  env: Environment,
  name: 'CUSTOS_DATABASE_URL' | 'CUSTOS_KEYRING_URL',
): string | null {
  const given = env[name]
  if (given === undefined) return null
  const protocol = URL.parse(given)?.protocol
  if (protocol === 'postgres:' || protocol === 'postgresql:') return given
  throw wrong(name, 'must be a URL that begins with postgres:// or postgresql://')
}

function operatorKey(env: Environment): string | null {
  const given = env.CUSTOS_OPERATOR_KEY
  if (given === undefined) return null
  if (given.length < 24)
    throw wrong(
      'CUSTOS_OPERATOR_KEY',
      'must have 24 characters or more; make one with: openssl rand -hex 24',
    )
  return given
}

function masterKey(env: Environment): string | null {
  const given = env.CUSTOS_MASTER_KEY
  if (given === undefined) return null
  if (!/^[0-9a-fA-F]{64}$/.test(given)) throw wrong('CUSTOS_MASTER_KEY', 'must be 64 hex digits')
  return given
}

function origin(env: Environment): string | null {
  const given = env.CUSTOS_ORIGIN
  if (given === undefined) return null
  // It is the key name of a signed note: no spaces, no plus sign (C2SP signed-note).
  if (!/^[!-*,-~]{1,200}$/.test(given))
    throw wrong('CUSTOS_ORIGIN', 'must be printable ASCII without spaces or "+"')
  return given
}

function logLevel(env: Environment): LogLevel {
  const given = env.CUSTOS_LOG_LEVEL ?? 'info'
  if (!LOG_LEVELS.includes(given))
    throw wrong('CUSTOS_LOG_LEVEL', `must be one of ${LOG_LEVELS.join(', ')}`)
  // Checked against the list above.
  return given as LogLevel
}

const list = (text: string | undefined): string[] =>
  (text ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
