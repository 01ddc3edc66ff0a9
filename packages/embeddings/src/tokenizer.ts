// Text to WordPiece tokens as uncased BERT models read it, in time linear in the text.

/** A word of more code points than this is unknown as a whole. */
const WORD_CHARACTERS_MAX = 100

/** Visible ASCII and the white space that counts: such text needs no Unicode tables. */
const PLAIN = /^[\t\n\r -~]*$/
const PLAIN_PART = /[a-z0-9]+|[!-/:-@[-`{-~]/g
const PART = /[!-/:-@[-`{-~\p{P}]|[^\p{White_Space}!-/:-@[-`{-~\p{P}]+/gu

// Controls but the three that separate, formats, private characters, the replacement character.
const DROPPED = /(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\ufffd]/gu
// The ranges that BERT's tokenizer sets apart, each character a word of its own; extension E starts
// late there, at 2B920, and so it does here.
const IDEOGRAPH = new RegExp(
  `[${[
    '\\u4e00-\\u9fff\\u3400-\\u4dbf\\uf900-\\ufaff\\u{20000}-\\u{2a6df}\\u{2a700}-\\u{2b73f}',
    '\\u{2b740}-\\u{2b81f}\\u{2b920}-\\u{2ceaf}\\u{2f800}-\\u{2fa1f}',
  ].join('')}]`,
  'gu',
)
const ACCENT = /\p{Mn}/gu
const WITHOUT_MARKS = /\P{M}+/gu

/** Lower case, without accents and controls, ideographs between spaces. */
export function normalise(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase()
  return (
    text
      .toWellFormed()
      .replace(DROPPED, '')
      .replace(IDEOGRAPH, ' $& ')
      // Decomposing puts marks in order, in quadratic time for a text made for it. None stays, so
      // they are taken out first, and what decomposing brings is taken out after.
      .replace(ACCENT, '')
      .replace(WITHOUT_MARKS, (run) => run.normalize('NFD'))
      .replace(ACCENT, '')
      // Each character by itself: JavaScript would write a sigma by its place in the word.
      .replaceAll('Σ', 'σ')
      .toLowerCase()
  )
}

/** Words and single punctuation characters of a normalised text. */
export function splitTokens(normalised: string): readonly string[] {
  return normalised.match(PLAIN.test(normalised) ? PLAIN_PART : PART) ?? []
}

/** The vocabulary of a model and the reading of texts by it. */
export class Tokenizer {
  readonly #first = new Map<string, number>()
  readonly #next = new Map<string, number>()
  readonly #unknown: number
  #longest = 0

  /** `vocabulary` has a token at each id; those that continue a word start with `##`. */
  constructor(vocabulary: readonly string[]) {
    for (const [id, token] of vocabulary.entries()) {
      const continues = token.startsWith('##') && token.length > 2
      const part = continues ? token.slice(2) : token
      ;(continues ? this.#next : this.#first).set(part, id)
      this.#longest = Math.max(this.#longest, part.length)
    }
    const unknown = this.#first.get('[UNK]')
    if (unknown === undefined) throw new Error('the vocabulary has no [UNK]')
    this.#unknown = unknown
  }

  /** Tokens that start a word, with their ids. */
  words(): Iterable<[string, number]> {
    return this.#first.entries()
  }

  /**
   * Token ids of `text`, without the marks that models put around a text, at most `limit`. Names of
   * special tokens in a text are read as the words they are.
   */
  tokenise(text: string, limit = Number.POSITIVE_INFINITY): number[] {
    const ids: number[] = []
    for (const word of splitTokens(normalise(text))) {
      if (ids.length >= limit) break
      this.#appendWord(word, ids)
    }
    if (ids.length > limit) ids.length = limit
    return ids
  }

  /** The longest token that fits, again and again; a word with a rest that none fits is unknown. */
  #appendWord(word: string, ids: number[]): void {
    const whole = this.#first.get(word)
    if (whole !== undefined) {
      ids.push(whole)
      return
    }
    if (isTooLong(word)) {
      ids.push(this.#unknown)
      return
    }
    const before = ids.length
    for (let from = 0; from < word.length; ) {
      const tokens = from === 0 ? this.#first : this.#next
      let to = Math.min(word.length, from + this.#longest)
      let id = tokens.get(word.slice(from, to))
      while (id === undefined && to > from + 1) id = tokens.get(word.slice(from, --to))
      if (id === undefined) {
        ids.length = before
        ids.push(this.#unknown)
        return
      }
      ids.push(id)
      from = to
    }
  }
}

function isTooLong(word: string): boolean {
  if (word.length <= WORD_CHARACTERS_MAX) return false
  if (word.length > 2 * WORD_CHARACTERS_MAX) return true
  return [...word].length > WORD_CHARACTERS_MAX
}
