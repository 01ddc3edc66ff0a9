// What the storage suite asks of values: order, exactness, and that nothing changes on the way.

import assert from 'node:assert/strict'
import { from, insertInto, update } from '../platform/db/tenant-db.ts'
import { type Guarantees, operations, put, readCount } from './storage-rows.ts'

// UTF-16 order, a dictionary's order and case-blind order all differ from the order of bytes here.
const KEYS = ['a', 'A', 'B', 'ä', 'a\u0308', 'Z', 'z', '😀', '～', '_', '-', 'a b', 'ab', '']
const BYTEWISE = KEYS.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))

const fact = (ref: number, bytes: Uint8Array) => ({
  ref,
  store_id: 's',
  namespace: null,
  written_seq: 0,
  written_us: 0,
  sealed_seq: 0,
  space_mark: null,
  token_count: 0,
  state: 0,
  sealed: bytes,
})

const tombstone = (ref: number, erased_us: number) => ({
  ref,
  store_id: null,
  written_seq: null,
  erased_seq: 0,
  erased_us,
  certificate_id: null,
})

const decision = (seq: number, latency_ms: number) => ({
  seq,
  decision_id: Buffer.from(`id ${seq}`),
  logged_us: 0,
  store_id: 's',
  model_id: 'm',
  session_label: null,
  secret_no: 1,
  token_count: null,
  latency_ms,
  memory_seq: 0,
  sealed: new Uint8Array(),
})

export const valueGuarantees: Guarantees = {
  'keys are compared and ordered byte by byte': async ({ db }) => {
    await db.transact('t1', async (tx) => {
      for (const key of KEYS) await put(tx, key)
    })
    assert.deepEqual(await operations(db), BYTEWISE)
    const after = await db.read('t1', (r) =>
      r.all(from(r, 'usage').select('operation').where('operation', '>', 'Z').orderBy('operation')),
    )
    assert.deepEqual(
      after.map(({ operation }) => operation),
      BYTEWISE.slice(BYTEWISE.indexOf('Z') + 1),
    )
  },

  'times keep their microsecond': async ({ db }) => {
    const times = [1_767_225_600_123_457, 1_767_225_600_123_456, -8_520_336_000_000_001]
    await db.transact('t1', async (tx) => {
      for (const [i, us] of times.entries())
        await tx.run(insertInto(tx, 'tombstones', tombstone(i, us)))
    })
    const rows = await db.read('t1', (r) =>
      r.all(from(r, 'tombstones').select('erased_us').orderBy('erased_us')),
    )
    assert.deepEqual(
      rows.map(({ erased_us }) => erased_us),
      times.toSorted((a, b) => a - b),
    )
  },

  'integers are exact up to 2^53 - 1, and one beyond is refused, not rounded': async ({ db }) => {
    const max = Number.MAX_SAFE_INTEGER
    await db.transact('t1', async (tx) => {
      await put(tx, 'max', max)
      await put(tx, 'min', -max)
    })
    assert.equal((await readCount(db, 'max'))?.count, max)
    assert.equal((await readCount(db, 'min'))?.count, -max)
    await db.transact('t1', (tx) =>
      tx.run(
        update(tx, 'usage')
          .set((e) => ({ count: e('count', '+', 1) }))
          .where('operation', '=', 'max'),
      ),
    )
    await assert.rejects(readCount(db, 'max'), RangeError)
    assert.equal((await readCount(db, 'min'))?.count, -max)
  },

  'numbers with fractions come back bit for bit': async ({ db }) => {
    const numbers = [0.1, 1 / 3, 5e-324, Number.MAX_VALUE, 1e17, 12.5, 0]
    await db.transact('t1', async (tx) => {
      for (const [seq, ms] of numbers.entries())
        await tx.run(insertInto(tx, 'decisions', decision(seq, ms)))
    })
    const rows = await db.read('t1', (r) =>
      r.all(from(r, 'decisions').select('latency_ms').orderBy('seq')),
    )
    assert.deepEqual(
      rows.map(({ latency_ms }) => latency_ms),
      numbers,
    )
  },

  'bytes, empty bytes and absent values come back as they were': async ({ db }) => {
    const blobs = [Uint8Array.from({ length: 256 }, (_, i) => i), new Uint8Array()]
    await db.transact('t1', async (tx) => {
      for (const [ref, blob] of blobs.entries())
        await tx.run(insertInto(tx, 'facts', fact(ref, blob)))
    })
    const rows = await db.read('t1', (r) =>
      r.all(from(r, 'facts').select(['sealed', 'namespace']).orderBy('ref')),
    )
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      blobs.map((sealed) => ({ sealed, namespace: null })),
    )
  },

  'sums, counts and averages are numbers': async ({ db }) => {
    await db.transact('t1', async (tx) => {
      await put(tx, 'a', 1)
      await put(tx, 'b', 2)
    })
    const row = await db.read('t1', (r) =>
      r.first(
        from(r, 'usage').select((e) => [
          e.fn.sum<number>('count').as('sum'),
          e.fn.avg<number>('count').as('avg'),
          e.fn.countAll<number>().as('rows'),
          e.fn.max('count').as('max'),
        ]),
      ),
    )
    assert.deepEqual({ ...row }, { sum: 3, avg: 1.5, rows: 2, max: 2 })
  },

  'nothing is in an empty list, and everything is not in it': async ({ db }) => {
    await db.transact('t1', (tx) => put(tx, 'a'))
    await db.read('t1', async (r) => {
      const query = from(r, 'usage').select('operation')
      assert.deepEqual(await r.all(query.where('operation', 'in', [])), [])
      assert.equal((await r.all(query.where('operation', 'not in', []))).length, 1)
    })
  },
}
