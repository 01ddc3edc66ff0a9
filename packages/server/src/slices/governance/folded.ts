// Text as it reads: compatibility forms made plain, invisible characters left out, with offsets.

export interface Folded {
  readonly text: string
  /** UTF-16 offset in the original of the character at `i`. */
  startOf(i: number): number
  /** UTF-16 offset after the last character of what ends before `i`. */
  endOf(i: number): number
}

const ASCII = /^[\0-\x7f]*$/
const IGNORABLE = /\p{Default_Ignorable_Code_Point}/gu
/** A character with the marks and the invisible ones that belong to it. */
const CLUSTER =
  /[^\p{M}\p{Default_Ignorable_Code_Point}]?[\p{M}\p{Default_Ignorable_Code_Point}]*/gu

const plain = (text: string): string => text.replaceAll(IGNORABLE, '').normalize('NFKC')

/** Null: the text reads as it stands. */
export function foldText(text: string): Folded | null {
  if (ASCII.test(text) || plain(text) === text) return null
  const pieces: string[] = []
  const [starts, ends]: [number[], number[]] = [[], []]
  for (const { 0: cluster, index } of text.matchAll(CLUSTER)) {
    const piece = plain(cluster)
    pieces.push(piece)
    for (let i = 0; i < piece.length; i += 1) {
      starts.push(index)
      ends.push(index + cluster.length)
    }
  }
  return {
    text: pieces.join(''),
    startOf: (i) => starts[i] ?? text.length,
    endOf: (i) => ends[i - 1] ?? 0,
  }
}
