// How many requests came: exact in one process, on a shared database by small quotas.

import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { OwnRates } from './own-rates.ts'
import type { Window } from './rate-window.ts'
import { SharedRates } from './shared-rates.ts'

export interface LimitOf extends Window {
  readonly tenant_id: string
  readonly policy_id: string
}

export interface Rates {
  /** Counts a request, unless it is one too many: then false. A promise where it must ask. */
  take(limit: LimitOf): boolean | Promise<boolean>
  /** What `take` would answer; counts nothing. */
  peek(limit: LimitOf): boolean | Promise<boolean>
  /** For a policy that is gone. */
  forget(of: { tenant_id: string; policy_id: string }): void
}

export const rateLimits = perKernel(
  (kernel: Kernel): Rates => (kernel.db.shared ? new SharedRates(kernel) : new OwnRates(kernel)),
)
