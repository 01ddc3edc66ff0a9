// The count of near duplicates equals a comparison of all pairs of facts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NearDuplicateCount } from './near-duplicates.ts'
import { type IndexedFact, Partition } from './partition.ts'
import { StoreIndex } from './store-index.ts'

const KEY = new Uint8Array(32).fill(7)
const AT = 100

function factOf(ref: number, content: string, rest: Partial<IndexedFact> = {}): IndexedFact {
  const validity = { valid_from_us: 0, valid_until_us: null }
  const plain = { namespace: null, metadata: {}, token_count: 1, vector: null }
  return { ref, content, ...plain, ...validity, ...rest }
}

const atOnce = () => undefined

async function countOf(facts: readonly IndexedFact[], at_us = AT): Promise<NearDuplicateCount> {
  const index = new StoreIndex(KEY)
  for (const fact of facts) index.put(fact)
  return index.countNearDuplicates(at_us, atOnce)
}

/** Words that no stemmer changes, one for each number. */
const word = (n: number): string =>
  `q${[...n.toString(8)].map((digit) => 'bcdfghjk'[Number(digit)]).join('')}`

const words = (from: number, count: number): string =>
  Array.from({ length: count }, (_, i) => word(from + i)).join(' ')

/** Deterministic numbers below `below`. */
function numbersFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Every two compared. */
function bruteForce(contents: readonly string[]): number {
  const sets = contents.map((content) => new Set(content.split(' ').filter((one) => one !== '')))
  return sets.filter((one, i) =>
    sets.some((other, j) => {
      if (i === j || one.size === 0) return false
      const shared = one.intersection(other).size
      return shared * 10 >= (one.size + other.size - shared) * 9
    }),
  ).length
}

test('facts with nine tenths of their words in common count, and no others', async () => {
  const cases: [string, string, number][] = [
    ['the same words', 'words, the SAME', 2],
    [words(0, 9), words(0, 10), 2],
    [words(0, 8), words(0, 9), 0],
    [words(0, 10), words(0, 11), 2],
    [words(0, 10), words(1, 10), 0],
    [words(0, 20), words(1, 20), 2],
    [words(0, 19), words(1, 19), 2],
    [words(0, 18), words(1, 18), 0],
    ['the of', 'of the', 0],
    ['', '', 0],
  ]
  for (const [one, other, expected] of cases) {
    const { near_duplicates, facts } = await countOf([factOf(1, one), factOf(2, other)])
    assert.deepEqual([near_duplicates, facts], [expected, 2], `${one} / ${other}`)
  }
})

test('a count equals a comparison of all pairs, in any order of writing', async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const next = numbersFrom(seed)
    const contents: string[] = []
    for (let i = 0; i < 150; i++) {
      const from = contents[next(contents.length + 1)]?.split(' ')
      if (from === undefined || next(3) > 0) contents.push(words(next(600), next(30)))
      else contents.push(from.with(next(from.length), word(next(600))).join(' '))
    }
    const facts = contents.map((content, ref) => factOf(ref, content))
    const expected = bruteForce(contents)
    assert.ok(expected > 0)
    assert.equal((await countOf(facts)).near_duplicates, expected, `seed ${seed}`)
    assert.equal((await countOf(facts.toReversed())).near_duplicates, expected)
  }
})

test('metadata do not affect similarity, and namespaces are separate', async () => {
  const metadata = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`key${i}`, i]))
  const alike = [factOf(1, words(0, 3), { metadata }), factOf(2, words(0, 3))]
  assert.equal((await countOf(alike)).near_duplicates, 2)
  const unlike = [factOf(1, words(0, 3), { metadata }), factOf(2, words(9, 3), { metadata })]
  assert.equal((await countOf(unlike)).near_duplicates, 0)
  const apart = [factOf(1, 'tea'), factOf(2, 'tea', { namespace: 'a' })]
  assert.deepEqual([(await countOf(apart)).near_duplicates, (await countOf(apart)).facts], [0, 2])
})

test('only facts valid at the time count, and the result says how long it is valid', async () => {
  const facts = [
    factOf(1, 'tea'),
    factOf(2, 'tea', { valid_from_us: 50, valid_until_us: 120 }),
    factOf(3, 'tea', { valid_from_us: 200 }),
  ]
  const seen = async (at_us: number) => {
    const { facts: valid, near_duplicates, from_us, until_us } = await countOf(facts, at_us)
    return [valid, near_duplicates, from_us, until_us]
  }
  assert.deepEqual(await seen(AT), [2, 2, 50, 120])
  assert.deepEqual(await seen(120), [1, 0, 120, 200])
  assert.deepEqual(await seen(200), [2, 2, 200, Number.POSITIVE_INFINITY])
})

test('facts that share only very frequent words are not compared', async () => {
  const common = words(0, 10)
  const facts = Array.from({ length: 257 }, (_, i) =>
    factOf(i, `${common} ${words(100 + 20 * i, 9)}`),
  )
  const near = [factOf(1_000, common), factOf(1_001, `${common} ${word(50)}`)]
  // The longer one has a rare word, which the shorter lacks; all else is common to 259.
  assert.equal((await countOf([...facts, ...near])).near_duplicates, 0)
  assert.equal((await countOf([...facts.slice(2), ...near])).near_duplicates, 0)
  assert.equal((await countOf([...facts.slice(4), ...near])).near_duplicates, 2)
})

test('a count yields between any two steps, and erasures in between do no harm', async () => {
  const index = new StoreIndex(KEY)
  for (let ref = 0; ref < 4_000; ref++) index.put(factOf(ref, words(ref % 3_000, 12)))
  let steps = 0
  let gone = 0
  const pace = () => {
    if (++steps % 100 > 0) return undefined
    return new Promise<void>((resolve) => {
      setImmediate(() => {
        index.remove(gone++)
        resolve()
      })
    })
  }
  const { near_duplicates } = await index.countNearDuplicates(AT, pace)
  assert.ok(gone >= 40)
  assert.ok(near_duplicates > 0)
  const { facts } = await index.countNearDuplicates(AT, atOnce)
  assert.equal(facts, 4_000 - gone)
})

test('a fact is compared once with each other one, and the count yields in between', async (t) => {
  const index = new StoreIndex(KEY)
  const next = numbersFrom(1)
  const facts = 40
  for (let ref = 0; ref < facts; ref++) {
    const some = Array.from({ length: 900 }, (_, n) => n).filter(() => next(3) > 0)
    index.put(factOf(ref, some.map(word).join(' ')))
  }
  const compared = t.mock.method(Partition.prototype, 'listTerms')
  let before = 0
  let longest = 0
  const pace = () => {
    longest = Math.max(longest, compared.mock.callCount() - before)
    before = compared.mock.callCount()
    return undefined
  }
  assert.equal((await index.countNearDuplicates(AT, pace)).near_duplicates, 0)
  const comparisons = compared.mock.callCount()
  assert.ok(comparisons > facts && comparisons <= facts * (facts - 1), `${comparisons}`)
  assert.equal(longest, 1)
})
