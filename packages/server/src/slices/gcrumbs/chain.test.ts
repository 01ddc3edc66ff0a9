// Guarantees of the log: gapless order, provable entries, one tree for one origin and size.

import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import {
  parseCheckpoint,
  verifyBreadcrumbs,
  verifyConsistency,
  verifyInclusion,
} from '@custos/proof'
import fc from 'fast-check'
import { formatTime } from '../../platform/clock.ts'
import { Refusal } from '../../platform/refusal.ts'
import { openTestKernel, type TestKernel } from '../../testing/kernel.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { embeddedTest, testEngine } from '../../testing/test-data.ts'
import { appendCrumb, nextSeq, refuseEntries } from './append.ts'
import { listCrumbs } from './chain.sql.ts'
import { reconcileLog, rollEpoch } from './epochs.ts'
import { showCrumb, verifyChain } from './reads.ts'
import { auditPath, prefixPath, seqAt, treeRoot } from './tree.ts'

let service: TestKernel

beforeEach(async () => {
  service = await openTestKernel({ tenants: ['t1', 't2'] })
})

afterEach(() => service.close())

const append = (count: number, tenant = 't1') =>
  Promise.all(
    Array.from({ length: count }, (_, facts) =>
      service.kernel.db.transact(tenant, (tx) =>
        appendCrumb(tx, { event_type: 'store.deleted', subject: 'default', payload: { facts } }),
      ),
    ),
  )

const crumbs = (tenant = 't1') =>
  service.kernel.db.read(tenant, async (db) => (await listCrumbs(db, 0, 1e6)).map(showCrumb))

const verify = (full = true) => verifyChain(service.kernel, 't1', { full })

const bytes = (hex: string) => Buffer.from(hex, 'hex')

test('entries appended together are numbered without gaps and linked, per tenant', async () => {
  await Promise.all([append(40), append(7, 't2')])
  const own = await crumbs()
  assert.deepEqual(
    own.map((crumb) => crumb.seq),
    Array.from({ length: 40 }, (_, i) => i),
  )
  assert.equal(verifyBreadcrumbs(own).ok, true)
  assert.equal(verifyBreadcrumbs(await crumbs('t2')).ok, true)
})

test('parts of a unit that look at the head side by side lose no entry', async () => {
  await append(1)
  await service.kernel.db.transact('t1', (tx) =>
    Promise.all([
      nextSeq(tx),
      appendCrumb(tx, { event_type: 'store.deleted', subject: 'x', payload: { facts: 1 } }),
      nextSeq(tx),
    ]),
  )
  await append(2)
  assert.deepEqual((await verify()).status, 'intact')
  assert.equal((await crumbs()).length, 4)
})

test('a commit that only reads the head writes none, and later ones go on', async () => {
  const read = () => service.kernel.db.transact('t1', nextSeq)
  assert.deepEqual(await Promise.all([read(), read()]), [0, 0])
  assert.deepEqual((await Promise.all([read(), append(2), read()])).flat().length, 4)
  assert.equal(await read(), 2)
  assert.equal((await verify()).status, 'intact')
})

test('where entries are refused from, other units of the commit append none', async () => {
  await append(1)
  const { db } = service.kernel
  const units = [
    db.transact('t1', nextSeq),
    db.transact('t1', refuseEntries),
    append(1),
    db.transact('t1', nextSeq),
  ]
  const ends = await Promise.allSettled(units)
  assert.deepEqual(
    ends.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
  )
  assert.equal((await crumbs()).length, 1)
})

test('a unit that fails leaves no entry and no gap', async () => {
  const failing = service.kernel.db.transact('t1', async (tx) => {
    await appendCrumb(tx, {
      event_type: 'store.deleted',
      subject: 'default',
      payload: { facts: 1 },
    })
    throw new Error('refused')
  })
  await Promise.allSettled([append(3), failing, append(3)])
  assert.equal((await crumbs()).length, 6)
  assert.equal((await verify()).status, 'intact')
})

