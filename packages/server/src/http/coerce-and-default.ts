// Converts text parameters of query and path strictly by a schema, and fills in defaults.

import type { TSchema } from 'typebox'
import { isLabel, validationDetail } from '../platform/validation.ts'

type Kind = 'integer' | 'number' | 'boolean' | 'array' | 'string'

interface Parameter {
  readonly kind: Kind
  readonly itemKind: Kind
}

const TEXT: Parameter = { kind: 'string', itemKind: 'string' }
const NAME_CHARS_MAX = 100
/** Replaces path text that cannot be an id; no id has a control character. */
const NO_ID = '\u0001'

const INTEGER = /^(?:0|-?[1-9]\d{0,15})$/
const NUMBER = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/

/** Converts text parameters to the types that their schema declares. */
export class Coercion {
  readonly #parameters: ReadonlyMap<string, Parameter>
  readonly #where: string

  /** @param where `path` or `query` */
  constructor(schema: TSchema, where: string) {
    this.#where = where
    const properties = Object.entries(propertiesOf(schema))
    this.#parameters = new Map(
      properties.map(([name, property]) => [
        name,
        {
          kind: kindOf(property),
          itemKind: kindOf(isObject(property) && 'items' in property ? property.items : undefined),
        },
      ]),
    )
  }

  /** Leaves undeclared parameters, and text that does not fit, unchanged for validation. */
  apply(given: unknown): Record<string, unknown> {
    // Without a prototype, no parameter name is special.
    const coerced: Record<string, unknown> = Object.create(null)
    if (!isObject(given)) return coerced
    // In schema order, not the caller's, because idempotency compares the result as text.
    for (const name of new Set([...this.#parameters.keys(), ...Object.keys(given)])) {
      const value = given[name]
      if (value === undefined) continue
      const parameter = this.#parameters.get(name) ?? TEXT
      coerced[name] = coerce(this.#withoutNul(name, value), parameter)
    }
    return coerced
  }

  /** No database accepts U+0000; in a path it cannot be part of an id. */
  #withoutNul(name: string, value: unknown): unknown {
    if (this.#where === 'path') return isLabel(value) ? value : NO_ID
    const texts = Array.isArray(value) ? value : [value]
    if (!texts.some((text) => typeof text === 'string' && text.includes('\0'))) return value
    const loc = [this.#where, name.slice(0, NAME_CHARS_MAX)]
    throw validationDetail(loc, 'U+0000 is not allowed', 'string_nul')
  }
}

function coerce(value: unknown, { kind, itemKind }: Parameter): unknown {
  if (kind === 'array') {
    const items = Array.isArray(value) ? value : [value]
    return items.map((item) => coerceText(item, itemKind))
  }
  return coerceText(value, kind)
}

function coerceText(value: unknown, kind: Kind): unknown {
  if (typeof value !== 'string') return value
  if (kind === 'boolean') return value === 'true' ? true : value === 'false' ? false : value
  if (kind === 'integer') {
    const number = INTEGER.test(value) ? Number(value) : Number.NaN
    return Number.isSafeInteger(number) ? number : value
  }
  if (kind === 'number') return NUMBER.test(value) ? Number(value) : value
  return value
}

function kindOf(schema: unknown): Kind {
  if (!isObject(schema)) return 'string'
  if ('anyOf' in schema && Array.isArray(schema['anyOf'])) {
    const kinds = schema['anyOf'].map(kindOf)
    return kinds.find((kind) => kind !== 'string') ?? 'string'
  }
  switch (schema['type']) {
    case 'integer':
    case 'number':
    case 'boolean':
    case 'array':
      return schema['type']
    default:
      return 'string'
  }
}

function propertiesOf(schema: unknown): Record<string, unknown> {
  if (isObject(schema) && isObject(schema['properties'])) return schema['properties']
  return {}
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

type Fill = (value: unknown) => void

/** Returns a function that sets missing members to their defaults, or null if there are none. */
export function compileDefaults(schema: unknown): Fill | null {
  if (!isObject(schema)) return null
  if (Array.isArray(schema['anyOf'])) return firstOf(schema['anyOf'].map(compileDefaults))
  if (schema['type'] === 'array') return compileItems(schema['items'])
  if (!isObject(schema['properties'])) return null
  const members = Object.entries(schema['properties']).flatMap(([name, property]) => {
    const fill = compileDefaults(property)
    const preset = isObject(property) ? property['default'] : undefined
    return preset === undefined && fill === null ? [] : [{ name, preset, fill }]
  })
  if (members.length === 0) return null
  return (value) => {
    if (!isObject(value) || Array.isArray(value)) return
    for (const { name, preset, fill } of members) {
      if (value[name] === undefined) {
        if (preset !== undefined) value[name] = fresh(preset)
      } else fill?.(value[name])
    }
  }
}

function compileItems(items: unknown): Fill | null {
  const fill = compileDefaults(items)
  if (fill === null) return null
  return (value) => {
    if (Array.isArray(value)) for (const item of value) fill(item)
  }
}

// Defaults in several branches of a union would be ambiguous; our unions are "this or null".
const firstOf = (fills: readonly (Fill | null)[]): Fill | null =>
  fills.find((fill) => fill !== null) ?? null

const fresh = (preset: unknown): unknown =>
  typeof preset === 'object' ? structuredClone(preset) : preset
