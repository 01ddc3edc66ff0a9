// A list of JSON values in one namespace of keyed items, in insertion order.

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
/** The most operations in one request. */
const BATCH_MAX = 100

export class ItemList {
  readonly #place: ListPlace

  constructor(place: ListPlace) {
    this.#place = place
  }

  /** @param filter top-level members that the values must equal; default: all values */
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

  /** Adds values, which memory searches rank last. Up to 100 are added all or none. */
  async add(values: readonly Json[], keyOf: (i: number) => string = newId): Promise<void> {
    await this.change(values.map((value, i) => this.put(keyOf(i), value)))
  }

  put(key: string, value: Json): ItemOperation {
    // The value as the service gets it, without undefined members.
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

  /** Runs operations, up to 100 of them all or none. Returns the ids of their certificates. */
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
