// Settings that name a file: the limits of each plan (CUSTOS_PLANS), who is offered each checkpoint
// and how many have to cosign it (CUSTOS_WITNESSES), who dates it (CUSTOS_TIMESTAMP_URL). And those
// of payment: the provider and its secrets, and where its pages may lead back to.

import type { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parseWitnessKey } from '@custos/proof'
import type { TimestampAuthority, WitnessPolicy } from '../platform/kernel/kernel.ts'
import {
  type BillingConfig,
  DEFAULT_PLANS,
  type PlanLimits,
  type PlanTable,
} from '../platform/kernel/plan-limits.ts'
import { readCertificates } from '../platform/timestamps/timestamp-token.ts'
import { type Environment, type SettingName, wrong } from './env.ts'

/** A plan missing from the file keeps its default; a limit missing from a plan means no limit. */
export function planTable(env: Environment): PlanTable | null {
  const path = env.CUSTOS_PLANS
  if (path === undefined) return null
  const table = new Map(DEFAULT_PLANS)
  const plans = record(readJson('CUSTOS_PLANS', path), 'must be a file with a JSON object')
  for (const [plan, limits] of Object.entries(plans)) {
    if (!DEFAULT_PLANS.has(plan))
      throw wrong(
        'CUSTOS_PLANS',
        `has an unknown plan: use ${[...DEFAULT_PLANS.keys()].join(', ')}`,
      )
    table.set(plan, parsePlan(plan, limits))
  }
  return table
}

const COUNTS = [
  'memories',
  'stores',
  'requests_per_minute',
  'model_tokens',
  'runs',
  'webhooks',
  'streams',
] as const

function parsePlan(plan: string, given: unknown): PlanLimits {
  const limits = record(given, `must have an object for the plan ${plan}`)
  refuseOthers(limits, [...COUNTS, 'governed_decisions'], `the plan ${plan}`)
  const count = (name: (typeof COUNTS)[number]) => wholeNumber(limits[name], `${plan}.${name}`)
  const { governed_decisions = {} } = limits
  const where = `${plan}.governed_decisions`
  const decisions = record(governed_decisions ?? {}, `must have an object for ${where}`)
  refuseOthers(decisions, ['included', 'ceiling'], where)
  return {
    memories: count('memories'),
    stores: count('stores'),
    requests_per_minute: count('requests_per_minute'),
    governed_decisions: {
      included: wholeNumber(decisions['included'], `${where}.included`),
      ceiling: wholeNumber(decisions['ceiling'], `${where}.ceiling`),
    },
    model_tokens: count('model_tokens'),
    runs: count('runs'),
    webhooks: count('webhooks'),
    streams: count('streams'),
  }
}

function record(given: unknown, rule: string): Readonly<Record<string, unknown>> {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw wrong('CUSTOS_PLANS', rule)
  return { ...given }
}

function refuseOthers(given: object, names: readonly string[], where: string): void {
  const other = Object.keys(given).find((name) => !names.includes(name))
  if (other !== undefined)
    throw wrong('CUSTOS_PLANS', `has an unknown limit in ${where}: use ${names.join(', ')}`)
}

/** Returns null, which means no limit, if the value is absent or null. */
function wholeNumber(given: unknown, where: string): number | null {
  if (given === undefined || given === null) return null
  if (typeof given === 'number' && Number.isSafeInteger(given) && given >= 0) return given
  throw wrong('CUSTOS_PLANS', `must have a whole number, or null for no limit, as ${where}`)
}

export function billingConfig(env: Environment): BillingConfig | null {
  const provider = env.CUSTOS_BILLING
  const secrets = ['CUSTOS_BILLING_SECRET_KEY', 'CUSTOS_BILLING_WEBHOOK_SECRET'] as const
  if (provider === undefined) {
    const alone = secrets.find((name) => env[name] !== undefined)
    if (alone) throw wrong(alone, 'requires CUSTOS_BILLING')
    return null
  }
  if (provider !== 'stripe' && provider !== 'loopback')
    throw wrong('CUSTOS_BILLING', 'must be stripe or loopback')
  const secret_key = env.CUSTOS_BILLING_SECRET_KEY ?? null
  if (provider === 'stripe' && secret_key === null)
    throw wrong('CUSTOS_BILLING_SECRET_KEY', 'is required with CUSTOS_BILLING=stripe')
  if (secret_key !== null && !/^[!-~]{1,500}$/.test(secret_key))
    throw wrong('CUSTOS_BILLING_SECRET_KEY', 'must be printable characters without spaces')
  return { provider, secret_key, webhook_secrets: list(env.CUSTOS_BILLING_WEBHOOK_SECRET) }
}

