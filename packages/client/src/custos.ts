// The client: every operation as a method, and methods that combine several operations.

import type { Pending } from './call-result.ts'
import type { ClientOptions, Inspect } from './client.ts'
import type { CallOptions } from './exchange.ts'
import { Groups } from './generated/groups.ts'
import type { KeysCreateTokenBody, KeysCreateTokenReply } from './generated/types.ts'
import { MemoryOf, type MemoryOfOptions } from './memory-of.ts'
import { StoreHandle } from './store-handle.ts'
import type { PinnedKeys, WitnessResult, WitnessStorage } from './verify.ts'

/** How answers are verified before they are returned. */
export interface VerifyOptions {
  /** Keys obtained from a source other than the service, or a function that returns them. */
  readonly keys: PinnedKeys | (() => PinnedKeys | Promise<PinnedKeys>)
  /** Which answers are verified; default: `certificates`. */
  readonly on?: 'certificates' | 'all' | undefined
}

export interface CustosOptions extends ClientOptions {
  readonly verify?: VerifyOptions | undefined
}

/** The store, namespace, scopes and lifetime of a token. */
export interface TokenRequest {
  readonly store: string
  readonly namespace: string
  readonly scopes: KeysCreateTokenBody['scopes']
  /** Lifetime in seconds; default: the one set by the service. */
  readonly ttl?: number | undefined
}

/** A client of one Custos service. */
export class Custos extends Groups {
  readonly #verify: VerifyOptions | undefined

  constructor(options: CustosOptions) {
    super(options)
    this.#verify = options.verify
    this.approvals.wait = async (id, given) =>
      (await import('./waits.ts')).waitForApproval(this, id, given)
    this.jobs.wait = async (id, given) => (await import('./waits.ts')).waitForJob(this, id, given)
    const { events, run, workflow } = this.streams
    this.streams.events = ({ signal, ...query } = {}, given = {}) =>
      events(query, signal ? { ...given, signal } : given)
    this.streams.run = (run_id, { signal, ...query } = {}, given = {}) =>
      run(run_id, query, signal ? { ...given, signal } : given)
    this.streams.workflow = (workflow_id, { signal, ...query } = {}, given = {}) =>
      workflow(workflow_id, query, signal ? { ...given, signal } : given)
  }

  override get inspect(): Inspect | undefined {
    const verify = this.#verify
    if (!verify) return undefined
    return async (data, { operation }) => {
      // The `keys` function may call this operation itself, so its answer is not verified.
      if (operation === 'gcrumbs.public_key') return
      const { inspectAnswer } = await import('./verify.ts')
      const keys = typeof verify.keys === 'function' ? await verify.keys() : verify.keys
      await inspectAnswer(data, operation, keys, verify.on ?? 'certificates')
    }
  }

  /** A handle with the operations of one store. It sends no request. */
  store(storeId: string): StoreHandle {
    return new StoreHandle(this, storeId)
  }

  /** A short interface to the memories of one namespace of a store. It sends no request. */
  memoryOf(options: MemoryOfOptions): MemoryOf {
    return new MemoryOf(this, options)
  }

  /** Creates a short-lived token for the memories of one namespace. Use it like an API key. */
  tokenFor(
    { store, namespace, scopes, ttl }: TokenRequest,
    options?: CallOptions,
  ): Pending<KeysCreateTokenReply> {
    const lasts = ttl === undefined ? {} : { ttl_s: ttl }
    return this.keys.createToken({ store_id: store, namespace, scopes, ...lasts }, options)
  }

  /**
   * Returns the signing keys of the service as they were at the first use. Keys that the service
   * adds later are not trusted until the stored list is removed.
   */
  async trustOnFirstUse(storage: WitnessStorage): Promise<PinnedKeys> {
    const { trustOnFirstUse } = await import('./witness.ts')
    return trustOnFirstUse(this, storage)
  }

  /**
   * Compares the newest checkpoint with the one in `storage`, then stores the newest one. Throws
   * ProofError if the part of the audit log that the stored checkpoint covers was changed.
   */
  async witness(storage: WitnessStorage, keys?: PinnedKeys): Promise<WitnessResult> {
    const { witness } = await import('./witness.ts')
    return witness(this, storage, keys)
  }
}
