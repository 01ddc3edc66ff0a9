// Temporary credentials of this process for HTTP requests that the service sends to itself. They
// are stored nowhere, so they end with the process at the latest.

import type { Scope } from '@custos/contract'
import { findPolicySet } from '../../platform/db/control.sql.ts'
import type { Principal } from '../../platform/kernel/call.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { hashApiKey, mintApiKey } from './api-key.ts'

const KEY_ID_BYTES = 12

const momentary = perKernel(() => new Map<string, Principal>())

/** Runs `act` with a key that becomes invalid once `act` has ended. */
export async function withMomentaryKey<T>(
  kernel: Kernel,
  {
    tenant_id,
    scopes,
    expires_us,
  }: { readonly tenant_id: string; readonly scopes: readonly Scope[]; readonly expires_us: number },
  act: (api_key: string) => Promise<T>,
): Promise<T> {
  const api_key = mintApiKey(kernel.ids, 'service')
  const held = hashApiKey(api_key).toString('latin1')
  const principal: Principal = {
    kind: 'tenant',
    tenant_id,
    key_id: kernel.ids.hex(KEY_ID_BYTES),
    class: 'service',
    scopes,
    allowed_stores: [],
    max_trust_tier: null,
    expires_us,
  }
  momentary(kernel).set(held, principal)
  try {
    return await act(api_key)
  } finally {
    momentary(kernel).delete(held)
  }
}

/** Returns `null` if the digest is of no such key, or of one that has ended. */
export function findMomentary(
  kernel: Kernel,
  digest: Buffer,
): Principal | null | Promise<Principal> {
  const found = momentary(kernel).get(digest.toString('latin1'))
  if (!found || kernel.clock.now() >= (found.expires_us ?? 0)) return null
  return kernel.db.shared ? withPolicySet(kernel, found) : found
}

// Another process may change the policies at any time, so the current number is read.
async function withPolicySet(kernel: Kernel, principal: Principal): Promise<Principal> {
  const policy_set = await kernel.db.read(principal.tenant_id, findPolicySet)
  return { ...principal, policy_set }
}
