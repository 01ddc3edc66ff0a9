// Values for a schema: text parameters of query and path strictly converted, defaults filled in.

import type { TSchema } from 'typebox'
import { validationDetail } from '../platform/validation.ts'

type Kind = 'integer' | 'number' | 'boolean' | 'array' | 'string'

interface Parameter {
  readonly name: string
  readonly kind: Kind
  readonly itemKind: Kind
}

const INTEGER = /^(?:0|-?[1-9]\d{0,15})$/
const NUMBER = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/

/** The parameters an object schema declares; others are ignored. */
export class Coercion {
  readonly #parameters: readonly Parameter[]
  readonly #where: string

  constructor(schema: TSchema, where: string) {
    this.#where = where
    const properties = Object.entries(propertiesOf(schema))
    this.#parameters = properties.map(([name, property]) => ({
      name,
      kind: kindOf(property),
      itemKind: kindOf(isObject(property) && 'items' in property ? property.items : undefined),
    }))
  }

  /** Text that does not fit is left as it is: validation says what is wrong with it. */
  apply(given: unknown): Record<string, unknown> {
    const coerced: Record<string, unknown> = {}
    if (!isObject(given)) return coerced
    for (const parameter of this.#parameters) {
      const value = given[parameter.name]
      if (value === undefined) continue
      this.#refuseNul(parameter.name, value)
      coerced[parameter.name] = coerce(value, parameter)
    }
    return coerced
  }

  #refuseNul(name: string, value: unknown): void {
    const texts = Array.isArray(value) ? value : [value]
    if (texts.some((text) => typeof text === 'string' && text.includes('\0')))
      throw validationDetail([this.#where, name], 'U+0000 is not allowed', 'string_nul')
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

/** A function that sets missing members to their defaults, or null when there are none. */
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

// A union with defaults in more than one branch would be ambiguous; ours are "this or null".
const firstOf = (fills: readonly (Fill | null)[]): Fill | null =>
  fills.find((fill) => fill !== null) ?? null

const fresh = (preset: unknown): unknown =>
  typeof preset === 'object' ? structuredClone(preset) : preset
