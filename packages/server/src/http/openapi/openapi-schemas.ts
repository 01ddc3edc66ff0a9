// Writes the contract's schemas as OpenAPI 3.1: named ones once, every field described.

import { fieldDescriptions } from '@custos/contract'

export type Json = Record<string, unknown>

/** Writes schemas, and collects the named ones that it meets. */
export class SchemaWriter {
  readonly #components: Json = {}

  /** The named schemas met so far, by name. */
  get components(): Json {
    const byName = Object.entries(this.#components).sort(([a], [b]) => (a < b ? -1 : 1))
    return Object.fromEntries(byName)
  }

  /** A reference if the schema is named, otherwise the schema in full. */
  write(schema: unknown): Json {
    if (!isRecord(schema)) return {}
    const { title } = schema
    if (typeof title !== 'string') return this.#inFull(schema)
    if (!(title in this.#components)) {
      const { default: _, ...rest } = this.#inFull(schema)
      this.#components[title] = rest
    }
    const reference = { $ref: `#/components/schemas/${title}` }
    return 'default' in schema ? { ...reference, default: schema['default'] } : reference
  }

  /** A field of an object or a parameter, with its description. */
  field(name: string, schema: unknown): Json {
    const written = this.write(schema)
    const description = descriptionOf(schema) ?? fieldDescriptions[name]
    return description === undefined ? written : { ...written, description }
  }

  #inFull(schema: Json): Json {
    const { title: _, about: __, anyOf, items, properties, patternProperties, ...rest } = schema
    const written: Json = { ...rest }
    if (rest['format'] === 'timestamp') written['format'] = 'date-time'
    // OpenAPI has no format for a date or a time.
    if (rest['format'] === 'date_or_time') delete written['format']
    if (Array.isArray(rest['enum'])) Object.assign(written, { type: 'string', enum: rest['enum'] })
    if (isRecord(properties)) written['properties'] = this.#fields(properties)
    if (isRecord(patternProperties)) this.#writeRecord(written, patternProperties)
    if (Array.isArray(items)) this.#writeTuple(written, items)
    else if (items !== undefined) written['items'] = this.write(items)
    return Array.isArray(anyOf) ? this.#union(anyOf, written) : written
  }

  #fields(properties: Json): Json {
    const fields = Object.entries(properties).map(([name, schema]) => [
      name,
      this.field(name, schema),
    ])
    return Object.fromEntries(fields)
  }

  /** An object with arbitrary keys, as `additionalProperties`, which every generator supports. */
  #writeRecord(written: Json, patterns: Json): void {
    const values = Object.values(patterns).map((schema) => this.write(schema))
    const [value = {}] = values
    if (Object.keys(value).length > 0) written['additionalProperties'] = value
  }

  #writeTuple(written: Json, items: readonly unknown[]): void {
    delete written['additionalItems']
    written['prefixItems'] = items.map((item) => this.write(item))
    written['items'] = false
  }

  #union(branches: readonly unknown[], rest: Json): Json {
    const others = branches.filter((branch) => !isNull(branch))
    const written = others.map((branch) => this.write(branch))
    const [only] = written
    if (others.length === branches.length) return { ...rest, anyOf: written }
    if (others.length === 1 && only !== undefined) return { ...nullable(only), ...rest }
    return { ...rest, anyOf: [...written, { type: 'null' }] }
  }
}

/** A schema, or null. */
function nullable(schema: Json): Json {
  // The description is of the field, not of one branch.
  const { description, ...rest } = schema
  const described = description === undefined ? {} : { description }
  if (typeof rest['type'] !== 'string' || 'const' in rest)
    return { anyOf: [rest, { type: 'null' }], ...described }
  const allowed = Array.isArray(rest['enum']) ? { enum: [...rest['enum'], null] } : {}
  return { ...rest, type: [rest['type'], 'null'], ...allowed, ...described }
}

/** The description at the place of use, or that of an unnamed schema. */
function descriptionOf(schema: unknown): string | undefined {
  if (!isRecord(schema)) return undefined
  if (typeof schema['about'] === 'string') return schema['about']
  const { description, title, anyOf } = schema
  if (typeof description === 'string' && title === undefined) return description
  return Array.isArray(anyOf) ? anyOf.map(descriptionOf).find(Boolean) : undefined
}

const isNull = (schema: unknown): boolean => isRecord(schema) && schema['type'] === 'null'

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
