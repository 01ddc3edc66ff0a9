// The bundle of a run verifies offline, running, ended and after an erasure; every mutation of it
// is found.

import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { type PublishedKey, readSavedDocuments, verifySavedDocument } from '@custos/proof'
import { appendCrumb, rollEpoch } from '../../gcrumbs/index.ts'
import { openRunScene, type RunningTenant } from '../testing/run-scene.ts'
import { openBundle } from './run-reads.ts'

// biome-ignore lint/suspicious/noExplicitAny: mutations reach into lines of every shape
type Line = any

const scene = openRunScene()
let tenant: RunningTenant
let run_id: string
let lines: Line[]
let keys: readonly PublishedKey[]

async function verify(bundle: readonly Line[], trusted = keys) {
  const text = bundle.map((line) => JSON.stringify(line)).join('\n')
  const [document] = readSavedDocuments(text)
  assert.ok(document)
  return verifySavedDocument(document, { keys: trusted, entry: undefined })
}

async function makeRun(): Promise<void> {
  tenant = await scene.tenant()
  const config = { operations: ['tool_execution'] }
  await tenant.policy({ policy_type: 'hitl_required', config })
  await tenant.remember('The ferry leaves at ten')
  run_id = await tenant.start({ input_text: 'plan', budget: { tokens: 500, cost_micro: 90 } })
  const first = await tenant.permitted(run_id, { input_text: 'when?', max_tokens: 200 })
  const called = await tenant.call(run_id, first.step_id, { tool: 'book', args: { at: 10 } })
  const { action_id, call_id } = called.body.detail
  await tenant.ok('POST', `/orchestrator/actions/${action_id}/approve`, { approver: 'ana' })
  const calls = [{ call_id, result: 'booked' }]
  await tenant.complete(run_id, first.step_id, { output: 'At ten.', calls, cost_micro: 30 })
  const second = await tenant.permitted(run_id, { input_from: first.step_id, max_tokens: 100 })
  const running = await tenant.bundle(run_id)
  keys = await tenant.keys()
  const verdict = await verify(running)
  assert.equal(verdict.valid, true, verdict.reason)
  await tenant.complete(run_id, second.step_id, { output: 'Done.', cost_micro: 1, final: true })
  lines = await tenant.bundle(run_id)
  keys = await tenant.keys()
}

let made: Promise<void> | undefined
beforeEach(() => {
  made ??= makeRun()
  return made
})

test("'orchestrator.bundle' of an ended run is valid against the published keys only", async () => {
  const verdict = await verify(lines)
  assert.equal(verdict.valid, true, verdict.reason)
  assert.equal((await verify(lines, [])).valid, false)
})

test('what a receipt says of a call is never changed: it verifies after every answer', async () => {
  const other = await scene.tenant()
  const id = await other.start()
  const { step_id } = await other.permitted(id, { input_text: 'book' })
  const { call_id } = (await other.call(id, step_id, { tool: 'book' })).body
  await other.complete(id, step_id)
  const path = `/orchestrator/runs/${id}/calls/${call_id}`
  assert.equal((await other.ok('GET', path)).state, 'uncertain')
  const answer = await other.ask('POST', `${path}/resolve`, { happened: true, result: 'booked' })
  assert.deepEqual([answer.status, answer.body.error], [409, 'wrong_state'])
  assert.equal((await other.ok('GET', path)).state, 'uncertain')
  const verdict = await other.verify(id)
  assert.equal(verdict.valid, true, verdict.reason)
})

test('a run verifies at once after a memory is erased that a step under way has read', async () => {
  const other = await scene.tenant()
  const fact_ref = await other.remember('Gil is allergic to nuts')
  const id = await other.start()
  const { step_id } = await other.permitted(id, { input_text: 'what about Gil?' })
  await other.call(id, step_id, { tool: 'warn' })
  await other.ok('POST', '/erasure/issue', { fact_ref })
  const { status, reason } = await other.ok('GET', `/orchestrator/runs/${id}/verify`)
  assert.equal(status, 'intact', reason)
  assert.equal((await other.run(id)).termination_reason, 'input_erased')
})

test('a bundle is of one moment, whatever is approved or ends while it is read', async () => {
  const other = await scene.tenant()
  await other.policy({ policy_type: 'hitl_required', config: { operations: ['tool_execution'] } })
  const id = await other.start()
  const { step_id } = await other.permitted(id, { input_text: 'book' })
  const { action_id, call_id } = (await other.call(id, step_id, { tool: 'book' })).body.detail
  const { kernel } = scene.service
  const stream = await openBundle({ kernel, tenant_id: other.tenant_id }, id)
  const path = `/orchestrator/actions/${action_id}/approve`
  await other.ok('POST', path, { approver: 'ana' })
  await other.complete(id, step_id, { calls: [{ call_id, result: 'booked' }], final: true })
  const read: Line[] = []
  for await (const text of stream) read.push(JSON.parse(text))
  const verdict = await verify(read, await other.keys())
  assert.equal(verdict.valid, true, verdict.reason)
  assert.equal(read[0].ended, false)
  assert.equal((await other.verify(id)).valid, true)
})

