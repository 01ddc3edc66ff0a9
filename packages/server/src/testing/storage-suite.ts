// What every engine promises its callers, run against each of them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { insertRowsStatement } from '../platform/db/bulk-statements.ts'
import { findRecord, insertRecord } from '../platform/db/idempotency.sql.ts'
import {
  deleteFrom,
  from,
  insertInto,
  type SharedSlot,
  type TenantDb,
  type Tx,
  update,
} from '../platform/db/tenant-db.ts'
import { runOnce } from '../platform/kernel/idempotency.ts'
import { openTestKernel } from './kernel.ts'
import {
  type Guarantees,
  listOperations,
  operations,
  put,
  readCount,
  type Storage,
  usageRow,
} from './storage-rows.ts'
import { valueGuarantees } from './storage-values.ts'

/** @param open makes an empty database with the current schema. */
export function storageSuite(name: string, open: () => Promise<Storage>): void {
  for (const [guarantee, body] of Object.entries(guarantees))
    test(`${name}: ${guarantee}`, async () => {
      const storage = await open()
      try {
        await body(storage)
      } finally {
        await storage.close()
      }
    })
}

const statuses = (results: readonly PromiseSettledResult<unknown>[]) =>
  results.map(({ status }) => status)

/** A counter as the log keeps its head: read once a commit, written once a commit. */
const head: SharedSlot<number> = {
  name: 'head',
  async flush(tx, value) {
    const changed = await tx.run(
      update(tx, 'usage').set({ count: value }).where('operation', '=', 'head'),
    )
    if (changed === 0) await put(tx, 'head', value)
  },
}

/** Fails to hear of its commit. */
const faulty: SharedSlot<string> = {
  name: 'faulty',
  flush: async () => {},
  committed() {
    throw new RangeError('no room')
  },
}

async function append(tx: Tx): Promise<number> {
  const stored = async () =>
    (await tx.first(from(tx, 'usage').select('count').where('operation', '=', 'head')))?.count
  const seq = tx.shared.get(head) ?? (await stored()) ?? 0
  const crumb = { seq, breadcrumb_id: new Uint8Array([seq]), record: '{}' }
  await tx.run(insertInto(tx, 'breadcrumbs', crumb))
  tx.shared.set(head, seq + 1)
  return seq
}

const usageRows = (rows: readonly ReturnType<typeof usageRow>[], tenant_id: string) =>
  rows.map(({ period, operation, count, bytes }) => {
    return { tenant_id, period, operation, count, bytes }
  })

const insertCounts = insertRowsStatement<ReturnType<typeof usageRow>>((k, rows, tenant_id) =>
  k.insertInto('usage').values(usageRows(rows, tenant_id)),
)

const insertIfNew = insertRowsStatement<ReturnType<typeof usageRow>>((k, rows, tenant_id) =>
  k
    .insertInto('usage')
    .values(usageRows(rows, tenant_id))
    .onConflict((conflict) => conflict.doNothing()),
)

const insertNew = Object.assign(
  async (tx: Tx, rows: readonly ReturnType<typeof usageRow>[]) => {
    const inserted = await insertIfNew(tx, rows)
    if (inserted.reduce((sum, count) => sum + count, 0) !== rows.length)
      throw new Error('not inserted')
  },
  { table: insertIfNew.table },
)

const listSeqs = (db: TenantDb) => db.all(from(db, 'breadcrumbs').select('seq').orderBy('seq'))

