// Receipts of governed decisions: what they bind, their chain, and who can verify them.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { VERIFY_BATCH_MAX } from '@custos/contract'
import { detectEnvelope, pythonJson, textHash, verifyEnvelope } from '@custos/proof'
import { seededKey } from '../../../../../proof/src/testing/fixtures.ts'
import { openScene, type Party } from '../testing/scene.ts'

const scene = openScene()
const CONTEXT = { vendor: 'Açme', amount: 12.5, nested: { b: [1, null], a: true } }
const DECISION = { decision: 'certify', reason: 'fits', invoice_id: 'INV-1', context: CONTEXT }
const decided = (tenant: Party, more: object = {}) =>
  tenant.ok('POST', '/governed/decisions', { ...DECISION, ...more })

async function offline(tenant: Party, saved: unknown) {
  const { keys } = await tenant.ok('GET', '/gcrumbs/public_key')
  const { valid, type, checks } = await verifyEnvelope(detectEnvelope(saved), { keys })
  return { valid, type, failed: checks.filter(({ ok }) => !ok).map(({ name }) => name) }
}

describe("'cgr.decide' answers a receipt", () => {
  test('that binds input and output of the decision, for anybody to recompute', async () => {
    const tenant = await scene.tenant()
    const answer = await decided(tenant)
    const { decision_record: record, execution_receipt: receipt } = answer
    assert.equal(receipt.input_hash, textHash(pythonJson(CONTEXT)))
    assert.equal(receipt.output_hash, textHash(record.raw_output))
    const log = [{ decision: 'certify', reason: 'fits' }]
    assert.equal(receipt.policy_evaluation_hash, textHash(pythonJson(log)))
    assert.equal(receipt.memory_snapshot_hash, textHash(''))
    assert.equal(receipt.workflow_id, `governed:${record.invoice_id}`)
    assert.equal(receipt.tenant_id, tenant.tenant_id)
    assert.equal(receipt.decision_id, record.decision_id)
    assert.equal(receipt.completed_at, record.created_at)
    assert.deepEqual(await offline(tenant, answer), { valid: true, type: 'receipt', failed: [] })
    const altered = { ...receipt, model_id: 'another' }
    assert.deepEqual((await offline(tenant, altered)).failed, ['receipt_id'])
  })

  test('that a retry and the same judgment again answer unchanged', async () => {
    const tenant = await scene.tenant()
    const retry = () =>
      tenant.ask('POST', '/governed/decisions', DECISION, { 'idempotency-key': 'one' })
    const first = await retry()
    assert.deepEqual((await retry()).body, first.body)
    const again = await decided(tenant)
    assert.equal(again.idempotent, true)
    assert.deepEqual(again.execution_receipt, first.body.execution_receipt)
  })

  test('that names the one before it in the workflow of its referent', async () => {
    const tenant = await scene.tenant()
    const { execution_receipt: first } = await decided(tenant)
    const { execution_receipt: second } = await decided(tenant, { decision: 'reject' })
    const { execution_receipt: elsewhere } = await decided(tenant, { invoice_id: 'INV-2' })
    assert.deepEqual([first.step_number, first.previous_receipt_hash], [0, null])
    assert.equal(second.step_number, 1)
    assert.equal(second.previous_receipt_hash, textHash(first.receipt_id))
    assert.equal(elsewhere.step_number, 0)
  })

  test('with one chain of decisions without a referent, also of those at once', async () => {
    const tenant = await scene.tenant()
    const many = await Promise.all(
      Array.from({ length: 20 }, () => decided(tenant, { invoice_id: null })),
    )
    const receipts = many
      .map(({ execution_receipt }) => execution_receipt)
      .toSorted((a, b) => a.step_number - b.step_number)
    for (const [at, receipt] of receipts.entries()) {
      assert.equal(receipt.step_number, at)
      assert.equal(receipt.workflow_id, `governed:${tenant.tenant_id}`)
      const before = receipts[at - 1]
      const hash = before ? textHash(before.receipt_id) : null
      assert.equal(receipt.previous_receipt_hash, hash)
    }
  })
})

describe("'gcrumbs.verify_envelope' on receipts says whose key signed", () => {
  const verify = (tenant: Party, body: object) => tenant.ok('POST', '/gcrumbs/verify', body)

  test('the published one, one that is supplied, or one that only the receipt names', async () => {
    const tenant = await scene.tenant()
    const { execution_receipt: receipt } = await decided(tenant)
    const { public_key_b64, key_id } = await tenant.ok('GET', '/gcrumbs/verify/key')
    const own = await verify(tenant, { receipts: [receipt] })
    assert.deepEqual([own.valid, own.count, own.results[0].signed_by], [true, 1, 'published'])
    assert.equal(own.results[0].key_id, key_id)
    assert.equal(own.results[0].reason, 'signature valid and receipt_id intact')
    const supplied = await verify(tenant, { receipts: [receipt], public_key_b64 })
    assert.deepEqual([supplied.valid, supplied.results[0].signed_by], [true, 'supplied'])
    const forger = seededKey(0x09)
    const signature = forger.sign(Buffer.from(receipt.receipt_id, 'hex'))
    const forged = {
      ...receipt,
      signature: Buffer.from(signature).toString('base64'),
      public_key: Buffer.from(forger.publicKey).toString('base64'),
    }
    const both = await verify(tenant, { receipts: [receipt, forged], public_key_b64: null })
    assert.deepEqual([both.valid, both.count], [false, 2])
    assert.deepEqual([both.results[1].valid, both.results[1].signed_by], [false, 'self_signed'])
    const wrong = Buffer.from(forger.publicKey).toString('base64')
    const other = await verify(tenant, { receipts: [receipt], public_key_b64: wrong })
    assert.equal(other.results[0].reason, 'signature does not verify')
  })

  test('and what is wrong with a receipt that does not hold', async () => {
    const tenant = await scene.tenant()
    const { execution_receipt: receipt } = await decided(tenant)
    const receipts = [
      { ...receipt, output_hash: receipt.input_hash },
      { ...receipt, signature: null },
      { ...receipt, public_key: null },
      { ...receipt, started_at: 'yesterday' },
    ]
    const { results } = await verify(tenant, { receipts })
    assert.deepEqual(
      results.map(({ reason }: { reason: string }) => reason),
      [
        'receipt_id mismatch: a field was altered',
        'unsigned',
        'no public key supplied',
        'could not recompute receipt_id: started_at',
      ],
    )
    const none = await verify(tenant, { receipts: [] })
    assert.deepEqual([none.valid, none.count, none.reason], [false, 0, 'no receipts supplied'])
    assert.deepEqual(none.results, [])
  })
})

