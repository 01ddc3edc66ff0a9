// What tenants may use: the limits of each plan, overrides for one tenant, and billing.

import { limits as bounds } from '@custos/contract'

/** Each limit is null if there is no maximum. */
export interface PlanLimits {
  /** Memories stored, replaced versions included. */
  readonly memories: number | null
  readonly stores: number | null
  readonly requests_per_minute: number | null
  /**
   * Per billing period: the number that the price includes, and the number above which more are
   * refused.
   */
  readonly governed_decisions: {
    readonly included: number | null
    readonly ceiling: number | null
  }
  /** Tokens per billing period of models that Custos calls. */
  readonly model_tokens: number | null
  /** Concurrent agent runs. */
  readonly runs: number | null
  readonly webhooks: number | null
  /** Concurrent event streams. */
  readonly streams: number | null
}

/** The limits of each plan by its name. */
export type PlanTable = ReadonlyMap<string, PlanLimits>

/** Limits where no plans are sold: only those that protect the process. */
const UNLIMITED: PlanLimits = {
  memories: null,
  stores: null,
  requests_per_minute: null,
  governed_decisions: { included: null, ceiling: null },
  model_tokens: null,
  runs: 16,
  webhooks: bounds.webhooks_per_tenant,
  streams: bounds.open_streams.per_tenant,
}

const STARTER: PlanLimits = {
  memories: 100_000,
  stores: 3,
  requests_per_minute: 60,
  governed_decisions: { included: 10_000, ceiling: 50_000 },
  model_tokens: 1_000_000,
  runs: 2,
  webhooks: 3,
  streams: 4,
}

const PRO: PlanLimits = {
  memories: 1_000_000,
  stores: 50,
  requests_per_minute: 600,
  governed_decisions: { included: 100_000, ceiling: null },
  model_tokens: 50_000_000,
  runs: 16,
  webhooks: 50,
  streams: 64,
}

const ENTERPRISE: PlanLimits = { ...UNLIMITED, runs: 64, webhooks: 200, streams: 256 }

export const DEFAULT_PLANS: PlanTable = new Map([
  ['starter', STARTER],
  ['pro', PRO],
  ['enterprise', ENTERPRISE],
])

/** What the operator has changed for one tenant, until `until_us` (`null` if for good). */
interface PlanOverrides {
  readonly limits: Partial<Omit<PlanLimits, 'governed_decisions'>> & {
    readonly governed_decisions?: Partial<PlanLimits['governed_decisions']>
  }
  readonly until_us: number | null
}

/**
 * The limits of a tenant at a time.
 * @param table null if no plans are sold, so that no plan has limits
 * @param tenant null for the tenant of local mode
 */
export function limitsAt(
  table: PlanTable | null,
  tenant: { readonly plan: string; readonly overrides: string | null } | null,
  now_us: number,
): PlanLimits {
  if (tenant === null) return UNLIMITED
  const { plan, overrides } = tenant
  // The tenant of local mode, and plans of later versions, have no limits.
  const limits = table?.get(plan) ?? UNLIMITED
  if (overrides === null) return limits
  // The text was written by `tenants.update`.
  const exception: PlanOverrides = JSON.parse(overrides)
  const ended = exception.until_us !== null && exception.until_us <= now_us
  if (ended) return limits
  const { governed_decisions, ...others } = exception.limits
  const decisions = { ...limits.governed_decisions, ...governed_decisions }
  return { ...limits, ...others, governed_decisions: decisions }
}

/** How the operator bills tenants. */
export interface BillingConfig {
  readonly provider: 'stripe' | 'loopback'
  /** Key of the provider's API; null for the loopback provider. */
  readonly secret_key: string | null
  /** Secrets of which any may sign events; if there are none, events are refused. */
  readonly webhook_secrets: readonly string[]
}
