// Drops members that existing clients send but an operation ignores: `tolerated` of its contract.

/**
 * Returns a function that deletes the tolerated names of one place, or null if there are none.
 * @param tolerated names like `query.limit`, `body.options.app` and `body.items[].app`
 */
export function compileDropper(
  tolerated: readonly string[] = [],
  where: 'body' | 'query',
): ((value: unknown) => void) | null {
  const paths = tolerated
    .map((name) => name.replaceAll('[]', '.[]').split('.'))
    .flatMap(([place, ...path]) => (place === where ? [path] : []))
  if (paths.length === 0) return null
  return (value) => {
    for (const path of paths) drop(value, path)
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
