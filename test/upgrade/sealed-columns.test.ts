// What earlier versions sealed opens in this one, column by column, and in no other row.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { SealedColumn } from '../../packages/server/src/platform/kernel/sealed-column.ts'
import { tenantKeys } from '../../packages/server/src/platform/keys/core/tenant-keys.ts'
import { SealError } from '../../packages/server/src/platform/keys/seal.ts'
import { approverColumn } from '../../packages/server/src/slices/approvals/approver.ts'
import {
  openDocument,
  readSealed,
} from '../../packages/server/src/slices/decisions/trail/document.ts'
import { policyColumn } from '../../packages/server/src/slices/governance/sealed-policy.ts'
import { factColumn } from '../../packages/server/src/slices/memory/facts/fact-document.ts'
import { descriptionColumn } from '../../packages/server/src/slices/memory/stores/store-description.ts'
import { approvalColumn } from '../../packages/server/src/slices/records/approval-request.ts'
import { recordColumn } from '../../packages/server/src/slices/records/open-record.ts'
import { reportColumns } from '../../packages/server/src/slices/reports/sealed-report.ts'
import { reputationColumn } from '../../packages/server/src/slices/reputation/rows/sealed-payload.ts'
import { storeColumn } from '../../packages/server/src/slices/retention/store-notes.ts'
import {
  payloadColumn,
  reasonColumn,
} from '../../packages/server/src/slices/subjects/sealed-request.ts'
import { limitColumn } from '../../packages/server/src/slices/tenants/credential-limit.ts'
import { nameColumn } from '../../packages/server/src/slices/tenants/key-texts.ts'

interface Vector {
  readonly secret_no?: number
  /** Base64. */
  readonly sealed: string
}

/** Sealed by 0.1.0 under the keys below. */
const vectors: Record<string, Vector> = JSON.parse(
  readFileSync(new URL('../vectors/sealed-columns.json', import.meta.url), 'utf8'),
)

const keys = tenantKeys('acme', Buffer.alloc(32, 1), Buffer.alloc(32, 2))
const secretOf = (number: number): Buffer => Buffer.alloc(32, 10 + number)

function readVector(name: string): { secret_no: number; sealed: Buffer } {
  const { secret_no = 3, sealed } = vectors[name] ?? assert.fail(name)
  return { secret_no, sealed: Buffer.from(sealed, 'base64') }
}

