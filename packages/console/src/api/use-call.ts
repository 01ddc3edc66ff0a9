// Calls of operations as React queries: reads, pages of lists, and writes.

import { call, type Operation, type Pending } from '@custos/client/core'
import {
  keepPreviousData,
  type UseQueryResult,
  useMutation,
  useQueries,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { client } from './connection.ts'
import { useUrlState } from './url-state.ts'

/** An operation with its arguments, for a table, a snippet or a query. */
export interface CallRequest {
  readonly operation: Operation<never, unknown>
  readonly args: readonly unknown[]
}

interface ReadOptions {
  readonly enabled?: boolean
  readonly refetchMs?: number
  /** Shows the last answer while the next one is loading. */
  readonly keep?: boolean
}

/** Calls an operation with a signal after its other arguments. */
function callWithSignal<A extends readonly unknown[], R>(
  operation: Operation<A, Pending<R>>,
  args: A,
  signal: AbortSignal,
): Promise<R> {
  const ids = operation.path.split('{').length - 1
  const others = operation.takes === 'both' ? 2 : operation.takes ? 1 : 0
  const all: unknown[] = Array.from({ length: ids + others }, (_, i) => args[i])
  // The options follow the arguments of every operation.
  return call(client, operation, ...([...all, { signal }] as unknown as A))
}

/** Reads with an operation. The answer is cached by its arguments and refetched. */
export function useCall<A extends readonly unknown[], R>(
  operation: Operation<A, Pending<R>>,
  args: A,
  { enabled = true, refetchMs, keep = false }: ReadOptions = {},
): UseQueryResult<R, Error> & { request: CallRequest } {
  const query = useQuery<R, Error>({
    queryKey: [operation.id, ...args],
    queryFn: ({ signal }) => callWithSignal(operation, args, signal),
    enabled,
    ...(refetchMs === undefined ? {} : { refetchInterval: refetchMs }),
    ...(keep ? { placeholderData: keepPreviousData } : {}),
  })
  return { ...query, request: { operation: operation as CallRequest['operation'], args } }
}

/** Reads one operation with several argument lists; undefined for answers that are pending. */
export function useCalls<A extends readonly unknown[], R>(
  operation: Operation<A, Pending<R>>,
  lists: readonly A[],
): readonly (R | undefined)[] {
  const queries = lists.map((args) => ({
    queryKey: [operation.id, ...args],
    queryFn: ({ signal }: { signal: AbortSignal }) => callWithSignal(operation, args, signal),
  }))
  return useQueries({ queries }).map(({ data }) => data)
}

/** Writes with an operation. Afterwards all shown data is refetched: a write has many effects. */
export function useAction<A extends readonly unknown[], R>(operation: Operation<A, Pending<R>>) {
  const queries = useQueryClient()
  return useMutation<R, Error, A>({
    mutationFn: (args) => call(client, operation, ...args),
    onSuccess: () => queries.invalidateQueries(),
  })
}

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
