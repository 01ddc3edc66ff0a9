// Places of a sample: within their range, the same for the same seed, spread over all of it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseStarts } from './sample.ts'

const range = { name: 'facts', first: 100, last: 10_099, count: 40 }

test('the same seed chooses the same places, another one others', () => {
  assert.deepEqual(chooseStarts('a', range), chooseStarts('a', range))
  assert.notDeepEqual(chooseStarts('a', range), chooseStarts('b', range))
  assert.notDeepEqual(chooseStarts('a', range), chooseStarts('a', { ...range, name: 'decisions' }))
})

test('the places lie before something of the range, ascending, each once', () => {
  for (let seed = 0; seed < 50; seed += 1) {
    const starts = chooseStarts(`${seed}`, range)
    assert.equal(starts[0], 99)
    assert.ok(
      starts.every((start, i) => start < 10_099 && (i === 0 || start > (starts[i - 1] ?? 0))),
    )
    assert.ok(starts.length <= 40 && starts.length > 30)
  }
})

test('a range of one has one place', () => {
  assert.deepEqual(chooseStarts('a', { name: 'n', first: 5, last: 5, count: 40 }), [4])
})

test('over many seeds every tenth of the range is chosen about as often', () => {
  const tenths = new Array<number>(10).fill(0)
  for (let seed = 0; seed < 200; seed += 1)
    for (const start of chooseStarts(`${seed}`, range).slice(1)) {
      const tenth = Math.floor((start - 99) / 1_000)
      tenths[tenth] = (tenths[tenth] ?? 0) + 1
    }
  for (const count of tenths) assert.ok(count > 600 && count < 960, tenths.join())
})
