// The Call of one request: the handler's only way to the data and to a refusal.

import type { OperationSpec, RefusalCode } from '@custos/contract'
import type { Call, Once, Principal } from '../platform/call.ts'
import type { TenantDb, Tx } from '../platform/db/tenant-db.ts'
import { runOnce } from '../platform/idempotency.ts'
import type { Kernel } from '../platform/kernel.ts'
import { Refusal, type RefusalExtras } from '../platform/refusal.ts'

/** An Idempotency-Key and what must not differ between its uses. */
export interface Keyed {
  readonly key: string
  readonly content: Uint8Array
}

export interface CallFacts {
  readonly kernel: Kernel
  readonly operation: OperationSpec
  readonly request_id: string
  readonly principal: Principal
  readonly tenant_id: string
  readonly keyed: Keyed | null
}

export class HttpCall implements Call {
  readonly kernel: Kernel
  readonly operation: OperationSpec
  readonly request_id: string
  readonly principal: Principal
  readonly tenant_id: string
  readonly #keyed: Keyed | null
  #wrote = false
  #replayed = false

  constructor(facts: CallFacts) {
    this.kernel = facts.kernel
    this.operation = facts.operation
    this.request_id = facts.request_id
    this.principal = facts.principal
    this.tenant_id = facts.tenant_id
    this.#keyed = facts.keyed
  }

  /** Whether a unit of work was run; the unit counts its usage itself. */
  get wrote(): boolean {
    return this.#wrote
  }

  /** Whether the reply is that of an earlier request with the same key. */
  get replayed(): boolean {
    return this.#replayed
  }

  refuse(code: RefusalCode, message?: string, extras?: RefusalExtras): never {
    throw new Refusal(code, message, extras)
  }

  read<T>(look: (db: TenantDb) => Promise<T>): Promise<T> {
    return this.kernel.db.read(this.tenant_id, look)
  }

  transact<T>(unit: (tx: Tx) => Promise<T>): Promise<T> {
    this.#wrote = true
    return this.kernel.db.transact(this.tenant_id, unit)
  }

  async once<T>(unit: Once<T>): Promise<T> {
    if (this.#keyed === null) return this.transact(async (tx) => (await unit.run(tx)).reply)
    this.#wrote = true
    const { kernel, tenant_id, operation } = this
    const request = {
      kernel,
      tenant_id,
      operation: operation.id,
      status: operation.status,
      ...this.#keyed,
    }
    const { reply, replayed } = await runOnce(request, unit)
    this.#replayed = replayed
    return reply
  }
}
