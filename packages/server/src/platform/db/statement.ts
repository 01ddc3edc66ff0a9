// Hot statements: built once with Kysely, so still typed, and then only bound and run.

import { createHash } from 'node:crypto'
import type { CompiledQuery, RootOperationNode } from 'kysely'
import { type Builder, builder, compilePostgres } from './builder.ts'

/** Where a value is found in the parameters of a run: `ref`, or `rows`, 0 and `ref`. */
type Path = readonly string[]

// No string: every string may be the name of a column.
const PATH = Symbol('path')

class Parameter {
  readonly [PATH]: Path

  constructor(path: Path) {
    this[PATH] = path
  }
}

/** The place of a value, of the items of a list, and of the columns of a list of rows. */
function placeAt(path: Path): object {
  return new Proxy(new Parameter(path), {
    get(target, key) {
      const isPart = typeof key === 'string' && (path.length === 2 || /^\d+$/.test(key))
      return isPart && path.length < 3 ? placeAt([...path, key]) : Reflect.get(target, key)
    },
  })
}

/** A statement in the words of one engine, and where its named parameters go. */
interface Bound<P> {
  readonly sql: string
  /** Of its values in binding order. */
  readonly slots: readonly Slot[]
  /** Values in binding order for one tenant. */
  bind(tenant_id: string, params: P): unknown[]
}

/** A statement for PostgreSQL; the same text has the same name in every process. */
interface PostgresStatement<P> extends Bound<P> {
  readonly name: string
}

/** A compiled statement; its own text is SQLite's. */
export interface Statement<P, O> extends Bound<P> {
  /** The same statement for PostgreSQL, compiled when it is first asked for. */
  postgres(): PostgresStatement<P>
  /** Type-level only: the members of a row. */
  readonly row?: O
}

type Parameters<P> = P & { tenant_id: string }

interface CompilableQuery<O> {
  compile(): CompiledQuery<O>
  toOperationNode(): RootOperationNode
}

type Build<P, O> = (k: Builder, p: Parameters<P>) => CompilableQuery<O>

/**
 * `statement<{ref: number}>()((k, p) => k.selectFrom('facts')…where('ref', '=', p.ref))`.
 * Every statement must use `p.tenant_id`: one that does not is refused when the module loads.
 * `forPostgres` says the same where PostgreSQL needs other words to be quick.
 */
export function statement<P>(): <O>(
  build: Build<P, O>,
  forPostgres?: Build<P, O>,
) => Statement<P, O> {
  return (build, forPostgres = build) => {
    const compiled = compileStatement(build, forPostgres)
    requireTenant(compiled)
    if (forPostgres !== build) requireTenant(compiled.postgres())
    return compiled
  }
}

/** A statement about credentials in no tenant's name: it finds whose a presented key is. */
export function credentialStatement<P>(): <O>(build: Build<P, O>) => Statement<P, O> {
  return (build) => {
    const compiled = compileStatement(build, build)
    if (compiled.sql.includes(' from "credentials" ')) return compiled
    throw new Error(`no statement about credentials: ${compiled.sql}`)
  }
}

function compileStatement<P, O>(build: Build<P, O>, forPostgres: Build<P, O>) {
  const { sql, parameters } = build(builder, placesOf<P>()).compile()
  const slots = slotsOf(parameters)
  let postgres: PostgresStatement<P> | undefined
  return {
    sql,
    slots,
    bind: (tenant_id: string, params: P) => bindSlots(slots, tenant_id, params),
    postgres: () => {
      postgres ??= postgresStatement(forPostgres(builder, placesOf<P>()))
      return postgres
    },
  }
}

/** Stands in for values that only exist when the statement is run. */
const placesOf = <P>(): Parameters<P> =>
  new Proxy({}, { get: (_, name) => placeAt([String(name)]) }) as Parameters<P>

function postgresStatement<P>(query: CompilableQuery<unknown>): PostgresStatement<P> {
  const { sql, parameters } = compilePostgres(query)
  const slots = slotsOf(parameters)
  return {
    sql,
    slots,
    name: `custos_${createHash('sha256').update(sql).digest('hex').slice(0, 20)}`,
    bind: (tenant_id, params) => bindSlots(slots, tenant_id, params),
  }
}

type Slot = { readonly path?: Path; readonly value?: unknown }

const slotsOf = (parameters: readonly unknown[]): Slot[] =>
  parameters.map((value) => (value instanceof Parameter ? { path: value[PATH] } : { value }))

function requireTenant({ sql, slots }: Pick<Bound<unknown>, 'sql' | 'slots'>): void {
  if (slots.some(({ path }) => path?.[0] === 'tenant_id')) return
  throw new Error(`statement without tenant_id: ${sql}`)
}

function bindSlots(slots: readonly Slot[], tenant_id: string, params: unknown): unknown[] {
  return slots.map(({ path, value }) => {
    if (path === undefined) return value
    if (path[0] === 'tenant_id') return tenant_id
    let found = params
    for (const key of path) found = (found as Record<string, unknown>)[key]
    return found
  })
}
