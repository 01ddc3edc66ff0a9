// A search in steps answers as one that nothing interrupts, and begins again after a removal.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { EVERYTHING, fact, replay, request, step } from '../testing/index-steps.ts'
import type { SearchScratch } from './lexical-scores.ts'
import { Partition } from './partition.ts'
import { makeHeldScratch, rankFacts, rankInSteps } from './ranking.ts'
import { searchSteps } from './store-index.ts'

const { slots_min, ms } = searchSteps

before(() => Object.assign(searchSteps, { slots_min: 0, ms: 0 }))
after(() => Object.assign(searchSteps, { slots_min, ms }))

const facts = fc.uniqueArray(fact, { selector: ({ ref }) => ref, maxLength: 40 })
const change = fc.oneof(
  fc.record({ put: fact }),
  fc.record({ close: fc.nat(30), until: fc.option(fc.nat(30)) }),
  fc.record({ search: request }),
)

/** Also late in a search: it has some twenty steps. */
const sparse = fc.array(fc.option(change, { nil: undefined }), { maxLength: 40, size: 'max' })

/** As a search of a larger partition may leave it: what is never reset is high. */
function usedScratch(partition: Partition): SearchScratch {
  const scratch = makeHeldScratch(partition)
  const { alone, named, rests, passes } = scratch
  for (const left of [alone, rests, passes.sums, passes.dots]) left.fill(1e9)
  for (const left of [passes.sessionMaxima, passes.leasts, passes.dotMax]) left.fill(1e9)
  for (const left of [passes.sessions, passes.selected]) left.fill(0)
  for (const flags of [named, passes.valid, passes.filtered]) flags.fill(1)
  return scratch
}

test('what is put or changes its validity between two steps makes no difference', () => {
  let [interrupted, changed] = [0, 0]
  fc.assert(
    fc.property(facts, request, sparse, (held, one, changes) => {
      const partition = new Partition(new Uint8Array(32), { namespace: null, number: 0 })
      for (const put of held) partition.put(put)
      const expected = rankFacts(partition, one)
      const { version } = partition
      const steps = rankInSteps(partition, one, usedScratch(partition))
      partition.searches++
      const waiting = [...changes]
      let result = steps.next()
      for (; result.done !== true; result = steps.next()) {
        interrupted++
        const next = waiting.pop()
        if (next === undefined) continue
        changed++
        if ('search' in next) rankFacts(partition, next.search)
        else if ('close' in next)
          partition.changeValidity(next.close, { valid_from_us: 1, valid_until_us: next.until })
        else if (partition.findSlot(next.put.ref) === undefined) partition.put(next.put)
        // What was put was analysed by another search: such a search must begin again.
        if (partition.version !== version) return void steps.return([])
      }
      assert.deepEqual(result.value, expected)
    }),
    { numRuns: 1_000 },
  )
  assert(interrupted > 1_000 && changed > 500)
})

test('a search in steps finds what a search at once finds, whatever runs beside it', async () => {
  const many = fc.array(request, { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), many, async (steps, requests) => {
      const { index } = replay(steps)
      const found = requests.map((one) => index.searchInSteps(one, () => true))
      assert.deepEqual(
        await Promise.all(found),
        requests.map((one) => index.search(one)),
      )
    }),
    { numRuns: 150 },
  )
})

test('a search that waited finds what it finds alone, whatever changed meanwhile', async () => {
  const many = fc.array(fc.tuple(request, step), { minLength: 2, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), many, async (steps, turns) => {
      const { index, facts: held } = replay(steps)
      const ends = turns.map(([one]) => index.expectSearch(one))
      for (const [at, [one, change]] of turns.entries()) {
        assert.deepEqual(await index.searchInSteps(one, () => true), index.search(one))
        ends[at]?.()
        replay([change], index, held)
      }
    }),
    { numRuns: 150 },
  )
})

test('a fact that is removed while a search runs is not found by it', async () => {
  await fc.assert(
    fc.asyncProperty(facts, request, fc.nat(30), async (held, one, ref) => {
      const { index } = replay(held.map((put) => ({ put })))
      const found = index.searchInSteps({ ...one, limit: 100 }, () => true)
      index.remove(ref)
      assert(!(await found)?.some((ranked) => ranked.ref === ref))
      const late = index.searchInSteps(one, () => index.size === 0)
      assert.deepEqual(await late, index.size === 0 ? [] : null)
    }),
    { numRuns: 150 },
  )
})

test('a term of more facts than a step goes over scores alike, whatever runs between', () => {
  const partition = new Partition(new Uint8Array(32), { namespace: null, number: 0 })
  for (let ref = 1; ref <= 40_000; ref += 1)
    partition.put({
      ref,
      namespace: null,
      content: `common ${ref % 7 === 0 ? 'common rare' : 'word'} ${ref % 5}`,
      metadata: { session_id: `s${ref % 100}` },
      token_count: 3,
      valid_from_us: 0,
      valid_until_us: null,
      vector: null,
    })
  const options = { ...EVERYTHING, query: 'common rare', limit: 20 }
  const expected = rankFacts(partition, options)
  const scratch = makeHeldScratch(partition)
  // One that is abandoned in the middle of a term leaves nothing behind.
  for (const stop of [2, 5, Number.POSITIVE_INFINITY]) {
    const steps = rankInSteps(partition, options, scratch)
    let result = steps.next()
    for (let at = 0; result.done !== true && at < stop; at += 1, result = steps.next())
      rankFacts(partition, { ...EVERYTHING, query: 'word common' })
    if (result.done === true) assert.deepEqual(result.value, expected)
    else steps.return([])
    assert.equal(result.done === true, stop === Number.POSITIVE_INFINITY)
  }
})
