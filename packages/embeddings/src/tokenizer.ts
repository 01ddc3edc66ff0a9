// Splits text into WordPiece tokens like uncased BERT models, in time linear in the text.

import { NONE, ROOT, TokenTrie } from './token-trie.ts'

/** A word with more code points than this is one unknown token. */
const WORD_CHARACTERS_MAX = 100

/** The prefix of a token that continues a word. */
const MARK = '##'
const SPACE = 0x20

/** Visible ASCII and the white space that separates. Such text needs no Unicode tables. */
const PLAIN = /^[\t\n\r -~]*$/
const PART = /[!-/:-@[-`{-~\p{P}]|[^\p{White_Space}!-/:-@[-`{-~\p{P}]+/gu

// Control characters except the three separators, format and private characters, and U+FFFD.
const DROPPED = /(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\ufffd]/gu
// The ranges in which BERT's tokenizer makes each character a word. Its extension E starts late, at
// 2B920, and so it does here.
const IDEOGRAPH = new RegExp(
  `[${[
    '\\u4e00-\\u9fff\\u3400-\\u4dbf\\uf900-\\ufaff\\u{20000}-\\u{2a6df}\\u{2a700}-\\u{2b73f}',
    '\\u{2b740}-\\u{2b81f}\\u{2b920}-\\u{2ceaf}\\u{2f800}-\\u{2fa1f}',
  ].join('')}]`,
  'gu',
)
const ACCENT = /\p{Mn}/gu
const WITHOUT_MARKS = /\P{M}+/gu

/** Converts to lower case, drops accents and control characters, puts spaces around ideographs. */
export function normalise(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase()
  return (
    text
      .toWellFormed()
      .replace(DROPPED, '')
      .replace(IDEOGRAPH, ' $& ')
      // Decomposition sorts marks, in quadratic time for a hostile text. Marks are removed
      // anyway, so they are removed before it, and those that it adds after it.
      .replace(ACCENT, '')
      .replace(WITHOUT_MARKS, (run) => run.normalize('NFD'))
      .replace(ACCENT, '')
      // JavaScript would convert a sigma by its position in the word.
      .replaceAll('Σ', 'σ')
      .toLowerCase()
  )
}

/** Words and single punctuation characters of a normalised text. */
export function splitTokens(normalised: string): readonly string[] {
  return normalised.match(PART) ?? []
}

/** Tokenises texts by the vocabulary of a model. */
export class Tokenizer {
  readonly #vocabulary: readonly string[]
  readonly #trie: TokenTrie
  /** The node of the mark, below which the tokens are that continue a word. */
  readonly #rest: number
  /** The length of each token in UTF-16 units, without the mark of a continuation. */
  readonly #lengths: Uint16Array
  readonly #unknown: number

  /** `vocabulary` has a token at each id; those that continue a word start with `##`. */
  constructor(vocabulary: readonly string[]) {
    this.#vocabulary = vocabulary
    // No word of a text begins with the mark, because each punctuation character is a word.
    this.#trie = new TokenTrie(vocabulary)
    let node = ROOT
    for (const mark of MARK) node = this.#trie.childOf(node, mark.charCodeAt(0))
    this.#rest = node
    this.#lengths = Uint16Array.from(vocabulary, (token) =>
      isContinuation(token) ? token.length - MARK.length : token.length,
    )
    this.#unknown = vocabulary.indexOf('[UNK]')
    if (this.#unknown === -1) throw new Error('the vocabulary has no [UNK]')
  }

  /** Tokens that start a word, with their ids. */
  *words(): Iterable<[string, number]> {
    for (const [id, token] of this.#vocabulary.entries())
      if (!isContinuation(token)) yield [token, id]
  }

  /**
   * At most `limit` token ids of `text`, without the special tokens that models put around a text.
   * Names of special tokens in the text are treated as ordinary words.
   */
  tokenise(text: string, limit = Number.POSITIVE_INFINITY): number[] {
    const ids: number[] = []
    const normalised = normalise(text)
    if (PLAIN.test(normalised)) this.#appendPlain(normalised, ids, limit)
    else
      for (const word of splitTokens(normalised)) {
        if (ids.length >= limit) break
        this.#appendWord(word, 0, word.length, ids)
      }
    if (ids.length > limit) ids.length = limit
    return ids
  }

  /** Like `splitTokens`, for normalised plain text, but without a string for each word. */
  #appendPlain(text: string, ids: number[], limit: number): void {
    for (let at = 0; at < text.length && ids.length < limit; ) {
      const from = at
      while (isAlphanumeric(text.charCodeAt(at))) at += 1
      if (at === from) at += 1
      if (text.charCodeAt(from) > SPACE) this.#appendWord(text, from, at, ids)
    }
  }

  /**
   * Appends the word in `text` from `start` to `end`, by repeatedly taking the longest token that
   * matches. If none matches the rest, the whole word is unknown.
   */
  #appendWord(text: string, start: number, end: number, ids: number[]): void {
    const lengths = this.#lengths
    const before = ids.length
    let id = this.#trie.findLongest(ROOT, text, start, end)
    let at = start + (lengths[id] ?? 0)
    if (at < end && isTooLong(text, start, end)) id = NONE
    while (id !== NONE) {
      ids.push(id)
      if (at === end) return
      id = this.#trie.findLongest(this.#rest, text, at, end)
      at += lengths[id] ?? 0
    }
    ids.length = before
    ids.push(this.#unknown)
  }
}

const isContinuation = (token: string): boolean =>
  token.startsWith(MARK) && token.length > MARK.length

/** Whether a unit is a lower-case ASCII letter or digit; false for NaN beyond the end. */
const isAlphanumeric = (unit: number): boolean =>
  (unit >= 0x61 && unit <= 0x7a) || (unit >= 0x30 && unit <= 0x39)

function isTooLong(text: string, start: number, end: number): boolean {
  if (end - start <= WORD_CHARACTERS_MAX) return false
  if (end - start > 2 * WORD_CHARACTERS_MAX) return true
  return [...text.slice(start, end)].length > WORD_CHARACTERS_MAX
}
