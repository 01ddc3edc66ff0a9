// Hot statements: built once with Kysely, so still typed, and then only bound and run.

import type { CompiledQuery } from 'kysely'
import { builder } from './builder.ts'

class Parameter {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

/** A compiled statement and where its named parameters go. */
export interface Statement<P, O> {
  readonly sql: string
  /** Values in binding order for one tenant. */
  bind(tenant_id: string, params: P): unknown[]
  /** Type-level only: what a row looks like. */
  readonly row?: O
}

type Parameters<P> = P & { tenant_id: string }

/**
 * `statement<{ref: number}>()((k, p) => k.selectFrom('facts')…where('ref', '=', p.ref))`.
 * Every statement must use `p.tenant_id`: one that does not is refused when the module loads.
 */
export function statement<P>(): <O>(
  build: (k: typeof builder, p: Parameters<P>) => { compile(): CompiledQuery<O> },
) => Statement<P, O> {
  return (build) => {
    const named = new Proxy({}, { get: (_, name) => new Parameter(String(name)) })
    // The proxy stands in for values that only exist when the statement is run.
    const compiled = build(builder, named as Parameters<P>).compile()
    const slots = compiled.parameters.map((value) =>
      value instanceof Parameter ? { name: value.name } : { value },
    )
    if (!slots.some((slot) => slot.name === 'tenant_id'))
      throw new Error(`statement without tenant_id: ${compiled.sql}`)
    return { sql: compiled.sql, bind: (tenant_id, params) => bindSlots(slots, tenant_id, params) }
  }
}

function bindSlots(
  slots: readonly { name?: string; value?: unknown }[],
  tenant_id: string,
  params: unknown,
): unknown[] {
  const record = params as Record<string, unknown>
  return slots.map(({ name, value }) => {
    if (name === undefined) return value
    return name === 'tenant_id' ? tenant_id : record[name]
  })
}
