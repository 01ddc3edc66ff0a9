// Replaces characters that a font lacks by their code points, and orders right-to-left text for
// display.

/** Printable ASCII, which every font has. */
const PLAIN = /^[\x20-\x7e]*$/
/** Characters without a glyph: joiners, variation selectors, direction marks, controls. */
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Cs}]/u

/**
 * The text, and whether a character was replaced by its code point.
 * @param has whether the font has a glyph for a code point
 */
export function lettersOf(
  text: string,
  has: (codePoint: number) => boolean,
): { readonly text: string; readonly named: boolean } {
  if (PLAIN.test(text)) return { text, named: false }
  let shown = ''
  let absent: string[] = []
  let named = false
  const name = () => {
    if (absent.length > 0) shown += `[${absent.join(' ')}]`
    absent = []
  }
  for (const character of text.normalize('NFC').replaceAll(/\s/gu, ' ')) {
    const codePoint = character.codePointAt(0) ?? 0
    if (UNSEEN.test(character)) continue
    if (has(codePoint)) {
      name()
      shown += character
      continue
    }
    named = true
    absent.push(`U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}`)
  }
  name()
  return { text: shown, named }
}

const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Nko}]/u
const LEFT_TO_RIGHT = /\p{L}/u

export const isRightToLeft = (text: string): boolean => {
  const first = /\p{L}/u.exec(text)?.[0]
  return first !== undefined && RIGHT_TO_LEFT.test(first)
}

/**
 * The words of a line in visual order, from the left. A simplified UAX #9 by words, not letters:
 * the script of a word decides its direction, and numbers follow the words around them.
 */
export function visualOrder(words: readonly string[], rightToLeft: boolean): string[] {
  const runs: { rtl: boolean; words: string[] }[] = []
  for (const word of words) {
    const last = runs.at(-1)
    const rtl = RIGHT_TO_LEFT.test(word)
      ? true
      : LEFT_TO_RIGHT.test(word)
        ? false
        : (last?.rtl ?? rightToLeft)
    if (last?.rtl === rtl) last.words.push(word)
    else runs.push({ rtl, words: [word] })
  }
  const ordered = rightToLeft ? runs.toReversed() : runs
  return ordered.flatMap((run) => (run.rtl ? run.words.toReversed() : run.words))
}

/** Breaks words into lines no wider than `width`. Splits a word that is wider. */
export function linesOf(
  text: string,
  width: number,
  widthOf: (text: string) => number,
): string[][] {
  const lines: string[][] = [[]]
  const put = (word: string) => {
    const line = lines.at(-1) ?? []
    if (line.length === 0 || widthOf([...line, word].join(' ')) <= width) line.push(word)
    else lines.push([word])
  }
  for (const word of text.split(' ').filter((one) => one !== ''))
    for (const piece of piecesOf(word, width, widthOf)) put(piece)
  return lines
}

function piecesOf(word: string, width: number, widthOf: (text: string) => number): string[] {
  if (widthOf(word) <= width) return [word]
  const pieces = ['']
  for (const character of word) {
    const grown = `${pieces.at(-1)}${character}`
    if (widthOf(grown) <= width) pieces[pieces.length - 1] = grown
    else pieces.push(character)
  }
  return pieces
}
