// Statements on many items: one per number of items up to a limit, or an index look-up per item.

import assert from 'node:assert/strict'
import { type AliasedExpression, type Expression, type SqlBool, sql } from 'kysely'
import type { Builder } from './builder.ts'
import { statement } from './statement.ts'
import type { Query, TenantDb, Tx } from './tenant-db.ts'

/** The first `count` items of a list parameter, or rows of a list-of-rows parameter. */
export const firstItems = <V>(list: readonly V[], count: number): V[] =>
  Array.from({ length: count }, (_, i) => list[i]).flatMap((item) => item ?? [])

/** Returns the statement for `count` items; `build` is called once per count. */
export function statementPerCount<S>(build: (count: number) => S): (count: number) => S {
  const built = new Map<number, S>()
  return (count) => {
    const known = built.get(count)
    if (known !== undefined) return known
    const made = build(count)
    built.set(count, made)
    return made
  }
}

/** Calls `act` on batches of at most `most` items, concurrently. */
export function runInBatches<V, T>(
  items: readonly V[],
  most: number,
  act: (some: readonly V[]) => Promise<T>,
): Promise<T[]> {
  const acts: Promise<T>[] = []
  for (let at = 0; at < items.length; at += most) acts.push(act(items.slice(at, at + most)))
  return Promise.all(acts)
}

/** Maximum rows per statement; one is prepared for each number of rows up to it. */
const ROWS_AT_ONCE = 16

/**
 * Inserts rows into one table; returns the number of inserted rows per statement. `build` has to
 * name every column of every row, because it gets placeholders instead of the rows of a call.
 */
export function insertRowsStatement<R>(
  build: (k: Builder, rows: readonly R[], tenant_id: string) => Query<unknown>,
) {
  const insertStatement = statementPerCount((count) =>
    statement<{ rows: readonly R[] }>()((k, p) => build(k, firstItems(p.rows, count), p.tenant_id)),
  )
  const insert = (tx: Tx, rows: readonly R[]): Promise<number[]> =>
    runInBatches(rows, ROWS_AT_ONCE, (some) =>
      tx.runOf(insertStatement(some.length), { rows: some }),
    )
  const table = /^insert into "(\w+)"/.exec(insertStatement(1).sql)?.[1]
  assert(table, 'a statement that inserts rows')
  return Object.assign(insert, { table })
}

/** Maximum refs per statement of SQLite; one is prepared for each number of refs up to it. */
const REFS_AT_ONCE = 32

/**
 * A statement on the rows whose column `ref` is in a list of any length (`isListed`). PostgreSQL
 * does not learn the length of the list, so that it looks up each ref.
 */
export const refsStatement =
  <P>() =>
  <O>(
    build: (
      k: Builder,
      p: P & { refs: readonly number[]; tenant_id: string },
      isListed: Expression<SqlBool>,
    ) => Query<O>,
  ) => {
    const statements = statementPerCount((count) =>
      statement<P & { refs: readonly number[] }>()<O>(
        (k, p) => build(k, p, sql<SqlBool>`ref in (${sql.join(firstItems(p.refs, count))})`),
        (k, p) => build(k, p, sql<SqlBool>`ref = any((select ${p.refs}::bigint[])::bigint[])`),
      ),
    )
    const of = (some: readonly number[], params: P) => ({ ...params, refs: some })
    return {
      async all(db: TenantDb, refs: readonly number[], params: P): Promise<O[]> {
        const rows = await runInBatches(refs, REFS_AT_ONCE, (some) =>
          db.allOf(statements(some.length), of(some, params)),
        )
        return rows.flat()
      },
      async run(tx: Tx, refs: readonly number[], params: P): Promise<number> {
        const changed = await runInBatches(refs, REFS_AT_ONCE, (some) =>
          tx.runOf(statements(some.length), of(some, params)),
        )
        return changed.reduce((sum, rows) => sum + rows, 0)
      },
    }
  }

type NumberColumn = AliasedExpression<{ ref: number }, 'wanted'>

/** A query over one value whose rows are called `found`. */
type QueryOfOne<V, O> = (value: Expression<V>) => {
  offset(offset: Expression<number>): { as(alias: 'found'): AliasedExpression<O, 'found'> }
}

/**
 * Runs a query for each number in `wanted`. Given the whole list, PostgreSQL may read all rows of
 * the tenant instead: always while it has no statistics of a table, and later for a tenant that has
 * far more rows than most. `offset 0` keeps it from merging the two queries.
 */
export const lateralByRef = <O>(k: Builder, wanted: NumberColumn, one: QueryOfOne<number, O>) =>
  k
    .selectFrom(wanted)
    .innerJoinLateral(one(sql.ref('wanted.ref')).offset(sql.lit(0)).as('found'), (join) =>
      join.onTrue(),
    )
    .selectAll('found')

/**
 * The numbers of a list as rows. The inner `select` hides their count from PostgreSQL, which would
 * otherwise create a new plan for every short list.
 */
export const unnestRefs = (refs: readonly number[]): NumberColumn =>
  sql<{ ref: number }>`unnest((select ${refs}::bigint[]))`.as<'wanted'>(sql`wanted(ref)`)

/** The same as `lateralByRef` for a list of labels. */
export const lateralByLabel = <O>(
  k: Builder,
  labels: readonly Uint8Array[],
  one: QueryOfOne<Uint8Array, O>,
) =>
  k
    .selectFrom(
      sql<{ label: Uint8Array }>`unnest((select ${labels}::bytea[]))`.as<'wanted'>(
        sql`wanted(label)`,
      ),
    )
    .innerJoinLateral(one(sql.ref('wanted.label')).offset(sql.lit(0)).as('found'), (join) =>
      join.onTrue(),
    )
    .selectAll('found')
