// An explanation costs what a search costs, for any number of terms and facts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EXPLAIN_DATES_MAX, EXPLAIN_TERMS_MAX } from '@custos/contract'
import { finish } from './columns/steps.ts'
import { explainQueryDates, explainQueryTerms, explainScores } from './explain-scores.ts'
import { scoreTerms, takeScratch } from './lexical-scores.ts'
import { Partition } from './partition.ts'
import { findVisible, rankFacts, type SearchOptions } from './ranking.ts'

const FACTS = 300
const TERMS = 1_000

/** Words that no stemmer changes, one for each number. */
const word = (n: number): string =>
  `q${[...n.toString(8)].map((digit) => 'bcdfghjk'[Number(digit)]).join('')}`

const names = Array.from({ length: TERMS }, (_, n) => word(n))

function requestFor(query: string): SearchOptions {
  const open = {
    vector: null,
    similar: null,
    namespace: null,
    filter: null,
    visible: null,
    min_score: null,
    min_confidence: 0,
  }
  return { query, at_us: 1, now_us: 1, limit: FACTS, ...open }
}

/** Each fact has a word of its own, every second of a session, and one word is in all. */
function filled(): Partition {
  const partition = new Partition(new Uint8Array(32), { namespace: null, number: 0 })
  for (let ref = 0; ref < FACTS; ref++) {
    const metadata = ref % 2 === 0 ? { session_id: 's' } : {}
    const content = `${word(TERMS - 1 - ref)} common`
    const validity = { valid_from_us: 0, valid_until_us: null }
    const rest = { namespace: null, token_count: 2, vector: null }
    partition.put({ ref, content, metadata, ...validity, ...rest })
  }
  return partition
}

test('an observer is told only of memories whose score a term raises', () => {
  const partition = filled()
  partition.analysePending()
  const scratch = takeScratch(partition)
  const visible = finish(findVisible(partition, requestFor(''), scratch))
  const watched = new Uint8Array(partition.columns.used).fill(1)
  let told = 0
  const onGain = () => {
    told += 1
  }
  const input = { visible, now_us: 1, scratch }
  finish(scoreTerms(partition, [...names, 'common'], { ...input, observer: { watched, onGain } }))
  scratch.reset()
  // Each of 150 in a session lends its word to two on either side, but at the two ends.
  const lent = (FACTS / 2) * 4 - 6
  assert.equal(told, FACTS + FACTS + lent)
})

test('terms beyond those listed are summed without losing a bit', () => {
  const partition = filled()
  const request = requestFor(`common ${names.join(' ')}`)
  const ranked = rankFacts(partition, request)
  const refs = ranked.map(({ ref }) => ref)
  const { terms, further_terms, scores } = explainScores(partition, request, refs)
  assert.equal(terms.length, EXPLAIN_TERMS_MAX)
  assert.equal(further_terms, TERMS + 1 - EXPLAIN_TERMS_MAX)
  const named = new Set(terms.map(({ term }) => term))
  assert.equal(ranked.length, FACTS)
  for (const { ref, parts } of ranked) {
    const { own, lent, further } = scores.get(ref) ?? assert.fail()
    for (const { term } of [...own, ...lent]) assert.ok(named.has(term), term)
    const sum = [...own, ...lent].reduce((total, one) => total + one.score, further)
    assert.equal(sum, parts.lexical + parts.neighbour)
    assert.ok(further > 0)
  }
  assert.ok([...scores.values()].some(({ own }) => own.length > 0))
})

test('of a very long query a bounded number of terms and dates is listed', () => {
  assert.equal(explainQueryTerms(names.join(' ')).terms.length, EXPLAIN_TERMS_MAX)
  assert.equal(explainQueryTerms(names.join(' ')).further_terms, TERMS - EXPLAIN_TERMS_MAX)
  const dates = Array.from({ length: 200 }, (_, n) => `${2_000 + n}-05-07`)
  assert.deepEqual(
    explainQueryDates(dates.join(' ')).map(({ date }) => date),
    dates.slice(0, EXPLAIN_DATES_MAX),
  )
})
