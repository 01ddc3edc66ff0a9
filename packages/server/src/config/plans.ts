// The settings of plans and billing: the file with the limits of each plan, the provider with its
// secrets, and the origins that its pages may return to.

import { readFileSync } from 'node:fs'
import {
  type BillingConfig,
  DEFAULT_PLANS,
  type PlanLimits,
  type PlanTable,
} from '../platform/kernel/plan-limits.ts'
import { type Environment, wrong } from './env.ts'

/** A plan missing from the file keeps its default; a limit missing from a plan means no limit. */
export function planTable(env: Environment): PlanTable | null {
  const path = env.CUSTOS_PLANS
  if (path === undefined) return null
  const table = new Map(DEFAULT_PLANS)
  for (const [plan, limits] of Object.entries(readPlans(path))) {
    if (!DEFAULT_PLANS.has(plan))
      throw wrong(
        'CUSTOS_PLANS',
        `has an unknown plan: use ${[...DEFAULT_PLANS.keys()].join(', ')}`,
      )
    table.set(plan, parsePlan(plan, limits))
  }
  return table
}

function readPlans(path: string): Readonly<Record<string, unknown>> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    throw wrong('CUSTOS_PLANS', 'must name a file that can be read')
  }
  try {
    return record(JSON.parse(text), 'must be a file with a JSON object')
  } catch (error) {
    if (error instanceof SyntaxError) throw wrong('CUSTOS_PLANS', 'must be a file with JSON')
    throw error
  }
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
