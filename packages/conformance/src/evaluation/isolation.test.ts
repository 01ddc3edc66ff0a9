// Groups of transactions: which outcome shows which anomaly.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { workloadsOf } from '../workloads/all.ts'
import { turnsInOrder } from '../workloads/trace.ts'
import { anomalyOf, evaluateGroup, type TransactionResult } from './isolation.ts'

const writes = (set: Partial<TransactionResult> = {}): TransactionResult => ({
  txn_id: 't',
  kind: 'write',
  committed: true,
  survives: true,
  is_read: true,
  replaced: false,
  ...set,
})
const refused = writes({ committed: false, survives: false, is_read: false })
const deletes = (set: Partial<TransactionResult> = {}): TransactionResult =>
  writes({ kind: 'delete', survives: false, is_read: false, ...set })

const cases: readonly [string, TransactionResult[], boolean, string[]][] = [
  ['one writer of two is refused', [writes(), refused], false, []],
  [
    'one writer follows the other',
    [writes({ replaced: true, is_read: false }), writes()],
    false,
    [],
  ],
  [
    'both writers are told that theirs is the next version',
    [writes(), writes()],
    false,
    ['lost_update'],
  ],
  ['a committed write is nowhere', [writes({ survives: false }), refused], false, ['lost_update']],
  [
    'a refused write is in the audit',
    [writes(), { ...refused, survives: true }],
    false,
    ['refused_write'],
  ],
  ['a refused write answers', [writes(), { ...refused, is_read: true }], false, ['refused_write']],
  [
    'a committed write does not answer',
    [writes({ is_read: false }), refused],
    false,
    ['unread_write'],
  ],
  ['a delete and a write are both carried out', [deletes(), writes()], false, []],
  [
    'the delete is refused and the memory stays',
    [deletes({ committed: false }), writes()],
    true,
    [],
  ],
  [
    'what was deleted is in the audit',
    [deletes({ survives: true }), writes()],
    false,
    ['resurrection'],
  ],
  ['what was deleted answers', [deletes(), writes()], true, ['resurrection']],
]

for (const [what, transactions, base_is_read, expected] of cases)
  test(`${what}: ${expected.join() || 'no anomaly'}`, () => {
    const { anomalies, level } = evaluateGroup({ name: 'g', transactions, base_is_read })
    assert.deepEqual(anomalies, expected)
    assert.equal(level, expected.includes('lost_update') ? 'read_committed' : 'serializable')
  })

test('the groups of our own workload can show a lost update or a resurrection', () => {
  const { at_once } = workloadsOf(3)
  const turns = turnsInOrder(at_once).map(({ turn }) => turn)
  const groups = Map.groupBy(turns, ({ txn_id }) => txn_id?.split('/')[0])
  groups.delete(undefined)
  const found = [...groups.values()].map((group) => anomalyOf(at_once, group))
  assert.deepEqual(found, [
    ...Array.from({ length: 4 }, () => 'lost_update'),
    ...Array.from({ length: 4 }, () => 'resurrection'),
  ])
})
