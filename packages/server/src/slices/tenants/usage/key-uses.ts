// When keys were last used: collected in memory, and recorded twice a minute.

import { updateKeyUse } from '../../../platform/db/control.sql.ts'
import type { Principal } from '../../../platform/kernel/call.ts'
import { type Kernel, perKernel } from '../../../platform/kernel/kernel.ts'

interface KeyUse {
  readonly tenant_id: string
  readonly used_us: number
}

/** A request costs one entry of a map and no write. A killed process loses the last half minute. */
class KeyUses {
  readonly #kernel: Kernel
  #uses = new Map<string, KeyUse>()

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  add({ kind, class: credentialClass, key_id, tenant_id }: Principal): void {
    // Tokens and the keys of operators are not listed.
    if (kind !== 'tenant' || credentialClass === 'token') return
    this.#uses.set(key_id, { tenant_id, used_us: this.#kernel.clock.now() })
  }

  /** Records the uses, one unit a tenant; what cannot be recorded is kept for later. */
  async flush(): Promise<void> {
    const taken = this.#uses
    this.#uses = new Map()
    const byTenant = Map.groupBy(taken, ([, { tenant_id }]) => tenant_id)
    for (const [tenant_id, uses] of byTenant) {
      try {
        await this.#kernel.db.transact(tenant_id, async (tx) => {
          for (const [key_id, { used_us }] of uses) await updateKeyUse(tx, { key_id, used_us })
        })
      } catch {
        this.#kernel.logger.warn('key_uses.flush_failed', { tenant_id })
        for (const [key_id, use] of uses) if (!this.#uses.has(key_id)) this.#uses.set(key_id, use)
      }
    }
  }
}

const keyUses = perKernel((kernel) => new KeyUses(kernel))

/** Notes that a credential was presented. */
export const noteKeyUse = (kernel: Kernel, principal: Principal): void =>
  keyUses(kernel).add(principal)

/** Records when keys were last used; called by a timer and when the process stops. */
export const flushKeyUses = (kernel: Kernel): Promise<void> => keyUses(kernel).flush()
