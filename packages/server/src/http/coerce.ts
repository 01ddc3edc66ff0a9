// Query and path parameters are text: turns them into what their schema asks for, strictly.

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
      itemKind: kindOf(isSchema(property) && 'items' in property ? property.items : undefined),
    }))
  }

  /** Text that does not fit is left as it is: validation says what is wrong with it. */
  apply(given: unknown): Record<string, unknown> {
    const coerced: Record<string, unknown> = {}
    if (!isSchema(given)) return coerced
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
  if (!isSchema(schema)) return 'string'
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
  if (isSchema(schema) && isSchema(schema['properties'])) return schema['properties']
  return {}
}

function isSchema(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
