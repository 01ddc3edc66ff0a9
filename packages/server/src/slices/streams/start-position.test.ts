// A client that comes back misses nothing and sees nothing twice, whatever was restored meanwhile.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decideStart, formatMark, parseMark } from './start-position.ts'

/** Entries of one generation each; an entry that opens a generation is its first. */
interface History {
  readonly generations: readonly number[]
}

const firstAfter = (log: History, generation: number, end_seq: number): number | null => {
  const found = log.generations.findIndex(
    (own, seq) => own > generation && own !== (log.generations[seq - 1] ?? 0),
  )
  return found !== -1 && found < end_seq ? found : null
}

/** Histories of one log: each begins as a part of the one before, and continues on its own. */
const histories = fc
  .array(fc.record({ kept: fc.nat(100), added: fc.integer({ min: 1, max: 6 }) }), {
    minLength: 1,
    maxLength: 5,
  })
  .map((steps) => {
    const logs: History[] = []
    for (const [generation, { kept, added }] of steps.entries()) {
      const before = logs.at(-1)?.generations ?? []
      const from = before.slice(0, kept % (before.length + 1))
      logs.push({ generations: [...from, ...Array.from({ length: added }, () => generation)] })
    }
    return logs
  })

test('after any number of restores a client continues where the two histories part', () =>
  fc.assert(
    fc.asyncProperty(histories, fc.nat(), fc.nat(), async (logs, whichLog, whichSeq) => {
      const generation = whichLog % logs.length
      const [old, now] = [logs[generation], logs.at(-1)]
      assert.ok(old && now)
      const seq = (whichSeq % (old.generations.length + 1)) - 1
      const end = { generation: logs.length - 1, size: now.generations.length }
      const had = formatMark({ generation, seq })
      const find = async (g: number, end_seq: number) => firstAfter(now, g, end_seq)
      const start = await decideStart({ last_event_id: had, from: 'start' }, end, find)
      assert.equal(start.told, null)
      const same = now.generations.findIndex((own, i) => own !== old.generations[i])
      const parted = same === -1 ? now.generations.length : same
      // Nothing it has not seen is left out, and of what it has seen nothing comes again.
      assert.equal(start.first_seq, Math.min(seq + 1, parted))
    }),
  ))

test('the id of a frame is read as it was written, and nothing else is', () =>
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: -1 }), fc.string(), (generation, seq, text) => {
      assert.deepEqual(parseMark(formatMark({ generation, seq })), { generation, seq })
      const read = parseMark(text)
      if (read !== null) assert.match(text, /^\d+\.(-1|\d+)$/)
    }),
  ))

test('an empty log has a position before its first entry', async () => {
  const empty = { generation: 0, size: 0 }
  const find = async () => null
  for (const from of ['head', 'start', '0', '0.-1']) {
    const { first_seq } = await decideStart({ last_event_id: null, from }, empty, find)
    assert.equal(first_seq, 0, from)
  }
  const again = await decideStart({ last_event_id: '0.-1', from: 'head' }, empty, find)
  assert.deepEqual(again, { first_seq: 0, told: null })
})
