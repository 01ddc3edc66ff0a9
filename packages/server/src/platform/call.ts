// One call of one operation: who calls, what it may refuse, and its ways to the data.

import type {
  CredentialClass,
  InputOf,
  OperationSpec,
  RefusalOf,
  ReplyOf,
  Scope,
} from '@custos/contract'
import type { TenantDb, Tx } from './db/tenant-db.ts'
import type { Kernel } from './kernel.ts'
import type { RefusalExtras } from './refusal.ts'

/** The authenticated caller; tenant identity comes from here and nowhere else. */
export interface Principal {
  readonly kind: 'local' | 'tenant' | 'operator' | 'anonymous'
  /** Empty for operators and anonymous callers. */
  readonly tenant_id: string
  /** `local`, `bootstrap` or the id of a stored key: an id we minted, safe to log. */
  readonly key_id: string
  readonly class: CredentialClass | 'local'
  readonly scopes: readonly Scope[]
  /** Empty: every store of the tenant. */
  readonly allowed_stores: readonly string[]
}

/** What a first run leaves for a retry: enough to render the same answer from rows again. */
export type ReplayIds = Readonly<Record<string, unknown>>

export interface Once<T> {
  /** The unit of work; `ids` are stored with the idempotency key. */
  run(tx: Tx): Promise<{ reply: T; ids: ReplayIds }>
  /** Renders the answer of an earlier run from its rows. */
  replay(tx: Tx, ids: ReplayIds): Promise<T>
}

export interface Call<S extends OperationSpec = OperationSpec> {
  readonly operation: S
  readonly request_id: string
  readonly principal: Principal
  /** The tenant acted on: the credential's, or the one an operator names in the path. */
  readonly tenant_id: string
  readonly kernel: Kernel
  /** Ends the operation with a declared code; inside a unit of work, rolls it back. */
  refuse(code: RefusalOf<S>, message?: string, extras?: RefusalExtras): never
  read<T>(look: (db: TenantDb) => Promise<T>): Promise<T>
  transact<T>(unit: (tx: Tx) => Promise<T>): Promise<T>
  /**
   * A unit of work that honours Idempotency-Key: the first run commits its record together with
   * the rows; the same key with the same body replays; with another body it is refused (409).
   */
  once<T>(unit: Once<T>): Promise<T>
}

export type Handler<S extends OperationSpec> = (
  call: Call<S>,
  input: InputOf<S>,
) => Promise<ReplyOf<S>>

/** A slice that forgets an operation of its contract does not compile. */
export type HandlersOf<C extends Readonly<Record<string, OperationSpec>>> = {
  readonly [K in keyof C]: Handler<C[K]>
}
