// Pages of lists ordered by a time of their rows and, for equal times, by an id.

import { type SelectQueryBuilder, sql } from 'kysely'
import type { Page } from '../page.ts'
import type { Tables, TenantTable } from './schema/tables.ts'

/**
 * The rows of a page. Continues after a row by its position in the order, so that no row is skipped
 * or repeated if the list changes between two pages.
 */
export function pageByTime<T extends TenantTable, O>(
  query: SelectQueryBuilder<Tables, T, O>,
  by: {
    readonly time: keyof Tables[T] & string
    readonly order: 'newest' | 'oldest'
    readonly id: keyof Tables[T] & string
  },
  { limit, offset, after }: Pick<Page, 'limit' | 'offset' | 'after'>,
): SelectQueryBuilder<Tables, T, O> {
  const time = sql.ref<number>(by.time)
  const id = sql.ref<string>(by.id)
  const isNewest = by.order === 'newest'
  const sorted = query
    .orderBy(time, isNewest ? 'desc' : 'asc')
    .orderBy(id)
    .limit(limit)
  if (after === null) return sorted.offset(offset)
  return sorted
    .where(time, isNewest ? '<=' : '>=', after.at)
    .where((e) => e.or([e(time, isNewest ? '<' : '>', after.at), e(id, '>', after.id)]))
}
