// The request rate of plans: how many requests a tenant may make in any minute.

import type { Principal } from '../../../platform/kernel/call.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { limitsAt } from '../../../platform/kernel/plan-limits.ts'
import { type LimitOf, rateLimits } from '../../../platform/rates/rate-limits.ts'
import { Refusal } from '../../../platform/refusal.ts'

const WINDOW_S = 60
const LIMIT = 'requests'

/**
 * Operations that are counted and never refused: what protects a person, proves something or makes
 * a credential safe does not wait for the next minute.
 */
const NEVER_REFUSED: readonly RegExp[] = [
  /^(erasure|subjects|retention|offboarding|gcrumbs|billing)\./,
  /\.(verify\w*|integrity|proof|block|revoke|rotate|rotate_key|rotate_secret|cancel)$/,
  /\.(export|download\w*|usage|current_usage)$/,
  /^(jobs\.get|decisions\.(scrub|redact)|memory\.(delete|delete_store|audit))$/,
  /^(webhooks\.(update|delete)|approvals\.reject)$/,
]

const isNeverRefused = (operation: string): boolean =>
  NEVER_REFUSED.some((pattern) => pattern.test(operation))

/** Headers of the answer: fields of draft-ietf-httpapi-ratelimit-headers. */
type RateHeaders = Readonly<Record<string, string>>

/**
 * Counts a request of a tenant whose plan limits its rate, before its body is read. Refuses
 * `rate_limited`; null: no limit.
 */
export async function takeRequest(
  kernel: Kernel,
  principal: Principal,
  operation: string,
): Promise<RateHeaders | null> {
  const { plan, tenant_id } = principal
  if (plan === undefined || kernel.settings.plans === null) return null
  const limits = limitsAt(kernel.settings.plans, plan, kernel.clock.now())
  const max_requests = limits.requests_per_minute
  if (max_requests === null) return null
  const limit: LimitOf = {
    tenant_id,
    limit_id: LIMIT,
    max_requests,
    window_us: WINDOW_S * 1_000_000,
  }
  const rates = rateLimits(kernel)
  const taken = await rates.take(limit)
  const policy = { 'ratelimit-policy': `"${LIMIT}";q=${max_requests};w=${WINDOW_S}` }
  if (taken) return { ...policy, ratelimit: `"${LIMIT}";r=${rates.left(limit)};t=${WINDOW_S}` }
  // Of no requests at all none becomes free; the limit may change.
  const retry_after_s = max_requests === 0 ? WINDOW_S : await rates.secondsUntilRoom(limit)
  const headers = { ...policy, ratelimit: `"${LIMIT}";r=0;t=${retry_after_s}` }
  if (isNeverRefused(operation)) return headers
  throw new Refusal('rate_limited', `The plan allows ${max_requests} requests a minute`, {
    members: { quota: LIMIT, limit: max_requests, window_s: WINDOW_S },
    retry_after_s,
    headers,
  })
}
