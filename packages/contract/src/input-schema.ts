// The schemas of what callers send: names that are not declared are refused, ids in paths are not.

/**
 * A copy of a schema in which every object with declared properties takes no others. An object
 * that says itself what else it takes (`additionalProperties`) stays as it is, and so does a record,
 * whose keys are the caller's.
 */
export function closeSchema<T>(schema: T): T {
  if (!isRecord(schema)) return schema
  const changes: Record<string, unknown> = {}
  if (isRecord(schema['properties'])) {
    changes['properties'] = mapMembers(schema['properties'], closeSchema)
    if (!('additionalProperties' in schema)) changes['additionalProperties'] = false
  }
  if (isRecord(schema['patternProperties']))
    changes['patternProperties'] = mapMembers(schema['patternProperties'], closeSchema)
  for (const keyword of ['items', 'anyOf'])
    if (keyword in schema) changes[keyword] = closeEach(schema[keyword])
  return Object.assign(copyOf(schema), changes)
}

/** One schema, or each of a list. */
const closeEach = (schemas: unknown): unknown =>
  Array.isArray(schemas) ? schemas.map(closeSchema) : closeSchema(schemas)

const TEXT_RULES = ['title', 'pattern', 'format', 'minLength', 'maxLength']

/**
 * A copy of the schema of path parameters in which every text is valid: an id that none can have is
 * answered like one that does not exist.
 */
export function openIds<T>(schema: T): T {
  if (!isRecord(schema) || !isRecord(schema['properties'])) return schema
  return Object.assign(copyOf(schema), { properties: mapMembers(schema['properties'], openId) })
}

function openId(schema: unknown): unknown {
  if (!isRecord(schema) || schema['type'] !== 'string') return schema
  // The description of a named schema is that of its form.
  const rules = 'title' in schema ? [...TEXT_RULES, 'description'] : TEXT_RULES
  const copy = copyOf(schema)
  for (const rule of rules) delete copy[rule]
  return copy
}

const mapMembers = (
  schemas: Readonly<Record<string, unknown>>,
  change: (schema: unknown) => unknown,
): Record<string, unknown> =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, change(schema)]))

/** A spread would leave out the hidden members that mark a kind and an optional field. */
const copyOf = (schema: object) =>
  Object.create(Object.prototype, Object.getOwnPropertyDescriptors(schema))

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
