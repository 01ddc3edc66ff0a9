// Pure: every place where one text stands in another, in linear time.

/** What is read of the text that is searched; any string is one. */
export type Searched = Pick<string, 'length' | 'charCodeAt' | 'indexOf'>

// Found natively; so short that even the slowest search for it is linear.
const START_UNITS = 8

/**
 * The positions of `wanted` in `text`, ascending, also those that overlap. Takes time in proportion
 * to both lengths, whatever they say (Knuth, Morris and Pratt, 1977): whoever wrote the texts may
 * want it slow. Nothing is read of a text that is shorter than `wanted`.
 */
export function* occurrences(text: Searched, wanted: string): Generator<number> {
  if (wanted === '' || wanted.length > text.length) return
  const start = wanted.slice(0, START_UNITS)
  let borders: Int32Array | undefined
  // The first `held` units of what is wanted end at `at`.
  let [at, held] = [0, 0]
  for (;;) {
    if (held === 0) {
      const found = text.indexOf(start, at)
      if (found === -1) return
      borders ??= bordersOf(wanted)
      at = found + start.length
      held = start.length
    }
    while (held < wanted.length && text.charCodeAt(at) === wanted.charCodeAt(held)) {
      at += 1
      held += 1
    }
    if (held === wanted.length) yield at - held
    else if (at === text.length) return
    held = borders?.[held] ?? 0
  }
}

/** For each number of first units: how many of them, but not all, are also the last ones. */
function bordersOf(wanted: string): Int32Array {
  const borders = new Int32Array(wanted.length + 1)
  let held = 0
  for (let at = 1; at < wanted.length; at += 1) {
    while (held > 0 && wanted.charCodeAt(at) !== wanted.charCodeAt(held)) held = borders[held] ?? 0
    if (wanted.charCodeAt(at) === wanted.charCodeAt(held)) held += 1
    borders[at + 1] = held
  }
  return borders
}
