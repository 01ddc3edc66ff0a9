// A report is about a tenant as a whole: not for keys limited to some of its stores.

import type { Principal } from '../../platform/kernel/call.ts'
import { Refusal } from '../../platform/refusal.ts'

export function refuseLimited({ principal }: { readonly principal: Principal }): void {
  if (principal.allowed_stores.length > 0)
    throw new Refusal('scope_missing', 'a report is about all stores; the key is limited to some')
}
