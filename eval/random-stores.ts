// Random memories, queries and budgets for the property run: odd texts, all scripts, no long blobs.

import type {
  PlainFact,
  PlainRequest,
} from '../packages/server/src/slices/memory/testing/in-process-retrieval.ts'
import { below, pick, type Random } from './data/random.ts'

const WORDS = (
  'Oslo Rome coffee tea holiday paint garden Tuesday moved bought a the of and not may 7th 2023 ' +
  '2023-05-07 3.14 100,000 e-mail O’Neill Zürich naïve Łódź Ωmega привет мир 東京 会議 かな 한국어 ' +
  'नमस्ते ภาษาไทย שלום مرحبا 😀 👩‍👩‍👧 🇳🇴 é ﬁ Ⅷ x² ½ §7 <|endoftext|> ' +
  '<|im_start|> {"a":1} \\n http://a.b/c?d=e ' +
  '-- ... !!! ¿ “quoted” snake_case camelCase CONSTANT /path/to #tag @name $5.00 €'
).split(' ')
const SEPARATORS = [' ', ' ', ' ', ' ', '  ', '\n', '\t', ', ', '. ', '', '/', '\r\n', '\u00a0']
/**
 * A longer stretch without a separator is counted in parts by the service, nearly always exact:
 * its counts are then its own, and not those of the reference encoder.
 */
const JOINED_MAX = 3

/** Up to `words` words, at most a few of them joined. */
function randomText(random: Random, words: number): string {
  let text = ''
  let joined = 0
  for (let left = below(random, words + 1); left > 0; left -= 1) {
    const separator = pick(random, SEPARATORS)
    joined = separator === '' ? joined + 1 : 0
    text += pick(random, WORDS) + (joined >= JOINED_MAX ? ' ' : separator)
    if (joined >= JOINED_MAX) joined = 0
  }
  return text
}

export function randomFacts(random: Random, most: number): PlainFact[] {
  return Array.from({ length: below(random, most + 1) }, () => ({
    // A service refuses content without a word.
    content: `${pick(random, WORDS)} ${randomText(random, pick(random, [3, 12, 12, 40, 200]))}`,
    metadata: random() < 0.8 ? { session_id: `s${below(random, 4)}`, date: '2023-05-07' } : {},
  }))
}

/** Small budgets most often: there the edge is. */
export function randomRequest(random: Random): PlainRequest {
  return {
    query: randomText(random, 10),
    budget_tokens: below(random, pick(random, [2, 16, 64, 256, 1_024, 8_192, 2 ** 30])),
    top_k: random() < 0.2 ? 1 + below(random, 20) : null,
    min_score: random() < 0.1 ? random() : null,
  }
}
