// A list of JSON values in one namespace of keyed items, in the order in which they were added.

import type { Custos } from '@custos/client'
import { newId } from './ambient.ts'

export type Json = Record<string, unknown>
type ItemOperation = Parameters<Custos['items']['batch']>[1]['operations'][number]

interface ListPlace {
  readonly client: Custos
  readonly store: string
  readonly namespace: string[]
}

const PAGE = 1_000
/** Operations of one request. */
const BATCH_MAX = 100

export class ItemList {
  readonly #place: ListPlace

  constructor(place: ListPlace) {
    this.#place = place
  }

  /** @param filter what top-level members of the values equal; default: all values */
  async read(filter?: Json): Promise<{ key: string; value: Json }[]> {
    const { client, store, namespace } = this.#place
    const found: { key: string; value: Json }[] = []
    for (let offset = 0; ; offset += PAGE) {
      const page = { namespace_prefix: namespace, limit: PAGE, offset, ...(filter && { filter }) }
      const { items } = await client.items.search(store, page)
      for (const { key, value } of items) found.push({ key, value })
      if (items.length < PAGE) return found
    }
  }

  /** Searches of the memory rank the values last. Up to 100 are added whole or not at all. */
  async add(values: readonly Json[], keyOf: (i: number) => string = newId): Promise<void> {
    await this.change(values.map((value, i) => this.put(keyOf(i), value)))
  }

  put(key: string, value: Json): ItemOperation {
    // As it arrives: without members that are undefined.
    const plain: Json = JSON.parse(JSON.stringify(value))
    return { op: 'put', namespace: this.#place.namespace, key, value: plain, index: false }
  }

  delete(key: string): ItemOperation {
    return { op: 'delete', namespace: this.#place.namespace, key }
  }

  /** Erases every value; returns the ids of the certificates. */
  async clear(): Promise<string[]> {
    return this.change((await this.read()).map(({ key }) => this.delete(key)))
  }

  /** Up to 100 operations happen whole or not at all; returns the ids of their certificates. */
  async change(operations: readonly ItemOperation[]): Promise<string[]> {
    const { client, store } = this.#place
    const certificates: string[] = []
    for (let at = 0; at < operations.length; at += BATCH_MAX) {
      const body = { operations: operations.slice(at, at + BATCH_MAX) }
      const { results } = await client.items.batch(store, body)
      for (const result of results)
        if ('certificate_ids' in result) certificates.push(...result.certificate_ids)
    }
    return certificates
  }
}
