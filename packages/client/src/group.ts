// The methods of a group, from the rows of the operation table.

import type { Pending } from './call-result.ts'
import type { Client } from './client.ts'
import type { Operation } from './exchange.ts'
import { call } from './exchange.ts'
import { items, pages } from './page-iterators.ts'

type Row = Operation<readonly unknown[], Pending<Record<string, unknown>>>

/** The operations whose ids begin with `name`, as methods in camelCase. */
export function groupOf<T>(client: Client, table: readonly object[], name: string): T {
  const methods: Record<string, unknown> = {}
  for (const row of table as readonly Row[]) {
    const [group, verb = ''] = row.id.split('.')
    if (group === name)
      methods[verb.replace(/_(\w)/g, (_, c: string) => c.toUpperCase())] = methodOf(client, row)
  }
  // The generated interface names exactly these methods.
  return methods as T
}

function methodOf(client: Client, row: Row) {
  const method = (...args: unknown[]) => call(client, row, ...args)
  if (row.items === undefined) return method
  return Object.assign(method, {
    all: (...args: unknown[]) => items(client, row, args),
    pages: (...args: unknown[]) => pages(client, row, args),
  })
}