describe("'cgr.verify_batch'", () => {
  const clean = {
    invoice_amount: 90,
    po_amount: 100,
    approval_status: 'approved',
    vendor: 'Acme',
    debtor: { name: 'Globex' },
  }
  const BATCH = {
    invoices: [
      { invoice_id: 'A', ...clean, _note: 'mine' },
      { invoice_id: 'B', ...clean, po_amount: undefined },
      { invoice_id: 'C', ...clean, invoice_amount: 101 },
      { invoice_id: 'D', ...clean, approval_status: 'Approved' },
      { invoice_id: 'A', ...clean },
      { ...clean, invoice_amount: '90' },
    ],
  }
  const codes = (results: { reason_code: string }[]) => results.map((one) => one.reason_code)

  test('decides each invoice by the first rule that fails, with a receipt', async () => {
    const tenant = await scene.tenant()
    const { summary, policy, results } = await tenant.ok('POST', '/governed/verify-batch', BATCH)
    assert.deepEqual(summary, { total: 6, certified: 1, rejected: 5 })
    assert.equal(policy.approved_value, 'approved')
    assert.deepEqual(codes(results), [
      'clean',
      'amount_or_po_missing',
      'amount_exceeds_po',
      'no_debtor_approval',
      'duplicate',
      'amount_or_po_missing',
    ])
    const [first, , , , duplicate, last] = results
    assert.deepEqual([first.invoice_id, first.vendor, first.debtor.name], ['A', 'Acme', 'Globex'])
    assert.equal(last.invoice_id, null)
    const { _note, ...context } = { _note: 'mine', invoice_id: 'A', ...clean }
    assert.equal(first.execution_receipt.input_hash, textHash(pythonJson(context)))
    for (const { decision_record, execution_receipt, decision, reason_code } of results) {
      assert.equal(decision_record.verifiability_tag, 'rule')
      assert.deepEqual(
        [decision_record.decision, decision_record.reason_code],
        [decision, reason_code],
      )
      assert.equal((await offline(tenant, execution_receipt)).valid, true)
    }
    assert.equal(duplicate.decision_record.invoice_id, first.decision_record.invoice_id)
    assert.equal(duplicate.execution_receipt.step_number, 1)
    const handle = 'invoice-rules-engine@kapwork-receivables'
    assert.equal((await tenant.score(handle)).n_pending, 0)
  })

  test('keeps a certified invoice certified when the batch is sent again', async () => {
    const tenant = await scene.tenant()
    const first = await tenant.ok('POST', '/governed/verify-batch', BATCH)
    const again = await tenant.ok('POST', '/governed/verify-batch', BATCH)
    assert.deepEqual(again.results[0].decision_record, first.results[0].decision_record)
    assert.deepEqual(again.results[0].execution_receipt, first.results[0].execution_receipt)
    const headers = { 'idempotency-key': 'batch' }
    const keyed = () => tenant.ask('POST', '/governed/verify-batch', BATCH, headers)
    assert.deepEqual((await keyed()).body, (await keyed()).body)
  })

  test('applies the policy that is sent', async () => {
    const tenant = await scene.tenant()
    const invoices = [
      { no: 7, total: 5, ok: true, who: 'A' },
      { no: 7, total: 5, ok: true },
    ]
    const policy = {
      require_amount_within_po: false,
      approval_field: 'ok',
      approved_value: true,
      invoice_id_field: 'no',
      vendor_field: 'who',
      reject_duplicates: false,
    }
    const { results } = await tenant.ok('POST', '/governed/verify-batch', { invoices, policy })
    assert.deepEqual(codes(results), ['clean', 'clean'])
    assert.deepEqual([results[0].invoice_id, results[0].vendor], [7, 'A'])
  })

  test('records nothing of a batch with an id that no referent can have', async () => {
    const tenant = await scene.tenant()
    const invoices = [{ invoice_id: 'A', ...clean }, { invoice_id: 'line\nbreak' }]
    const path = '/governed/verify-batch'
    assert.deepEqual(await tenant.refused('POST', path, { invoices }), [422, 'validation'])
    const many = { invoices: Array.from({ length: VERIFY_BATCH_MAX + 1 }, () => ({})) }
    assert.deepEqual(await tenant.refused('POST', path, many), [422, 'validation'])
    const { breadcrumbs } = await tenant.ok('GET', '/gcrumbs/breadcrumbs')
    const types = breadcrumbs.map(({ event_type }: { event_type: string }) => event_type)
    assert.ok(!types.includes('cgr.decision_recorded'))
  })
})
