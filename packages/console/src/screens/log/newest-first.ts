// Pages of the audit log, newest first. The service lists from the oldest on without gaps, so the
// page before a position is a range of positions.

import type { Operation, Pending } from '@custos/client/core'
import { useUrlState } from '../../api/url-state.ts'
import { useCall } from '../../api/use-call.ts'
import type { ListResult } from '../../api/use-list.ts'

const PAGE_ROWS = 50

/**
 * Reads the page that ends before the position in the address.
 * @param total number of rows of the whole list; undefined while unknown
 * @param name name of the table in the address
 */
export function useNewestFirst<R, Row>(
  operation: Operation<[query?: { readonly limit: number; readonly offset: number }], Pending<R>>,
  total: number | undefined,
  rows: (reply: R) => readonly Row[],
  name = '',
): ListResult<Row> {
  const [cursor] = useUrlState(`${name}cursor`)
  const end = Math.min(total ?? 0, cursor === '' ? Number.POSITIVE_INFINITY : Number(cursor) || 0)
  const offset = Math.max(0, end - PAGE_ROWS)
  const query = { offset, limit: Math.max(1, end - offset) }
  const { data, error, isFetching, request } = useCall(operation, [query], {
    keep: true,
    enabled: total !== undefined,
  })
  return {
    rows:
      data &&
      rows(data)
        .slice(0, end - offset)
        .toReversed(),
    nextCursor: offset > 0 ? String(offset) : null,
    error,
    isFetching,
    request,
  }
}
