// Statements over a few items at once: one for each number of items, built when first needed.

/** The parameters `r0`, `r1`, … of a statement over `count` items. */
export const itemsOf = <V extends number>(
  p: Readonly<Record<string, V>>,
  count: number,
  letter: string,
): V[] => Array.from({ length: count }, (_, i) => `${letter}${i}`).flatMap((name) => p[name] ?? [])

/** The statement for `count` items; `build` is called once for each count. */
export function perCount<S>(build: (count: number) => S): (count: number) => S {
  const built = new Map<number, S>()
  return (count) => {
    const known = built.get(count)
    if (known !== undefined) return known
    const made = build(count)
    built.set(count, made)
    return made
  }
}

/** What `itemsOf` names, for the values of one run. */
export function itemParams<V>(values: readonly V[], letter: string): Record<string, V> {
  const params: Record<string, V> = {}
  let at = 0
  for (const value of values) {
    params[`${letter}${at}`] = value
    at += 1
  }
  return params
}