export function origins(
  env: Environment,
  name: 'CUSTOS_CONSOLE_ORIGINS' | 'CUSTOS_CORS_ORIGINS',
): string[] {
  return list(env[name]).map((given) => {
    const url = URL.parse(given)
    const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
    if (url === null || !isWeb || given.includes('*') || url.origin !== given.replace(/\/$/, ''))
      throw wrong(name, 'must be origins such as https://console.example')
    return url.origin
  })
}

const list = (given: string | undefined): string[] =>
  (given ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')

const WITNESSES_MAX = 16

const refuse = (rule: string) => wrong('CUSTOS_WITNESSES', rule)

/** Returns null if the setting is absent. Throws ConfigError for an unusable file. */
export function witnessPolicy(env: Environment): WitnessPolicy | null {
  const path = env.CUSTOS_WITNESSES
  if (path === undefined) return null
  const read = readJson('CUSTOS_WITNESSES', path)
  const file = members(read, ['required', 'witnesses'], 'the file')
  const { required, witnesses: listed } = file
  if (!Array.isArray(listed) || listed.length === 0 || listed.length > WITNESSES_MAX)
    throw refuse(`must have a list "witnesses" of 1 to ${WITNESSES_MAX}`)
  const witnesses = listed.map(parseWitness)
  if (new Set(witnesses.map(({ key }) => key)).size < witnesses.length)
    throw refuse('must have each key once')
  const count = witnesses.length
  if (typeof required !== 'number' || !Number.isInteger(required))
    throw refuse('must say in "required" how many witnesses have to cosign, a whole number')
  if (required < 1 || required > count)
    throw refuse(`must have a "required" from 1 to ${count}, the number of its witnesses`)
  return { required, witnesses }
}

function readJson(name: SettingName, path: string): unknown {
  const text = readText(name, path)
  try {
    return JSON.parse(text)
  } catch {
    throw wrong(name, 'must be a file with JSON')
  }
}

function readText(name: SettingName, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    throw wrong(name, 'must name a file that can be read')
  }
}

function parseWitness(given: unknown, index: number): WitnessPolicy['witnesses'][number] {
  const where = `witness ${index + 1}`
  const { key, url } = members(given, ['key', 'url'], where)
  if (typeof key !== 'string' || !isWitnessKey(key))
    throw refuse(`must have a vkey of signature type 4 as the key of ${where}`)
  const plain = plainUrl(url)
  if (plain !== null) return { key, url: plain }
  throw refuse(`must have an http or https URL without credentials or query for ${where}`)
}

/** Without slashes at its end; null: no http or https URL, or one with credentials or a query. */
export function plainUrl(given: unknown): string | null {
  const url = typeof given === 'string' ? URL.parse(given) : null
  const plain = url?.href === `${url?.origin}${url?.pathname}` && /^https?:$/.test(url.protocol)
  return url && plain ? url.href.replace(/\/+$/, '') : null
}

function isWitnessKey(text: string): boolean {
  try {
    parseWitnessKey(text)
    return true
  } catch {
    return false
  }
}

function members(
  given: unknown,
  names: readonly string[],
  where: string,
): Readonly<Record<string, unknown>> {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw refuse(`must have an object for ${where}`)
  const other = Object.keys(given).find((name) => !names.includes(name))
  if (other !== undefined)
    throw refuse(`has an unknown member in ${where}: use ${names.join(', ')}`)
  return { ...given }
}

/**
 * Returns null if neither setting is present. Certificates alone allow checks of stored timestamps.
 * Throws ConfigError for unusable settings.
 */
export function timestampAuthority(env: Environment): TimestampAuthority | null {
  const { CUSTOS_TIMESTAMP_URL: given, CUSTOS_TIMESTAMP_CERTIFICATES: path } = env
  if (given === undefined) {
    return path === undefined ? null : { url: null, certificates: certificates(path) }
  }
  const url = URL.parse(given)
  const plain =
    url?.href === `${url?.origin}${url?.pathname}${url?.search}` && /^https?:$/.test(url.protocol)
  if (!url || !plain)
    throw wrong('CUSTOS_TIMESTAMP_URL', 'must be an http or https URL without credentials')
  if (path === undefined)
    throw wrong('CUSTOS_TIMESTAMP_CERTIFICATES', 'is required with CUSTOS_TIMESTAMP_URL')
  return { url: url.href, certificates: certificates(path) }
}

function certificates(path: string): readonly X509Certificate[] {
  const read = readCertificates(readText('CUSTOS_TIMESTAMP_CERTIFICATES', path))
  if (read.length > 0) return read
  throw wrong('CUSTOS_TIMESTAMP_CERTIFICATES', 'must be a PEM file with certificates')
}
