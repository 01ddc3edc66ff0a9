// The table of ranks: every token of the vocabulary and nothing else, and only of a whole file.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import reference from 'gpt-tokenizer/bpeRanks/o200k_base'
import { RankedTokens } from './ranked-tokens.ts'

const path = fileURLToPath(import.meta.resolve('gpt-tokenizer/data/o200k_base.tiktoken'))

test('every token of the vocabulary has its rank, and no other bytes have one', async () => {
  const tokens = await RankedTokens.read(readFileSync(path))
  const rankOf = (bytes: Uint8Array) => tokens.rankOf(bytes, 0, bytes.length)
  const known = new Set<string>()
  for (const [rank, token] of reference.entries()) {
    if (token === undefined) continue
    const bytes = typeof token === 'string' ? Buffer.from(token) : Buffer.from(token)
    known.add(bytes.toString('latin1'))
    if (rankOf(bytes) !== rank) assert.fail(`rank ${rank}`)
  }
  assert.ok(known.size > 199_000)
  for (const token of known) {
    const longer = Buffer.from(`${token}\u0000`, 'latin1')
    if (rankOf(longer) !== -1) assert.ok(known.has(longer.toString('latin1')))
  }
  assert.equal(rankOf(Buffer.alloc(0)), -1)
  assert.equal(rankOf(Buffer.alloc(tokens.longest + 1, ' ')), -1)
})

test('other requests run while the ranks are read', async () => {
  let ran = false
  setImmediate(() => {
    ran = true
  })
  await RankedTokens.read(readFileSync(path))
  assert.equal(ran, true)
})

test('a token is found inside other bytes', async () => {
  const tokens = await RankedTokens.read(Buffer.from('YQ== 0\nYmM= 1\n'))
  const bytes = Buffer.from('xabcx')
  assert.deepEqual(
    [tokens.rankOf(bytes, 1, 2), tokens.rankOf(bytes, 2, 4), tokens.rankOf(bytes, 1, 3)],
    [0, 1, -1],
  )
})

describe('a file that is no list of ranks is refused', () => {
  for (const [name, file] of [
    ['a rank that is left out', 'YQ== 0\nYg== 2\n'],
    ['ranks in another order', 'YQ== 1\nYg== 0\n'],
    ['a character that is not Base64', 'Y*== 0\n'],
    ['a line without a rank', 'YQ==\nYg== 1\n'],
    ['a line that is cut', 'YQ'],
    ['a last line that does not end', 'YQ== 0\nYg== 1'],
    ['nothing', ''],
  ] as const)
    test(name, () => assert.rejects(RankedTokens.read(Buffer.from(file)), /list of tokens/))
})
