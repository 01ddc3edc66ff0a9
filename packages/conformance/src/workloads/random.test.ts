// Draws: the same label draws the same, on every machine and in every version.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { seededDraws } from './random.ts'

test('a label draws what SHA-256 of it and a counter says, across blocks', () => {
  const words: number[] = []
  for (const counter of [0, 1]) {
    const digest = createHash('sha256').update(`a label|${counter}`).digest()
    for (let at = 0; at < 32; at += 4) words.push(digest.readUInt32BE(at) % 1000)
  }
  const draws = seededDraws('a label')
  assert.deepEqual(
    words.map(() => draws.int(1000)),
    words,
  )
})

test('a shuffle keeps every item, leaves the list as it was, and follows from the label', () => {
  const list = Array.from({ length: 50 }, (_, i) => i)
  const shuffled = seededDraws('one').shuffle(list)
  assert.deepEqual(
    [...shuffled].sort((a, b) => a - b),
    list,
  )
  assert.notDeepEqual(shuffled, list)
  assert.deepEqual(seededDraws('one').shuffle(list), shuffled)
  assert.notDeepEqual(seededDraws('two').shuffle(list), shuffled)
})

test('nothing can be picked from nothing', () => {
  assert.throws(() => seededDraws('x').pick([]), RangeError)
})