test('a payload outside its closed schema never reaches the log', async () => {
  const crumb = {
    event_type: 'store.deleted' as const,
    subject: 'default',
    payload: { facts: 1, note: 'Alice lives in Rome' },
  }
  await assert.rejects(service.kernel.db.transact('t1', (tx) => appendCrumb(tx, crumb)))
  assert.equal((await crumbs()).length, 0)
})

test('every entry of a log past the stored node heights is provable at every epoch', async () => {
  await append(300)
  const first = await rollEpoch(service.kernel, 't1')
  await append(500)
  const second = await rollEpoch(service.kernel, 't1')
  assert.equal(second.epoch_number, first.epoch_number + 1)
  await service.kernel.db.read('t1', async (db) => {
    for (const index of [0, 1, 254, 255, 256, 299]) {
      for (const epoch of [first, second]) {
        const crumb = (await listCrumbs(db, index, index + 1))[0]
        assert(crumb)
        const path = await auditPath(service.kernel, db, epoch, index)
        const claim = { index, size: epoch.tree_size, path, root: bytes(epoch.root_hash) }
        assert(verifyInclusion({ leafHash: crumb.breadcrumb_id, ...claim }))
      }
    }
    const path = await prefixPath(service.kernel, db, second, 300)
    const roots = { fromRoot: bytes(first.root_hash), toRoot: bytes(second.root_hash) }
    assert(verifyConsistency({ from: 300, to: 800, path, ...roots }))
  })
  assert.deepEqual(second.consistency?.from_size, 300)
})

test('a proof from nodes in memory holds for the rows, whichever was asked before', async () => {
  await append(700)
  const sizes = fc.integer({ min: 1, max: 700 })
  await service.kernel.db.read('t1', async (db) => {
    const leaves = (await listCrumbs(db, 0, 700)).map(({ breadcrumb_id }) => breadcrumb_id)
    await fc.assert(
      fc.asyncProperty(sizes, fc.nat(), fc.nat(), async (tree_size, seed, earlier) => {
        const tree = { generation: 0, tree_size }
        const [index, from] = [seed % tree_size, 1 + (earlier % tree_size)]
        const root = await treeRoot(db, tree_size)
        const path = await auditPath(service.kernel, db, tree, index)
        const leafHash = leaves[index]
        assert(leafHash)
        assert(verifyInclusion({ leafHash, index, size: tree_size, path, root }))
        const extension = await prefixPath(service.kernel, db, tree, from)
        const claim = { from, fromRoot: await treeRoot(db, from), to: tree_size, toRoot: root }
        assert(verifyConsistency({ ...claim, path: extension }))
      }),
      { numRuns: 40 },
    )
  })
})

test('an empty log is not rolled, and nothing new answers the same epoch', async () => {
  await assert.rejects(
    rollEpoch(service.kernel, 't1'),
    (error) => error instanceof Refusal && error.code === 'chain_empty',
  )
  await append(2)
  const epochs = await Promise.all([1, 2, 3].map(() => rollEpoch(service.kernel, 't1')))
  assert.deepEqual(
    epochs.map((epoch) => [epoch.epoch_number, epoch.rolled]),
    [
      [1, true],
      [1, false],
      [1, false],
    ],
  )
})

const ZEROS = testEngine() === 'postgres' ? `decode(repeat('00', 32), 'hex')` : 'zeroblob(32)'

const tamperings: readonly [string, string, string][] = [
  [
    'an altered payload',
    `update breadcrumbs set record = replace(record, '"facts":3', '"facts":9')`,
    'breadcrumb_id_mismatch',
  ],
  ['a removed entry', 'delete from breadcrumbs where seq = 4', 'breadcrumb_missing'],
  ['a cut tail with its head', 'delete from breadcrumbs where seq = 9', 'breadcrumb_missing'],
  ['an epoch of another root', `update epochs set root_hash = ${ZEROS}`, 'epoch_root_mismatch'],
  [
    'a forged checkpoint',
    `update epochs set checkpoint = replace(checkpoint, 'custos', 'custoz')`,
    'epoch_wrong_origin',
  ],
  ['another head', `update chain_heads set last_id = ${ZEROS}`, 'head_mismatch'],
]

