// Hot statements, built once with Kysely (and so typed), then only bound and run.

import { createHash } from 'node:crypto'
import type { CompiledQuery, RootOperationNode } from 'kysely'
import { type Builder, builder, compilePostgres } from './builder.ts'

/** The path of a value in the parameters of a run: `ref`, or `rows`, 0 and `ref`. */
type Path = readonly string[]

// Not a string, because every string may be the name of a column.
const PATH = Symbol('path')

class Parameter {
  readonly [PATH]: Path

  constructor(path: Path) {
    this[PATH] = path
  }
}

/** A placeholder for a value, the items of a list, or the columns of a list of rows. */
function placeAt(path: Path): object {
  return new Proxy(new Parameter(path), {
    get(target, key) {
      const isPart = typeof key === 'string' && (path.length === 2 || /^\d+$/.test(key))
      return isPart && path.length < 3 ? placeAt([...path, key]) : Reflect.get(target, key)
    },
  })
}

/** A statement compiled for one engine, with the positions of its named parameters. */
interface Bound<P> {
  readonly sql: string
  /** The slots of its values in binding order. */
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
  /** The same statement for PostgreSQL, compiled on first use. */
  postgres(): PostgresStatement<P>
  /** Only a type: the members of a row. */
  readonly row?: O
}

type Parameters<P> = P & { tenant_id: string }

interface CompilableQuery<O> {
  compile(): CompiledQuery<O>
  toOperationNode(): RootOperationNode
}

type Build<P, O> = (k: Builder, p: Parameters<P>) => CompilableQuery<O>

/**
 * `statement<{ref: number}>()((k, p) => k.selectFrom('facts')…where('ref', '=', p.ref))`. Every
 * statement must use `p.tenant_id`; one that does not is refused when the module loads.
 * `forPostgres` is an equivalent statement for when PostgreSQL needs another form to be fast.
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

/** A statement on credentials across tenants, which finds the tenant of a presented key. */
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

/** Placeholders for values that exist only when the statement runs. */
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