test('all of a long bundle is under one checkpoint, also where another follows', async () => {
  const other = await scene.tenant()
  const { tenant_id } = other
  const { kernel } = scene.service
  const append = (count: number) =>
    kernel.db.transact(tenant_id, async (tx) => {
      const deleted = { event_type: 'store.deleted', subject: 'default' } as const
      for (let i = 0; i < count; i += 1)
        await appendCrumb(tx, { ...deleted, payload: { facts: 1 } })
    })
  const id = await other.start()
  const { step_id } = await other.permitted(id, { input_text: 'a' })
  await append(600)
  await other.complete(id, step_id, { final: true })
  const read: Line[] = []
  for await (const text of await openBundle({ kernel, tenant_id }, id)) {
    read.push(JSON.parse(text))
    if (read.length > 2) continue
    await append(1)
    await rollEpoch(kernel, tenant_id)
  }
  const verdict = await verify(read, await other.keys())
  assert.equal(verdict.valid, true, verdict.reason)
})

const of = (bundle: Line[], type: string, nth = 0): Line =>
  bundle.filter((line) => line.type === type)[nth]
const entry = (bundle: Line[], event: string, nth = 0): Line =>
  bundle.filter(({ proof }) => proof?.breadcrumb.event_type === event)[nth].proof
const drop = (bundle: Line[], line: Line): Line[] => bundle.filter((one) => one !== line)
const entryLine = (bundle: Line[], event: string, nth = 0): Line =>
  bundle.filter(({ proof }) => proof?.breadcrumb.event_type === event)[nth]
function swap(bundle: Line[], a: Line, b: Line): Line[] {
  const [i, j] = [bundle.indexOf(a), bundle.indexOf(b)]
  return bundle.map((one, at) => (at === i ? b : at === j ? a : one))
}
const dropEntry =
  (event: string, nth = 0) =>
  (all: Line[]) =>
    drop(all, entryLine(all, event, nth))
const dropLine =
  (type: string, nth = 0) =>
  (all: Line[]) =>
    drop(all, of(all, type, nth))
const edit =
  (type: string, change: (line: Line) => void, nth = 0) =>
  (all: Line[]) => {
    change(of(all, type, nth))
    return all
  }
const editEntry = (event: string, change: (crumb: Line) => void) => (all: Line[]) => {
  change(entry(all, event).breadcrumb)
  return all
}
const editReceipt = (change: (receipt: Line) => void, nth = 0) =>
  edit('receipt', ({ receipt }) => change(receipt), nth)

