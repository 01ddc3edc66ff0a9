// Fills in the defaults a schema declares, at every level of declared objects and arrays.

type Fill = (value: unknown) => void

/** A function that sets missing members to their defaults, or null when there are none. */
export function compileDefaults(schema: unknown): Fill | null {
  if (!isRecord(schema)) return null
  if (Array.isArray(schema['anyOf'])) return firstOf(schema['anyOf'].map(compileDefaults))
  if (schema['type'] === 'array') return compileItems(schema['items'])
  if (!isRecord(schema['properties'])) return null
  const members = Object.entries(schema['properties']).flatMap(([name, property]) => {
    const fill = compileDefaults(property)
    const preset = isRecord(property) ? property['default'] : undefined
    return preset === undefined && fill === null ? [] : [{ name, preset, fill }]
  })
  if (members.length === 0) return null
  return (value) => {
    if (!isRecord(value) || Array.isArray(value)) return
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
