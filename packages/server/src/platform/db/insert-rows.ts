// Inserts of many rows: a few at once with each statement, so that each is built once.

import type { Builder } from './builder.ts'
import { inParts, itemsOf, perCount } from './per-count.ts'
import { statement } from './statement.ts'
import type { Query, Tx } from './tenant-db.ts'

/** A statement is prepared for each number of rows up to this. */
const ROWS_AT_ONCE = 16

type Build<R> = (k: Builder, rows: readonly R[], tenant_id: string) => Query<unknown>

/** `build` names every column of every row: the rows it gets stand in for those of a run. */
export function rowsInsert<R>(build: Build<R>): (tx: Tx, rows: readonly R[]) => Promise<number[]> {
  const insertStatement = perCount((count) =>
    statement<{ rows: readonly R[] }>()((k, p) => build(k, itemsOf(p.rows, count), p.tenant_id)),
  )
  return (tx, rows) =>
    inParts(rows, ROWS_AT_ONCE, (some) => tx.runOf(insertStatement(some.length), { rows: some }))
}