for (const [name, sql, reason] of tamperings) {
  test(`verification names ${name}`, async () => {
    await append(10)
    await rollEpoch(service.kernel, 't1')
    assert.equal((await verify()).status, 'intact')
    await rawSql(service, sql)
    const verdict = await verify()
    assert.equal(verdict.status, 'tampered')
    assert.equal(verdict.reason, reason)
  })
}

test('a log emptied behind our back is not called empty', async () => {
  await append(5)
  await rollEpoch(service.kernel, 't1')
  for (const table of ['breadcrumbs', 'chain_heads', 'epochs'])
    await rawSql(service, `delete from ${table}`)
  const verdict = await verify()
  assert.equal(verdict.status, 'tampered')
  assert.equal(verdict.reason, 'log_shorter_than_signed')
})

test('verification goes on from where it stood and still checks what is new', async () => {
  await append(10)
  assert.equal((await verify(false)).breadcrumbs_verified, 10)
  await append(5)
  const next = await verify(false)
  assert.deepEqual([next.from_seq, next.breadcrumbs_verified, next.tree_size], [10, 5, 15])
})

test('a time maps to the log position it stood at', async () => {
  await append(5)
  const between = service.kernel.clock.now()
  await append(5)
  await service.kernel.db.read('t1', async (db) => {
    assert.equal(await seqAt(db, between), 4)
    assert.equal(await seqAt(db, 0), -1)
    assert.equal(await seqAt(db, service.kernel.clock.now()), 9)
    const third = (await listCrumbs(db, 2, 3)).map(showCrumb)[0]
    assert(third && formatTime(between) > third.created_at)
  })
})

embeddedTest('a restored log continues under a new origin and signs no tree twice', async () => {
  await append(10)
  await rollEpoch(service.kernel, 't1')
  const backup = mkdtempSync(join(tmpdir(), 'custos-backup-'))
  await service.close({ keep: true })
  cpSync(join(service.data_dir, 'custos.db'), join(backup, 'custos.db'))
  const { data_dir } = service

  service = await openTestKernel({ data_dir })
  assert.equal(await reconcileLog(service.kernel, 't1', { certificates_missing: false }), 'intact')
  await append(10)
  const lost = await rollEpoch(service.kernel, 't1')
  await service.close({ keep: true })

  cpSync(join(backup, 'custos.db'), join(data_dir, 'custos.db'))
  rmSync(backup, { recursive: true })
  service = await openTestKernel({ data_dir })
  assert.equal(
    await reconcileLog(service.kernel, 't1', { certificates_missing: false }),
    'restored',
  )
  const entry = (await crumbs()).at(-1)
  assert.deepEqual(entry?.payload, {
    generation: 1,
    epoch_number: lost.epoch_number,
    tree_size: 20,
    root_hash: lost.root_hash,
  })
  await append(9)
  const epoch = await rollEpoch(service.kernel, 't1')
  assert.equal(epoch.tree_size, 20)
  assert.notEqual(parseCheckpoint(epoch.checkpoint).origin, parseCheckpoint(lost.checkpoint).origin)
  assert.equal((await verify()).status, 'intact')
  assert.equal(await reconcileLog(service.kernel, 't1', { certificates_missing: false }), 'intact')
})

test('an epoch that only the keyring knows after a crash is published again', async () => {
  await append(3)
  const epoch = await rollEpoch(service.kernel, 't1')
  await rawSql(service, 'delete from epochs')
  assert.equal(await reconcileLog(service.kernel, 't1', { certificates_missing: false }), 'intact')
  const again = await rollEpoch(service.kernel, 't1')
  assert.deepEqual(
    [again.epoch_number, again.checkpoint, again.rolled],
    [1, epoch.checkpoint, false],
  )
})
