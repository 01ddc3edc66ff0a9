// Counts tokens without the service: the reference encoder of o200k_base, control text as text.

import { countTokens, setMergeCacheSize } from 'gpt-tokenizer/encoding/o200k_base'

// Its own cache, of merged words, would cost more than it saves.
setMergeCacheSize(0)

const asText = { disallowedSpecial: new Set<string>() }

/** The same few thousand texts come back in answer after answer. */
const counted = new Map<string, number>()
const COUNTED_MAX = 20_000

/** Exact, but slow on words of hundreds of letters. */
export function countO200k(text: string): number {
  const known = counted.get(text)
  if (known !== undefined) return known
  const count = countTokens(text, asText)
  if (counted.size === COUNTED_MAX) counted.clear()
  counted.set(text, count)
  return count
}