const units: Guarantees = {
  'a conflict is a word where it is expected, and ends its unit alone where not': async ({
    db,
  }) => {
    await db.transact('t1', (tx) => put(tx, 'a'))
    const changed = await db.transact('t1', (tx) =>
      tx.run(insertInto(tx, 'usage', usageRow('a', 9)).onConflict((c) => c.doNothing())),
    )
    assert.equal(changed, 0)
    const results = await Promise.allSettled([
      db.transact('t1', (tx) => put(tx, 'b')),
      db.transact('t1', async (tx) => {
        await put(tx, 'z')
        await put(tx, 'a')
      }),
      db.transact('t1', (tx) => put(tx, 'c')),
    ])
    assert.deepEqual(statuses(results), ['fulfilled', 'rejected', 'fulfilled'])
    assert.deepEqual(await operations(db), ['a', 'b', 'c'])
    assert.equal((await readCount(db, 'a'))?.count, 1)
  },

  'an upsert adds to the row there is': async ({ db }) => {
    const add = (count: number) =>
      db.transact('t1', (tx) =>
        tx.run(
          insertInto(tx, 'usage', usageRow('a', count)).onConflict((c) =>
            c
              .columns(['tenant_id', 'period', 'operation'])
              .doUpdateSet((e) => ({ count: e('usage.count', '+', count) })),
          ),
        ),
      )
    assert.deepEqual(await Promise.all([add(1), add(10), add(100)]), [1, 1, 1])
    assert.equal((await readCount(db, 'a'))?.count, 111)
  },

  'a unit that throws leaves nothing; those beside it are committed together': async ({ db }) => {
    const results = await Promise.allSettled(
      ['a', 'b', 'c', 'd'].map((name) =>
        db.transact('t1', async (tx) => {
          await put(tx, name)
          if (name === 'b') throw new Error('refused')
          return name
        }),
      ),
    )
    assert.deepEqual(statuses(results), ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
    assert.deepEqual(await operations(db), ['a', 'c', 'd'])
    const { commits, units: done, queued } = db.stats()
    assert.deepEqual({ commits, done, queued }, { commits: 1, done: 3, queued: 0 })
  },

  'a unit alone that throws leaves nothing': async ({ db }) => {
    const lost = db.transact('t1', async (tx) => {
      await put(tx, 'a')
      tx.shared.set(head, 7)
      throw new Error('refused')
    })
    await assert.rejects(lost, /refused/)
    assert.deepEqual(await operations(db), [])
  },

  'shared state is undone with its unit and written once a commit': async ({ db }) => {
    const flushed: number[] = []
    const committed: number[] = []
    const sum: SharedSlot<number> = {
      name: 'sum',
      async flush(tx, value) {
        flushed.push(value)
        await put(tx, 'sum', value)
      },
      committed: (_, value) => committed.push(value),
    }
    const add = (n: number, fails = false) =>
      db.transact('t1', async (tx) => {
        tx.shared.set(sum, (tx.shared.get(sum) ?? 0) + n)
        if (fails) throw new Error('refused')
      })
    await Promise.allSettled([add(1), add(10, true), add(100)])
    assert.deepEqual({ flushed, committed }, { flushed: [101], committed: [101] })
    assert.equal((await readCount(db, 'sum'))?.count, 101)
  },

  'a unit counts only if what it needs is done, alone and beside others': async ({ db }) => {
    const unit = (name: string, fault?: 'check' | 'statement') =>
      db.transact('t1', async (tx) => {
        tx.needs(put(tx, name))
        if (fault === 'statement') tx.needs(put(tx, name))
        if (fault === 'check')
          tx.needs(
            listOperations(tx).then((names) =>
              assert.equal(names.includes(name), false, 'refused'),
            ),
          )
        return name
      })
    const beside = [unit('a'), unit('b', 'check'), unit('c', 'statement'), unit('d')]
    const results = await Promise.allSettled(beside)
    assert.deepEqual(statuses(results), ['fulfilled', 'rejected', 'rejected', 'fulfilled'])
    await assert.rejects(unit('e', 'check'), /refused/)
    await assert.rejects(unit('f', 'statement'))
    assert.equal(await unit('g'), 'g')
    assert.deepEqual(await operations(db), ['a', 'd', 'g'])
  },

  'gathered rows are seen by what comes after them, in their unit and in the next': async ({
    db,
  }) => {
    const unit = (name: string) =>
      db.transact('t1', async (tx) => {
        tx.gather(insertCounts, [usageRow(name, 1)])
        const own = await listOperations(tx)
        tx.gather(insertCounts, [usageRow(`${name}-late`, 1)])
        return own
      })
    const seen = await Promise.all([unit('a'), unit('b')])
    assert.deepEqual(seen, [['a'], ['a', 'a-late', 'b']])
    assert.deepEqual(await operations(db), ['a', 'a-late', 'b', 'b-late'])
  },

  'a unit whose gathered rows fail ends alone, and leaves nothing': async ({ db }) => {
    await db.transact('t1', (tx) => put(tx, 'taken'))
    const unit = (names: readonly string[], { fails = false, reads = false } = {}) =>
      db.transact('t1', async (tx) => {
        for (const name of names) tx.gather(insertCounts, [usageRow(name, 1)])
        if (fails) throw new Error('refused')
        if (reads) await listOperations(tx)
      })
    await assert.rejects(unit(['alone', 'taken']))
    await assert.rejects(unit(['alone'], { fails: true }))
    const results = await Promise.allSettled([
      unit(['a']),
      unit(['b', 'taken']),
      // A unit that only reads sends the rows of those before it: it is not what fails.
      unit([], { reads: true }),
      unit(['c'], { fails: true }),
      unit(['d'], { reads: true }),
    ])
    assert.deepEqual(statuses(results), [
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
    assert.deepEqual(await operations(db), ['a', 'd', 'taken'])
  },

  'a count that is wrong ends the unit whose gathered row is missing': async ({ db }) => {
    await db.transact('t1', (tx) => put(tx, 'taken'))
    const unit = (name: string) =>
      db.transact('t1', async (tx) => tx.gather(insertNew, [usageRow(name, 1)]))
    const reads = db.transact('t1', async (tx) => {
      await listOperations(tx)
      throw new Error('refused')
    })
    const results = await Promise.allSettled([unit('a'), unit('taken'), reads, unit('b')])
    assert.deepEqual(statuses(results), ['fulfilled', 'rejected', 'rejected', 'fulfilled'])
    await assert.rejects(unit('taken'), /not inserted/)
    assert.deepEqual(await operations(db), ['a', 'b', 'taken'])
  },

  'what waits for the commit runs once it is durable, and never for a unit that failed': async ({
    db,
  }) => {
    const ran: string[] = []
    const unit = (name: string, fails: boolean) =>
      db.transact('t1', async (tx) => {
        tx.afterCommit(() => ran.push(name))
        await put(tx, name)
        if (fails) throw new Error('refused')
      })
    await Promise.allSettled([unit('kept', false), unit('lost', true)])
    assert.deepEqual(ran, ['kept'])
  },

  'an act after the commit that throws fails no unit and skips no other act': async ({ db }) => {
    const ran: string[] = []
    const unit = (name: string, fails: boolean) =>
      db.transact('t1', async (tx) => {
        tx.shared.set(faulty, name)
        tx.afterCommit(() => {
          if (fails) throw new RangeError('no room')
          ran.push(name)
        })
        await put(tx, name)
        return name
      })
    const names = await Promise.all([unit('a', true), unit('b', false), unit('c', false)])
    assert.deepEqual(
      [names, ran],
      [
        ['a', 'b', 'c'],
        ['b', 'c'],
      ],
    )
    assert.deepEqual(await operations(db), ['a', 'b', 'c'])
    await unit('d', false)
    assert.deepEqual(ran, ['b', 'c', 'd'])
  },

  'nothing is written through a unit that has ended': async ({ db }) => {
    const kept = await db.transact('t1', async (tx) => {
      await put(tx, 'a')
      return { tx }
    })
    assert.throws(() => kept.tx.gather(insertNew, [usageRow('late', 1)]), /after the end/)
    await assert.rejects(put(kept.tx, 'later'), /after the end/)
    await assert.rejects(listOperations(kept.tx), /after the end/)
    const failed: Tx[] = []
    const failing = db.transact('t1', async (tx) => {
      failed.push(tx)
      throw new Error('refused')
    })
    await assert.rejects(failing, /refused/)
    for (const tx of failed) await assert.rejects(put(tx, 'latest'), /after the end/)
    assert.deepEqual(await operations(db), ['a'])
  },

  'a unit that takes several turns of the loop is alone with its rows': async ({ db }) => {
    const slow = db.transact('t1', async (tx) => {
      await put(tx, 'slow-1')
      await new Promise((resolve) => setTimeout(resolve, 20))
      await put(tx, 'slow-2')
      throw new Error('refused')
    })
    const other = db.transact('t1', (tx) => put(tx, 'other'))
    await assert.rejects(slow, /refused/)
    await other
    assert.deepEqual(await operations(db), ['other'])
  },

  'queries of a unit may be sent together': async ({ db }) => {
    await db.transact('t1', async (tx) => {
      await Promise.all(['a', 'b', 'c'].map((name) => put(tx, name)))
      assert.deepEqual(await listOperations(tx), ['a', 'b', 'c'])
    })
    assert.deepEqual(await operations(db), ['a', 'b', 'c'])
  },
}

const company: Guarantees = {
  'a read sees only rows that are acknowledged, and those at once': async ({ db, second }) => {
    await db.transact('t1', async (tx) => {
      await put(tx, 'a')
      assert.deepEqual(await operations(db), [])
      assert.deepEqual(await operations(second), [])
    })
    assert.deepEqual(await operations(db), ['a'])
    assert.deepEqual(await operations(second), ['a'])
  },

  'a read keeps one snapshot while commits go on': async ({ db, second }) => {
    await db.transact('t1', (tx) => put(tx, 'a'))
    await db.read('t1', async (r) => {
      assert.deepEqual(await listOperations(r), ['a'])
      await second.transact('t1', (tx) => put(tx, 'b'))
      assert.deepEqual(await listOperations(r), ['a'])
    })
    assert.deepEqual(await operations(db), ['a', 'b'])
  },

  'a tenant reads, changes and deletes rows of its own only': async ({ db }) => {
    await db.transact('t1', (tx) => put(tx, 'same'))
    await db.transact('t2', (tx) => put(tx, 'same'))
    assert.deepEqual(await operations(db, 't2'), ['same'])
    await db.transact('t2', async (tx) => {
      assert.equal(await tx.run(update(tx, 'usage').set({ count: 9 })), 1)
      assert.equal(await tx.run(deleteFrom(tx, 'usage')), 1)
    })
    assert.deepEqual(await operations(db, 't1'), ['same'])
    assert.equal((await readCount(db, 'same'))?.count, 1)
    assert.deepEqual(await operations(db, 't2'), [])
    assert.deepEqual(await operations(db, "t1' or '1'='1"), [])
  },

  'a chain appended to from two sides has no gap and no number twice': async ({ db, second }) => {
    const appends = Array.from({ length: 80 }, (_, i) =>
      (i % 2 === 0 ? db : second).transact(`t${i % 4 < 2 ? 1 : 2}`, async (tx) => {
        const seq = await append(tx)
        if (i % 10 === 9) throw new Error('refused')
        return seq
      }),
    )
    const results = await Promise.allSettled(appends)
    assert.equal(results.filter(({ status }) => status === 'rejected').length, 8)
    const [one, two] = [await db.read('t1', listSeqs), await db.read('t2', listSeqs)]
    assert.equal(one.length + two.length, 72)
    for (const rows of [one, two])
      assert.deepEqual(
        rows.map(({ seq }) => seq),
        rows.map((_, i) => i),
      )
    assert.equal((await readCount(db, 'head'))?.count, one.length)
  },

  '50 equal requests under one Idempotency-Key are done once': async ({ db, second }) => {
    const { kernel, close } = await openTestKernel()
    try {
      const post = (i: number) =>
        runOnce<number>(
          {
            kernel: { ...kernel, db: i % 2 === 0 ? db : second },
            tenant_id: 't1',
            operation: 'memory.write',
            status: 201,
            key: 'k',
            content: Buffer.from('{}'),
          },
          {
            run: async (tx) => ({ reply: await append(tx), ids: { memory_id: 0 } }),
            replay: async () => 0,
          },
        )
      const results = await Promise.all(Array.from({ length: 50 }, (_, i) => post(i)))
      assert.equal(results.filter(({ replayed }) => !replayed).length, 1)
      assert.deepEqual([...new Set(results.map(({ reply }) => reply))], [0])
      assert.equal((await db.read('t1', listSeqs)).length, 1)
    } finally {
      await close()
    }
  },

  'a statement finds by bytes what another process stored': async ({ db, second }) => {
    const key_label = Buffer.from([0, 255, 10])
    const row = {
      key_label,
      operation: 'memory.write',
      status: 201,
      ids: '{}',
      body_mac: 'm',
      body_day: 1,
      created_us: 1,
    }
    assert.equal(await db.transact('t1', (tx) => insertRecord(tx, row)), 1)
    const found = await second.read('t1', (r) => findRecord(r, key_label))
    assert.deepEqual({ ...found }, { ...row, key_label: new Uint8Array(key_label) })
    assert.equal(await second.read('t2', (r) => findRecord(r, key_label)), undefined)
  },
}

const guarantees: Guarantees = { ...valueGuarantees, ...units, ...company }
