// Where an operation takes text, read from its schemas: no place can be forgotten.

import { NOT_BLANK, type OperationSpec } from '@custos/contract'

type Schema = Readonly<Record<string, unknown>>

function schemaOf(value: unknown): Schema {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {}
  return { ...value }
}

/** Times are checked to be times, other patterns allow only ids we minted. */
function isFreeText({ type, format, pattern, const: only, enum: some }: Schema): boolean {
  if (type !== 'string') return false
  const rules = pattern === NOT_BLANK ? [only, some] : [pattern, only, some]
  const isTime = format === 'timestamp' || format === 'date_or_time'
  return !isTime && rules.every((rule) => rule === undefined)
}

/** `[]` is any item, `{}` a free JSON object (keys and values), `*` any JSON value. */
function placesOf(value: unknown, path: string): string[] {
  const schema = schemaOf(value)
  if (isFreeText(schema)) return [path]
  if (Array.isArray(schema['anyOf']))
    return schema['anyOf'].flatMap((branch) => placesOf(branch, path))
  if (schema['type'] === 'array') return placesOf(schema['items'], `${path}[]`)
  if (schema['patternProperties'] !== undefined) return [`${path}{}`]
  if (schema['properties'] !== undefined)
    return Object.entries(schemaOf(schema['properties'])).flatMap(([name, property]) =>
      placesOf(property, `${path}.${name}`),
    )
  const anything = ['type', 'const', 'enum', 'anyOf'].every((rule) => schema[rule] === undefined)
  return anything ? [`${path}*`] : []
}

/** Fields that an operation accepts and does not use, but those of private keys: only null is. */
export const unusedPlaces = ({ tolerated = [] }: OperationSpec): string[] =>
  tolerated
    .filter((name) => name.startsWith('body.') && !name.endsWith('signing_key'))
    .map((name) => `${name}*`)

/** Text places of a request, as `params.x`, `query.x`, `body.x` and `headers.x`. */
export function textPlaces(operation: OperationSpec): string[] {
  const of = (schema: unknown, where: string) =>
    schema === undefined ? [] : placesOf(schema, where)
  return [
    ...new Set([
      ...of(operation.params, 'params'),
      ...of(operation.query, 'query'),
      ...of(operation.body, 'body'),
      ...unusedPlaces(operation),
      'headers.x-request-id',
      ...(operation.idempotent ? ['headers.idempotency-key'] : []),
    ]),
  ]
}
