// Counts the tokens of a text by a store's named tokenizer: what retrieval budgets are spent in.

import { readFile } from 'node:fs/promises'
import { O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants'
import { loadOnce } from '../load-once.ts'
import { BytePairCounter } from './byte-pair-counter.ts'
import { RankedTokens } from './ranked-tokens.ts'

export type TokenizerName = 'o200k_base' | 'chars'

/**
 * A named way to count a text. `count` is a pure function of the text: never negative, 0 for the
 * empty text. A budget holds exactly because a stored count and a returned one both come from it.
 */
export interface Tokenizer {
  readonly name: TokenizerName
  count(text: string): number
}

/** Unicode code points: the proxy the GMP conformance suite counts in. A lone surrogate is one. */
const chars: Tokenizer = {
  name: 'chars',
  count(text) {
    let codePoints = 0
    for (let at = 0; at < text.length; at++) {
      // The second unit of a pair is skipped: codePointAt has read it already.
      if ((text.codePointAt(at) ?? 0) > 0xffff) at++
      codePoints++
    }
    return codePoints
  },
}

// Only the data of the package: its encoder is quadratic and remembers words of the content.
// Resolved with the module: a process that has run out of file descriptors cannot resolve it later.
const RANKS = new URL(import.meta.resolve('gpt-tokenizer/data/o200k_base.tiktoken'))

const loadO200kBase = loadOnce(readO200kBase)

/**
 * Loads a tokenizer. `o200k_base` reads its 200k ranks on first use (about 0.1 s and 12 MB) and
 * stays loaded; `chars` costs nothing.
 *
 * Control text such as `<|endoftext|>` is content and counted as text. A word (or a run of spaces
 * or symbols) of more than 128 bytes is merged in stretches, so that 256 KiB of anything takes
 * under 0.1 s. Every other text gets the exact count; such a word gets nearly always the exact
 * count or a few tokens more, and rarely one fewer, since greedy merging is not minimal. The
 * budget is a promise in this function's counts, so that difference can never break it.
 */
export function loadTokenizer(name: TokenizerName): Promise<Tokenizer> {
  return name === 'chars' ? Promise.resolve(chars) : loadO200kBase()
}

async function readO200kBase(): Promise<Tokenizer> {
  const tokens = new RankedTokens(await readFile(RANKS))
  const counter = new BytePairCounter({ tokens, piecePattern: O200K_TOKEN_SPLIT_REGEX })
  return { name: 'o200k_base', count: (text) => counter.count(text) }
}
