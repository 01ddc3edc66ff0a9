// Pages of lists that are newest first, by the time of a row and, where times are equal, its id.

import { type SelectQueryBuilder, sql } from 'kysely'
import type { Page } from '../page.ts'
import type { Tables, TenantTable } from './schema/tables.ts'

/**
 * The rows of a page. Behind a row they are found by its place in the order, so that none is lost
 * or doubled where the list changes between two pages.
 */
export function newestFirst<T extends TenantTable, O>(
  query: SelectQueryBuilder<Tables, T, O>,
  columns: { readonly time: keyof Tables[T] & string; readonly id: keyof Tables[T] & string },
  { limit, offset, after }: Pick<Page, 'limit' | 'offset' | 'after'>,
): SelectQueryBuilder<Tables, T, O> {
  const time = sql.ref<number>(columns.time)
  const id = sql.ref<string>(columns.id)
  const sorted = query.orderBy(time, 'desc').orderBy(id).limit(limit)
  if (after === null) return sorted.offset(offset)
  return sorted
    .where(time, '<=', after.at)
    .where((e) => e.or([e(time, '<', after.at), e(id, '>', after.id)]))
}
