// Finds the declared name that a misspelt one most likely means.

const DISTANCE_MAX = 3
const CHARS_MAX = 64

/**
 * The candidate with the smallest edit distance, or null when none is near: one edit for every three
 * characters, three at most. An edit inserts, deletes or replaces a character, or swaps two
 * neighbours; case does not count.
 */
export function findNearestName(name: string, candidates: readonly string[]): string | null {
  if (name.length > CHARS_MAX) return null
  const given = name.toLowerCase()
  let nearest: string | null = null
  let smallest = DISTANCE_MAX + 1
  for (const candidate of candidates) {
    const allowed = Math.min(DISTANCE_MAX, Math.floor(Math.max(name.length, candidate.length) / 3))
    const distance = editDistance(given, candidate.toLowerCase())
    if (distance > allowed || distance >= smallest) continue
    nearest = candidate
    smallest = distance
  }
  return nearest
}

/** The optimal string alignment distance of two texts, by rows of the usual matrix. */
function editDistance(one: string, other: string): number {
  let before: number[] = []
  let above = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= other.length; column += 1) {
      const replaced = one[row - 1] === other[column - 1] ? 0 : 1
      let least = Math.min(
        at(above, column) + 1,
        at(current, column - 1) + 1,
        at(above, column - 1) + replaced,
      )
      if (one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1])
        least = Math.min(least, at(before, column - 2) + 1)
      current.push(least)
    }
    before = above
    above = current
  }
  return at(above, other.length)
}

const at = (row: readonly number[], column: number): number =>
  row[column] ?? Number.MAX_SAFE_INTEGER
