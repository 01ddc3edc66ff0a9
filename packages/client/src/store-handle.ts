// A handle of one store: the operations on its memories, without the `store_id` argument.

import type { Pending } from './call-result.ts'
import type { CallOptions } from './exchange.ts'
import type { Groups } from './generated/groups.ts'
import type * as types from './generated/types.ts'
import type { LineSource, Lines } from './reply-lines.ts'

export class StoreHandle {
  readonly id: string
  readonly #client: Groups

  constructor(client: Groups, id: string) {
    this.#client = client
    this.id = id
  }

  write(body: types.MemoryWriteBody, options?: CallOptions): Pending<types.MemoryWriteReply> {
    return this.#client.memory.write(this.id, body, options)
  }

  /** Writes up to 1,000 memories, all or none. */
  writeMany(
    items: types.MemoryWriteBatchBody['items'],
    options?: CallOptions,
  ): Pending<types.MemoryWriteBatchReply> {
    return this.#client.memory.writeBatch(this.id, { items }, options)
  }

  retrieve(
    body: types.MemoryRetrieveBody,
    options?: CallOptions,
  ): Pending<types.MemoryRetrieveReply> {
    return this.#client.memory.retrieve(this.id, body, options)
  }

  supersede(
    body: types.MemorySupersedeBody,
    options?: CallOptions,
  ): Pending<types.MemorySupersedeReply> {
    return this.#client.memory.supersede(this.id, body, options)
  }

  get(ref: number, options?: CallOptions): Pending<types.MemoryMemoryReply> {
    return this.#client.memory.memory(this.id, ref, options)
  }

  /** Erases a memory from every copy and certifies it. */
  erase(
    ref: number,
    reasons: Omit<types.MemoryDeleteBody, 'ref'> = {},
    options?: CallOptions,
  ): Pending<types.MemoryDeleteReply> {
    return this.#client.memory.delete(this.id, { ref, ...reasons }, options)
  }

  audit(
    query?: types.MemoryAuditQuery,
    options?: CallOptions,
  ): AsyncGenerator<types.Memory, void, undefined> {
    return this.#client.memory.audit.all(this.id, query, options)
  }

  export(options?: CallOptions): Lines<types.MemoryExportReply> {
    return this.#client.memory.export(this.id, options)
  }

  import(
    lines: LineSource<types.MemoryImportBody>,
    query?: types.MemoryImportQuery,
    options?: CallOptions,
  ): Pending<types.MemoryImportReply> {
    return this.#client.memory.import(this.id, lines, query, options)
  }

  stats(options?: CallOptions): Pending<types.MemoryStatsReply> {
    return this.#client.memory.stats(this.id, options)
  }
}