describe('columns of rows with a secret of their own', () => {
  function assertOpens<R, P>(
    name: string,
    column: SealedColumn<R, P>,
    { row, others, payload }: { row: R; others: readonly R[]; payload: unknown },
  ): void {
    const { secret_no, sealed } = readVector(name)
    const key = keys.factKey(secretOf(secret_no))
    const opened = column.open(key, 'acme', row, sealed)
    assert.deepEqual(opened, payload)
    assert.throws(() => column.open(key, 'other', row, sealed), SealError)
    for (const other of others)
      assert.throws(() => column.open(key, 'acme', other, sealed), SealError)
    const again = column.seal(key, 'acme', row, opened)
    assert.equal(again.length, sealed.length)
    assert.deepEqual(column.open(key, 'acme', row, again), payload)
  }

  test('the description of a store', () => {
    assertOpens('store', descriptionColumn, {
      row: { store_id: 'notes' },
      others: [{ store_id: 'note' }],
      payload: { name: 'Notes', backend: null, labels: { team: 'x' } },
    })
  })

  test('reasons of retention and of legal holds', () => {
    const row = 'notes'
    const others = ['note']
    assertOpens('retention', storeColumn(['retention']), {
      row,
      others,
      payload: { reason: 'law' },
    })
    const hold = storeColumn(['hold', 'h1'])
    assertOpens('hold', hold, { row, others, payload: { reason: 'court' } })
    const release = storeColumn(['release', 'h1'])
    assertOpens('release', release, { row, others, payload: { reason: 'over' } })
    const { secret_no, sealed } = readVector('hold')
    const key = keys.factKey(secretOf(secret_no))
    assert.throws(() => release.open(key, 'acme', row, sealed), SealError)
  })

  test('a version of a policy', () => {
    assertOpens('policy', policyColumn, {
      row: { policy_id: 'p1', version: 3 },
      others: [
        { policy_id: 'p1', version: 2 },
        { policy_id: 'p2', version: 3 },
      ],
      payload: { name: 'n', description: 'd', config: { max: 1 } },
    })
  })

  test('records, requests for approvals and approvers', () => {
    assertOpens('record', recordColumn, {
      row: { kind: 'artifact', record_id: 'r1' },
      others: [{ kind: 'corpus', record_id: 'r1' }],
      payload: { request: { name: 'x' } },
    })
    assertOpens('approval', approvalColumn, {
      row: { kind: 'artifact', request_id: 'q1' },
      others: [{ kind: 'corpus', request_id: 'q1' }],
      payload: { operation: 'artifact.register' },
    })
    assertOpens('approver', approverColumn, {
      row: { approver_id: 'a1' },
      others: [{ approver_id: 'a2' }],
      payload: { name: 'Ann', role: null },
    })
  })

  test('the namespace that a key is limited to', () => {
    assertOpens('credential_limit', limitColumn, {
      row: { key_id: 'k1' },
      others: [{ key_id: 'k2' }],
      payload: { namespace: 'Zoë' },
    })
  })

  test('the name of a key', () => {
    assertOpens('credential_name', nameColumn, {
      row: { key_id: 'k1' },
      others: [{ key_id: 'k2' }],
      payload: { name: 'app of Zoë' },
    })
  })

  test('the title and the document of a report', () => {
    const title = { column: 'title', report_id: 'rep' } as const
    const document = { column: 'document', report_id: 'rep' } as const
    assertOpens('report_title', reportColumns, {
      row: title,
      others: [document],
      payload: 'Täglich',
    })
    assertOpens('report_document', reportColumns, {
      row: document,
      others: [title],
      payload: '{"a":1}',
    })
  })

  test('what is sealed of reputation', () => {
    const columns = ['decision', 'name', 'rotation', 'attestation'] as const
    for (const column of columns)
      assertOpens(`cgr_${column}`, reputationColumn(), {
        row: { column, id: 'c1' },
        others: columns
          .filter((other) => other !== column)
          .map((other) => ({ column: other, id: 'c1' })),
        payload: { of: column },
      })
  })

  test('what a subject request searched for, and why it takes longer', () => {
    const row = { request_id: 'q9' }
    const others = [{ request_id: 'q8' }]
    assertOpens('subject_words', payloadColumn, {
      row,
      others,
      payload: { find: { text: 'Zoë' }, store_ids: null, include_decisions: true, reasons: {} },
    })
    assertOpens('subject_reason', reasonColumn, { row, others, payload: 'more time' })
  })
})

test('a fact with its vector, and one without', () => {
  const open = (name: string, ref: number, sealedRef = ref) =>
    factColumn.open(
      keys.factKey(secretOf(ref)),
      'acme',
      { store_id: 'notes', ref: sealedRef },
      readVector(name).sealed,
    )
  const { document, vector } = open('fact', 7)
  assert.equal(document.content, 'Zoë lives in Oslo')
  assert.deepEqual(vector, Int8Array.of(1, -2, 127))
  const without = open('fact_without_vector', 8)
  assert.equal(without.document.content, document.content)
  assert.equal(without.vector, null)
  assert.throws(() => open('fact', 7, 8), SealError)
})

test('a decision opens under its own secret and those of its facts, at its revision only', () => {
  const { head, box } = readSealed(readVector('decision').sealed)
  assert.deepEqual(head, { secret_no: 4, revision: 2, bound: [7, 8] })
  const decision_id = 'ab'.repeat(16)
  const key = keys.decisionKey(decision_id, [4, 7, 8].map(secretOf))
  const owner = { tenant_id: 'acme', decision_id }
  const { query, output } = openDocument({ owner, head, key }, box)
  assert.deepEqual({ query, output }, { query: 'where?', output: 'Oslo' })
  const older = { owner, head: { ...head, revision: 1 }, key }
  assert.throws(() => openDocument(older, box), SealError)
})
