// Statements over a few items at once: one for each number of items, built when first needed.

/** The first `count` items of a list parameter, or rows of a list of rows. */
export const itemsOf = <V>(list: readonly V[], count: number): V[] =>
  Array.from({ length: count }, (_, i) => list[i]).flatMap((item) => item ?? [])

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

/** Does it for so many items at a time, all of them at once. */
export function inParts<V, T>(
  items: readonly V[],
  most: number,
  act: (some: readonly V[]) => Promise<T>,
): Promise<T[]> {
  const acts: Promise<T>[] = []
  for (let at = 0; at < items.length; at += most) acts.push(act(items.slice(at, at + most)))
  return Promise.all(acts)
}
