// Many rows by their numbers or labels, each found by itself in an index of PostgreSQL.

import { type AliasedExpression, type Expression, sql } from 'kysely'
import type { Builder } from './builder.ts'

type Wanted = AliasedExpression<{ ref: number }, 'wanted'>

/** A query over one number whose rows are called `found`. */
type One<O> = (ref: Expression<number>) => {
  offset(offset: Expression<number>): { as(alias: 'found'): AliasedExpression<O, 'found'> }
}

/**
 * A query for each number that is `wanted`. Given the list itself, PostgreSQL may read all rows of
 * the tenant instead: always while it has no statistics of a table, and later for a tenant that has
 * far more rows than most. `offset 0` keeps it from joining the two queries into one.
 */
export const eachRef = <O>(k: Builder, wanted: Wanted, one: One<O>) =>
  k
    .selectFrom(wanted)
    .innerJoinLateral(one(sql.ref('wanted.ref')).offset(sql.lit(0)).as('found'), (join) =>
      join.onTrue(),
    )
    .selectAll('found')

/**
 * The numbers of a list. The inner `select` keeps PostgreSQL from counting them: it would make a
 * new plan for every short list.
 */
export const listed = (refs: readonly number[]): Wanted =>
  sql<{ ref: number }>`unnest((select ${refs}::bigint[]))`.as<'wanted'>(sql`wanted(ref)`)

/** A query over one label whose rows are called `found`. */
type OneLabel<O> = (label: Expression<Uint8Array>) => {
  offset(offset: Expression<number>): { as(alias: 'found'): AliasedExpression<O, 'found'> }
}

/** The same as `eachRef` for a list of labels. */
export const eachLabel = <O>(k: Builder, labels: readonly Uint8Array[], one: OneLabel<O>) =>
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
