// List operations: one page, all pages, or all items.

import type { Pending } from './call-result.ts'
import type { Client } from './client.ts'
import type { Operation } from './exchange.ts'
import { call } from './exchange.ts'

/** A list operation: the call returns one page. */
export interface PagedMethod<Args extends readonly unknown[], Page, Item> {
  (...args: Args): Pending<Page>
  /** Iterates over every item, from the requested page to the last one. */
  all(...args: Args): AsyncGenerator<Item, void, undefined>
  pages(...args: Args): AsyncGenerator<Page, void, undefined>
}

type Page = Readonly<Record<string, unknown>>
type Row = Operation<readonly unknown[], Pending<Page>>

export async function* pages(client: Client, operation: Row, args: readonly unknown[]) {
  const at = operation.path.split('{').length - 1
  const next = [...args]
  for (;;) {
    const page = await call(client, operation, ...next)
    yield page
    if (typeof page['next_cursor'] !== 'string') return
    // A cursor takes precedence over the offset of the first page.
    next[at] = { ...(next[at] ?? {}), offset: undefined, cursor: page['next_cursor'] }
  }
}

export async function* items(client: Client, operation: Row, args: readonly unknown[]) {
  for await (const page of pages(client, operation, args)) {
    const list = page[operation.items ?? '']
    if (Array.isArray(list)) yield* list
  }
}
