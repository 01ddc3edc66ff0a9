// A short interface to the memories of one namespace: remember, recall, correct, forget.

import { Pending } from './call-result.ts'
import { CustosError } from './errors.ts'
import type { CallOptions } from './exchange.ts'
import type { Groups } from './generated/groups.ts'
import type * as types from './generated/types.ts'
import type { Lines } from './reply-lines.ts'

export interface MemoryOfOptions {
  readonly store: string
  /** Namespace within the store; default: the root. */
  readonly namespace?: string | undefined
}

type Time = string | Date

export interface RememberOptions {
  readonly metadata?: Record<string, unknown> | undefined
  readonly validFrom?: Time | undefined
  readonly expiresAt?: Time | undefined
  /** The session that the messages belong to; only for messages. */
  readonly session?: string | undefined
  /** With `extract`, facts that a model finds in the messages are stored too; only for messages. */
  readonly mode?: types.MemoryIngestBody['mode']
  /** The model that `extract` uses; only for messages. */
  readonly model?: string | undefined
}

export interface RecallOptions {
  readonly budgetTokens?: number | undefined
  readonly topK?: number | undefined
  readonly asOf?: Time | undefined
}

export class MemoryOf {
  readonly #client: Groups
  readonly #store: string
  readonly #namespace: string | undefined

  constructor(client: Groups, options: MemoryOfOptions) {
    // A program without types may pass nothing.
    const { store, namespace } = options ?? {}
    if (!store) throw new CustosError("memoryOf needs a store, such as { store: 'default' }")
    this.#client = client
    this.#store = store
    this.#namespace = namespace
  }

  remember(
    content: string,
    how?: Omit<RememberOptions, 'session' | 'mode' | 'model'>,
    options?: CallOptions,
  ): Pending<types.MemoryWriteReply>
  /** Stores each turn of a conversation verbatim as a memory, all of them or none. */
  remember(
    messages: types.MemoryIngestBody['messages'],
    how?: Pick<RememberOptions, 'metadata' | 'session' | 'mode' | 'model'>,
    options?: CallOptions,
  ): Pending<types.MemoryIngestReply>
  remember(
    what: string | types.MemoryIngestBody['messages'],
    how: RememberOptions = {},
    options?: CallOptions,
  ): Pending<types.MemoryWriteReply> | Pending<types.MemoryIngestReply> {
    const { metadata, validFrom, expiresAt, session, mode, model } = how
    if (typeof what !== 'string') {
      const body = {
        messages: what,
        ...this.#place(),
        ...(session === undefined ? {} : { session_id: session }),
        ...(mode === undefined ? {} : { mode }),
        ...(model === undefined ? {} : { model_id: model }),
        ...(metadata ? { metadata } : {}),
      }
      return this.#client.memory.ingest(this.#store, body, options)
    }
    const body = {
      content: what,
      ...this.#place(),
      ...(metadata ? { metadata } : {}),
      ...(validFrom ? { valid_from: timeText(validFrom) } : {}),
      ...(expiresAt ? { expires_at: timeText(expiresAt) } : {}),
    }
    return this.#client.memory.write(this.#store, body, options)
  }

  recall(
    query: string,
    { budgetTokens, topK, asOf }: RecallOptions = {},
    options?: CallOptions,
  ): Pending<types.MemoryRetrieveReply> {
    const body = {
      query,
      ...this.#place(),
      ...(budgetTokens === undefined ? {} : { budget_tokens: budgetTokens }),
      ...(topK === undefined ? {} : { top_k: topK }),
      ...(asOf ? { as_of: timeText(asOf) } : {}),
    }
    return this.#client.memory.retrieve(this.#store, body, options)
  }

  /** Replaces a memory and keeps the old version in its history. */
  correct(
    ref: number,
    content: string,
    options?: CallOptions,
  ): Pending<types.MemorySupersedeReply> {
    const body = { old_ref: ref, content, ...this.#place() }
    return this.#client.memory.supersede(this.#store, body, options)
  }

  /** A page of the versions of a memory, oldest first. An erased version is a marker. */
  history(
    ref: number,
    query?: types.MemoryHistoryQuery,
    options?: CallOptions,
  ): Pending<types.MemoryHistoryReply> {
    const answer = this.#client.memory.history(this.#store, ref, query, options).withResponse()
    return new Pending(
      answer.then((found) => {
        for (const { memory } of found.data.versions) if (memory) this.#require(memory, ref)
        return found
      }),
    )
  }

  /**
   * Erases a memory from every copy and certifies the erasure. If this object has a namespace, it
   * first reads the memory, which needs `memory:read`, and throws if it is in another namespace.
   * @param reason the legal basis; it stays in the certificate, so it must name no person
   */
  forget(
    ref: number,
    { reason }: { readonly reason?: string | undefined } = {},
    options?: CallOptions,
  ): Pending<types.MemoryDeleteReply> {
    const body = { ref, ...(reason === undefined ? {} : { legal_basis: reason }) }
    const erase = () => this.#client.memory.delete(this.#store, body, options)
    if (this.#namespace === undefined) return erase()
    return new Pending(this.#requireOwn(ref, options).then(() => erase().withResponse()))
  }

  /** Exports the store as NDJSON lines. A key limited to a namespace gets that namespace only. */
  export(options?: CallOptions): Lines<types.MemoryExportReply> {
    return this.#client.memory.export(this.#store, options)
  }

  async #requireOwn(ref: number, options: CallOptions | undefined): Promise<void> {
    const read = { ...options, idempotencyKey: undefined }
    this.#require(await this.#client.memory.memory(this.#store, ref, read), ref)
  }

  /** Throws CustosError if the memory is in another namespace. */
  #require({ tenant_id }: types.Memory, ref: number): void {
    const namespace = this.#namespace
    if (namespace === undefined || tenant_id === namespace) return
    if (tenant_id.slice(tenant_id.indexOf('/') + 1) !== namespace || !tenant_id.includes('/'))
      throw new CustosError(`there is no memory ${ref} in the namespace ${namespace}`)
  }

  #place(): { namespace?: string } {
    return this.#namespace === undefined ? {} : { namespace: this.#namespace }
  }
}

const timeText = (time: Time): string => (typeof time === 'string' ? time : time.toISOString())
