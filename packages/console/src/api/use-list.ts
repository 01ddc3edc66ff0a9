// One page of a list operation, at the cursor of the address.

import type { Operation, Pending } from '@custos/client/core'
import { useUrlState } from './url-state.ts'
import { type CallRequest, type ReadOptions, useCall } from './use-call.ts'

const PAGE_ROWS = 50

/** One page of a list, for a table. */
export interface ListResult<Row> {
  readonly rows: readonly Row[] | undefined
  readonly nextCursor: string | null | undefined
  readonly error: Error | null
  readonly isFetching: boolean
  readonly request: CallRequest
}

/** The page in the address. A second table of a screen has a `name` for its own cursor. */
export function usePage(name = ''): { readonly limit: number; readonly cursor?: string } {
  const [cursor] = useUrlState(`${name}cursor`)
  return cursor === '' ? { limit: PAGE_ROWS } : { limit: PAGE_ROWS, cursor }
}

/**
 * Reads one page.
 * @param args the arguments of the operation, with the values of `usePage`
 * @param rows returns the rows of a reply
 */
export function useList<
  A extends readonly unknown[],
  R extends { readonly next_cursor: string | null },
  Row,
>(
  operation: Operation<A, Pending<R>>,
  args: A,
  rows: (reply: R) => readonly Row[],
  options: ReadOptions = {},
): ListResult<Row> {
  const { data, error, isFetching, request } = useCall(operation, args, { keep: true, ...options })
  return { rows: data && rows(data), nextCursor: data?.next_cursor, error, isFetching, request }
}
