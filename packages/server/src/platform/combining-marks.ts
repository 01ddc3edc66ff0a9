// Pure: puts long runs of combining marks in canonical order, before they are normalised.

// The engine's normaliser moves each mark into place one step at a time: 100,000 marks in the wrong
// order take it ten seconds. Short runs, which are all that real languages have, are left to it.
const LONG_RUN = /\p{M}{32}\p{M}*/gu

// Marks of the lowest and the highest combining class but 0 (The Unicode Standard, section 4.3).
const [LOWEST, HIGHEST] = ['\u0334', '\u0345']

/**
 * Returns a canonically equivalent text, which has the same normal forms as `text` but which
 * `String.prototype.normalize` handles in linear time. Linear itself (The Unicode Standard, section
 * 3.11, D108 to D109).
 */
export const sortCombiningMarks = (text: string): string => text.replace(LONG_RUN, orderRun)

function orderRun(run: string): string {
  // A few marks decompose into two.
  const apart = [...new Set(run)].map((mark) => [mark, mark.normalize('NFD')] as const)
  const ranks = ranksOf(new Set(apart.flatMap(([, marks]) => [...marks])))
  const pairs = apart.filter(([mark, marks]) => mark !== marks)
  let ordered = ''
  let ranked: string[] = []
  for (const mark of pairs.reduce((left, [one, two]) => left.replaceAll(one, two), run)) {
    const rank = ranks.get(mark)
    if (rank !== undefined) {
      ranked[rank] = (ranked[rank] ?? '') + mark
      continue
    }
    // A mark of class 0: no mark moves across it.
    ordered += ranked.join('') + mark
    ranked = []
  }
  return ordered + ranked.join('')
}

/** Ranks marks by combining class. Marks of class 0 have no rank. */
function ranksOf(marks: ReadonlySet<string>): Map<string, number> {
  const moving = [...marks].filter((mark) => isMoved(HIGHEST + mark) || isMoved(mark + LOWEST))
  const ranks = new Map<string, number>()
  let [rank, before] = [0, '']
  for (const mark of moving.join('').normalize('NFD')) {
    if (isMoved(mark + before)) rank += 1
    ranks.set(mark, rank)
    before = mark
  }
  return ranks
}

const isMoved = (marks: string): boolean => marks.normalize('NFD') !== marks
