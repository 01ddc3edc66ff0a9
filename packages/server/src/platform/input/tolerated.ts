// Drops what existing clients send and an operation does not use: see `tolerated` of its contract.

/** Deletes the tolerated names of a value. */
export type Dropper = (value: unknown) => void

/**
 * A function that deletes the names of one place, or null when there are none.
 * @param tolerated names like `query.limit`, `body.options.app` and `body.items[].app`
 */
export function compileDropper(
  tolerated: readonly string[] = [],
  where: 'body' | 'query',
): Dropper | null {
  const ways = tolerated
    .map((name) => name.replaceAll('[]', '.[]').split('.'))
    .flatMap(([place, ...way]) => (place === where ? [way] : []))
  if (ways.length === 0) return null
  return (value) => {
    for (const way of ways) drop(value, way)
  }
}

function drop(value: unknown, [step, ...further]: readonly string[]): void {
  if (!isRecord(value) || step === undefined) return
  if (step === '[]') {
    if (Array.isArray(value)) for (const item of value) drop(item, further)
  } else if (further.length > 0) drop(value[step], further)
  else delete value[step]
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null