const MUTATIONS: Readonly<Record<string, (bundle: Line[]) => Line[]>> = {
  'head-dropped': dropLine('run_bundle'),
  'head-twice': (all) => [...all, { ...all[0] }],
  'head-other-version': edit('run_bundle', (line) => (line.version = 2)),
  'head-other-run': edit('run_bundle', (line) => (line.run_id = '0'.repeat(32))),
  'head-other-tenant': edit('run_bundle', (line) => (line.tenant_id = 'another')),
  'head-not-ended': edit('run_bundle', (line) => (line.ended = false)),
  'line-of-unknown-type': (all) => [...all, { type: 'note' }],
  'line-not-an-object': (all) => [...all, 7],
  'start-dropped': dropEntry('run.started'),
  'end-dropped': dropEntry('run.completed'),
  'permit-dropped': dropEntry('step.permitted'),
  'second-permit-dropped': dropEntry('step.permitted', 1),
  'step-end-dropped': dropEntry('step.completed'),
  'intent-dropped': dropEntry('tool.intended'),
  'call-end-dropped': dropEntry('tool.completed'),
  'decision-dropped': dropEntry('decision.logged'),
  'approval-entry-dropped': dropEntry('agent_action.approved'),
  'entry-repeated': (all) => [...all, entryLine(all, 'step.permitted')],
  'entries-swapped': (all) =>
    swap(all, entryLine(all, 'step.permitted'), entryLine(all, 'step.completed')),
  'budget-raised-in-log': editEntry(
    'run.started',
    ({ payload }) => (payload.budget_tokens = 9_999),
  ),
  'permit-raised-in-log': editEntry('step.permitted', ({ payload }) => (payload.max_tokens += 1)),
  'policy-removed-in-log': editEntry('step.permitted', ({ payload }) => (payload.policy_set = 0)),
  'entry-of-other-subject': editEntry('tool.intended', (crumb) => (crumb.subject = '0'.repeat(32))),
  'entry-moved': editEntry('step.completed', (crumb) => (crumb.seq += 1)),
  'path-cut': (all) => {
    entry(all, 'run.started').audit_path.pop()
    return all
  },
  'checkpoint-edited': (all) => {
    const proof = entry(all, 'run.started')
    proof.checkpoint = proof.checkpoint.replace('\n', 'x\n')
    return all
  },
  'root-edited': (all) => {
    entry(all, 'run.started').root_hash = '0'.repeat(64)
    return all
  },
  'receipt-dropped': dropLine('receipt'),
  'last-receipt-dropped': dropLine('receipt', 1),
  'receipt-repeated': (all) => [...all, of(all, 'receipt')],
  'receipts-swapped': (all) => swap(all, of(all, 'receipt', 0), of(all, 'receipt', 1)),
  'receipt-tokens-lowered': editReceipt(({ budget }) => (budget.tokens_in = 1)),
  'receipt-charge-lowered': editReceipt(({ budget }) => (budget.charged_tokens = 1)),
  'receipt-model-changed': editReceipt((receipt) => (receipt.model_id = 'model-z')),
  'receipt-call-dropped': editReceipt((receipt) => (receipt.calls = [])),
  'receipt-refs-dropped': editReceipt(({ memory }) => (memory.retrieved_refs = [])),
  'receipt-output-replaced': editReceipt((receipt) => (receipt.output_commitment = '0'.repeat(64))),
  'receipt-signature-flipped': editReceipt((receipt) => {
    const bytes = Buffer.from(receipt.signature, 'base64')
    bytes.writeUInt8(bytes.readUInt8(0) ^ 1, 0)
    receipt.signature = bytes.toString('base64')
  }),
  'receipt-signature-of-another': (all) => {
    of(all, 'receipt').receipt.signature = of(all, 'receipt', 1).receipt.signature
    return all
  },
  'receipt-unchained': editReceipt((receipt) => (receipt.previous = null), 1),
  'action-dropped': dropLine('action'),
  'action-of-another-text': edit('action', ({ record }) => (record.commitment = '0'.repeat(64))),
  'action-of-another-call': edit('action', ({ record }) => (record.call_id = '0'.repeat(32))),
  'action-approver-changed': edit('action', ({ record }) => (record.approval.approver = 'ben')),
  'approval-dropped': dropLine('approval'),
  'approval-turned': edit('approval', ({ record }) => (record.decision = 'deny')),
  'approval-approver-changed': edit('approval', ({ record }) => (record.approver = 'ben')),
  'text-dropped': dropLine('text'),
  'text-edited': edit('text', (line) => (line.text += '.')),
  'text-salt-edited': edit('text', (line) => (line.salt = '0'.repeat(64))),
  'text-gone-without-certificate': edit('text', (line) => {
    line.text = null
    line.salt = null
  }),
  'text-without-salt': edit('text', (line) => (line.salt = null)),
  'text-added': (all) => [...all, { ...of(all, 'text'), commitment: '1'.repeat(64) }],
}

test('there are at least forty named mutations', () => {
  assert.ok(Object.keys(MUTATIONS).length >= 40)
})

for (const [name, mutate] of Object.entries(MUTATIONS))
  test(`a bundle with ${name} is not valid`, async () => {
    const mutated = mutate(structuredClone(lines))
    assert.notDeepEqual(mutated, lines)
    assert.equal((await verify(mutated)).valid, false)
  })

test('an entry without proof is invalid, and one that nothing needs is not checked', async () => {
  const event = ({ proof }: Line) => proof?.breadcrumb.event_type
  const without = lines.filter((line) => event(line) !== 'approval.requested')
  assert.equal(without.length, lines.length - 1)
  const verdict = await verify(without)
  assert.equal(verdict.valid, true, verdict.reason)
  assert.match(verdict.not_checked.join(), /entries beside steps, calls and approval/)
  const emptied = lines.map((line) =>
    event(line) === 'approval.requested' ? { ...line, proof: null } : line,
  )
  assert.equal((await verify(emptied)).valid, false)
})

test('after an erasure the bundle is valid and names the certificate', async () => {
  const other = await scene.tenant()
  const ref = await other.remember('Gil is allergic to nuts')
  const run = await other.start()
  const { step_id } = await other.permitted(run, { input_text: 'what about Gil?' })
  await other.complete(run, step_id, { output: 'Gil is allergic to nuts', final: true })
  const { certificate_id } = await other.ok('POST', '/erasure/issue', { fact_ref: ref })
  const bundle = await other.bundle(run)
  const verdict = await verify(bundle, await other.keys())
  assert.equal(verdict.valid, true, verdict.reason)
  assert.ok(verdict.not_checked.some((text) => text.includes(certificate_id)))
  const without = bundle.filter(({ type }) => type !== 'erasure')
  assert.equal((await verify(without, await other.keys())).valid, false)
})
