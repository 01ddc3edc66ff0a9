// Hot statements: built once with Kysely, so still typed, and then only bound and run.

import { createHash } from 'node:crypto'
import type { CompiledQuery, RootOperationNode } from 'kysely'
import { builder, compilePostgres } from './builder.ts'

class Parameter {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

/** A statement in the words of one engine, and where its named parameters go. */
export interface Bound<P> {
  readonly sql: string
  /** Values in binding order for one tenant. */
  bind(tenant_id: string, params: P): unknown[]
}

/** A statement for PostgreSQL; the same text has the same name in every process. */
export interface PostgresStatement<P> extends Bound<P> {
  readonly name: string
}

/** A compiled statement; its own text is SQLite's. */
export interface Statement<P, O> extends Bound<P> {
  /** The same statement for PostgreSQL, compiled when it is first asked for. */
  postgres(): PostgresStatement<P>
  /** Type-level only: what a row looks like. */
  readonly row?: O
}

type Parameters<P> = P & { tenant_id: string }

interface Built<O> {
  compile(): CompiledQuery<O>
  toOperationNode(): RootOperationNode
}

/**
 * `statement<{ref: number}>()((k, p) => k.selectFrom('facts')…where('ref', '=', p.ref))`.
 * Every statement must use `p.tenant_id`: one that does not is refused when the module loads.
 */
export function statement<P>(): <O>(
  build: (k: typeof builder, p: Parameters<P>) => Built<O>,
) => Statement<P, O> {
  return (build) => {
    const named = new Proxy({}, { get: (_, name) => new Parameter(String(name)) })
    // The proxy stands in for values that only exist when the statement is run.
    const query = build(builder, named as Parameters<P>)
    const { sql, parameters } = query.compile()
    const slots = slotsOf(parameters)
    if (!slots.some((slot) => slot.name === 'tenant_id'))
      throw new Error(`statement without tenant_id: ${sql}`)
    let postgres: PostgresStatement<P> | undefined
    return {
      sql,
      bind: (tenant_id, params) => bindSlots(slots, tenant_id, params),
      postgres: () => {
        postgres ??= postgresStatement(query)
        return postgres
      },
    }
  }
}

function postgresStatement<P>(query: Built<unknown>): PostgresStatement<P> {
  const { sql, parameters } = compilePostgres(query)
  const slots = slotsOf(parameters)
  return {
    sql,
    name: `custos_${createHash('sha256').update(sql).digest('hex').slice(0, 20)}`,
    bind: (tenant_id, params) => bindSlots(slots, tenant_id, params),
  }
}

type Slot = { readonly name?: string; readonly value?: unknown }

const slotsOf = (parameters: readonly unknown[]): Slot[] =>
  parameters.map((value) => (value instanceof Parameter ? { name: value.name } : { value }))

function bindSlots(slots: readonly Slot[], tenant_id: string, params: unknown): unknown[] {
  const record = params as Record<string, unknown>
  return slots.map(({ name, value }) => {
    if (name === undefined) return value
    return name === 'tenant_id' ? tenant_id : record[name]
  })
}
