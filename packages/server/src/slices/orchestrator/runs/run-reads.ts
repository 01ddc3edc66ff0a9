// What is read of a whole run: its steps with their texts, whether what proves it holds, and its
// bundle.

import type { orchestrator as contract, ReplyOf } from '@custos/contract'
import {
  isObject,
  type JsonObject,
  type PublishedKey,
  signedBytes,
  verifyEd25519,
  verifyRunBundle,
} from '@custos/proof'
import { sha256 } from '../../../platform/bytes.ts'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import { type Call, type Handler, streamed } from '../../../platform/kernel/call.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { openTextsOfRun } from '../../decisions/index.ts'
import { findStandingCertificate, parseCertificate, showCertificate } from '../../erasure/index.ts'
import {
  findHead,
  findLastEpoch,
  listCrumbs,
  proveEntry,
  rollEpoch,
  seqAt,
} from '../../gcrumbs/index.ts'
import { loadFactStates } from '../../memory/index.ts'
import { findApproval, findRecord, openApprovals } from '../../records/index.ts'
import { mayReadTexts } from './agent-actions.ts'
import { refuseLimited } from './agents.ts'
import {
  type CallRow,
  findStepById,
  listCalls,
  listSteps,
  type RunRow,
  type StepRow,
} from './orchestrator.sql.ts'
import { refsOf, showStep } from './run-view.ts'
import { loadRun, receiptsOf } from './runs.ts'
import { settleRun } from './settle-runs.ts'

export const listRunSteps: Handler<typeof contract.list_steps> = (call, { params }) => {
  refuseLimited(call)
  const { run_id } = params
  return call.read(async (db) => {
    await loadRun(db, run_id)
    const calls = await listCalls(db, run_id)
    const texts = mayReadTexts(call) ? await openTextsOfRun(call.kernel, db, run_id) : null
    const textOf = (text_id: string | null) => texts?.get(text_id ?? '')?.text ?? null
    const steps = (await listSteps(db, run_id)).map((step) => ({
      ...showStep(step, calls),
      input_text: textOf(step.input_text_id),
      output_text: textOf(step.output_text_id),
    }))
    return { run_id, steps, count: steps.length }
  })
}

export const getReceipt: Handler<typeof contract.get_receipt> = (call, { params }) => {
  refuseLimited(call)
  return call.read(async (db) => {
    const step = await findStepById(db, params.receipt_id)
    if (!step) return call.refuse('step_not_found')
    return receiptsOf([step])[0] ?? call.refuse('wrong_state', 'the step has not ended')
  })
}

export const verifyRun: Handler<typeof contract.verify> = (call, { params }) => {
  refuseLimited(call)
  return checkRun(call, params.run_id)
}

/** Refuses a run that the tenant does not have. */
export async function checkRun(
  call: Pick<Call, 'kernel' | 'tenant_id' | 'read'>,
  run_id: string,
): Promise<ReplyOf<typeof contract.verify>> {
  // Settles the run like the bundle does, so that both cover the same receipts.
  await settleRun(call.kernel, call.tenant_id, run_id)
  const rows = await call.read(async (db) => ({
    run: await loadRun(db, run_id),
    steps: await listSteps(db, run_id),
  }))
  const keys = call.kernel.keyring.publishedKeys()
  const { steps_verified, broken } = await checkReceipts(rows, keys)
  const shown = { run_id, steps_verified, tampered_at_step: broken }
  if (broken !== null) return { ...shown, status: 'tampered', reason: 'receipt' }
  const lines: unknown[] = []
  // The bundle has one JSON object per line.
  for await (const line of await openBundle(call, run_id)) lines.push(JSON.parse(line))
  const { valid, reason = null } = await verifyRunBundle(lines, { keys })
  if (!valid) return { ...shown, status: 'tampered', reason }
  return { ...shown, status: steps_verified === 0 ? 'empty' : 'intact', reason: null }
}

/** Checks that this service signed each receipt for its step, and that the receipts are chained. */
async function checkReceipts(
  { run, steps }: { readonly run: RunRow; readonly steps: readonly StepRow[] },
  keys: readonly PublishedKey[],
): Promise<{ steps_verified: number; broken: number | null }> {
  const ended = steps
    .filter(({ ended_us }) => ended_us !== null)
    .map((step) => ({ step, receipt: parseReceipt(step.receipt) }))
  const unreadable = ended.find(({ receipt }) => receipt === null)
  if (unreadable) return { steps_verified: 0, broken: unreadable.step.step_no }
  const ordered = ended.toSorted((a, b) => numberOf(a.receipt) - numberOf(b.receipt))
  let previous: string | null = null
  for (const [at, { step, receipt }] of ordered.entries()) {
    const follows = receipt?.['receipt_no'] === at && receipt['previous'] === previous
    const same =
      receipt?.['run_id'] === run.run_id &&
      receipt['step_id'] === step.step_id &&
      receipt['state'] === step.state
    if (!receipt || !follows || !same || !(await isSigned(receipt, keys)))
      return { steps_verified: at, broken: step.step_no }
    previous = Buffer.from(sha256(signedBytes('run_receipt', receipt))).toString('hex')
  }
  const last = ordered.at(-1)?.step.step_no ?? null
  if (previous !== run.last_receipt_digest || ordered.length !== run.receipts)
    return { steps_verified: Math.max(0, ordered.length - 1), broken: last ?? 0 }
  return { steps_verified: ordered.length, broken: null }
}

const numberOf = (receipt: JsonObject | null): number => Number(receipt?.['receipt_no'])

/** Returns `null` if the text is not a JSON object, so this service did not write it. */
function parseReceipt(text: string | null): JsonObject | null {
  try {
    const parsed: unknown = JSON.parse(text ?? 'null')
    return isObject(parsed) ? parsed : null
  } catch {
    return null
  }
}

async function isSigned(receipt: JsonObject, keys: readonly PublishedKey[]): Promise<boolean> {
  const { key_id, public_key, signature } = receipt
  const key = Buffer.from(String(public_key), 'base64')
  const known = keys.find((one) => one.key_id === key_id && one.purpose === 'record')
  if (known?.public_key !== key.toString('hex')) return false
  const signed = Buffer.from(String(signature), 'base64')
  return verifyEd25519(key, signedBytes('run_receipt', receipt), signed)
}

const PAGE = 500

interface RunRows {
  readonly run: RunRow
  readonly steps: readonly StepRow[]
  readonly calls: readonly CallRow[]
  /** The size of the log when the rows were read; later entries are not part of the bundle. */
  readonly end: number
}

export const bundle: Handler<(typeof contract)['bundle']> = async (call, { params }) => {
  refuseLimited(call)
  await call.read((db) => loadRun(db, params.run_id))
  const stream = await openBundle(call, params.run_id)
  return streamed({ stream, filename: `run-${params.run_id}.ndjson` })
}

/** Returns the lines of a run's bundle. Refuses a run that the tenant does not have. */
export async function openBundle(
  { kernel, tenant_id }: Pick<Call, 'kernel' | 'tenant_id'>,
  run_id: string,
): Promise<AsyncGenerator<string>> {
  // A just-erased memory ends the run, so that the receipts name it beside its certificate.
  await settleRun(kernel, tenant_id, run_id)
  const rows = await kernel.db.read(tenant_id, async (db) => ({
    run: await loadRun(db, run_id),
    steps: await listSteps(db, run_id),
    calls: await listCalls(db, run_id),
    end: (await findHead(db))?.size ?? 0,
  }))
  // Makes sure that a checkpoint covers every entry that the rows name.
  await rollEpoch(kernel, tenant_id)
  return listLines(kernel, tenant_id, rows)
}

async function* listLines(
  kernel: Kernel,
  tenant_id: string,
  rows: RunRows,
): AsyncGenerator<string> {
  const { run, steps } = rows
  const { run_id } = run
  yield line({ type: 'run_bundle', version: 1, tenant_id, run_id, ended: run.ended_us !== null })
  const actions = await listActions(kernel, tenant_id, rows)
  const subjects = new Set([
    run_id,
    ...steps.flatMap(({ step_id, decision_id }) => [step_id, decision_id ?? step_id]),
    ...rows.calls.map(({ call_id }) => call_id),
    ...actions.flatMap(({ action_id, request_id }) => [action_id, request_id]),
  ])
  const logged = new Set<string>()
  for await (const { event_type, subject, text } of listEntries(
    kernel,
    tenant_id,
    rows,
    subjects,
  )) {
    logged.add(`${event_type} ${subject}`)
    yield text
  }
  for (const receipt of receiptsOf(steps)) yield line({ type: 'receipt', receipt })
  for (const { action_id, request_id, document, approval } of actions) {
    const approved = logged.has(`agent_action.approved ${action_id}`)
    const decided = approved || logged.has(`approval.denied ${request_id}`)
    if (document !== null && approved) yield line({ type: 'action', record: document })
    if (approval !== null && decided) yield line({ type: 'approval', record: approval })
  }
  yield* listTexts(kernel, tenant_id, rows)
}

const line = (value: unknown): string => `${JSON.stringify(value)}\n`

/** Lists the entries of the run and of what it used, in log order. */
async function* listEntries(
  kernel: Kernel,
  tenant_id: string,
  { run, end }: RunRows,
  subjects: ReadonlySet<string>,
): AsyncGenerator<Awaited<ReturnType<typeof listProofs>>[number]> {
  // All proofs use one checkpoint, even if others follow meanwhile.
  const { first, epoch } = await kernel.db.read(tenant_id, async (db) => ({
    first: Math.max(0, await seqAt(db, run.created_us - 1)),
    epoch: await findLastEpoch(db),
  }))
  for (let seq = first; seq < end; seq += PAGE) {
    const lines = await kernel.db.read(tenant_id, (db) =>
      listProofs(kernel, db, { first: seq, end: Math.min(end, seq + PAGE), subjects, epoch }),
    )
    yield* lines
  }
}

async function listProofs(
  kernel: Kernel,
  db: TenantDb,
  given: { first: number; end: number; subjects: ReadonlySet<string> } & Pick<
    Parameters<typeof proveEntry>[2],
    'epoch'
  >,
): Promise<Record<'event_type' | 'subject' | 'text', string>[]> {
  const lines: Awaited<ReturnType<typeof listProofs>> = []
  for (const { seq, record } of await listCrumbs(db, given.first, given.end)) {
    // Written by appendCrumb.
    const { event_type, subject } = JSON.parse(record) as Record<'event_type' | 'subject', string>
    if (!given.subjects.has(subject)) continue
    const proof = await proveEntry(kernel, db, { seq, epoch: given.epoch })
    if (proof === null) continue
    lines.push({ event_type, subject, text: `{"type":"entry","proof":${proof}}\n` })
  }
  return lines
}

async function listActions(kernel: Kernel, tenant_id: string, { steps, calls }: RunRows) {
  const ids = [...steps, ...calls].flatMap(({ action_id }) => action_id ?? [])
  const actions = []
  for (const action_id of ids) {
    const named = { kind: 'agent_action', record_id: action_id } as const
    const record = await findRecord(kernel, tenant_id, named)
    const request_id = record?.row.request_id ?? ''
    const row = await kernel.db.read(tenant_id, (db) => findApproval(db, request_id))
    const [opened] = row ? await openApprovals(kernel, tenant_id, [row]) : []
    const document = record?.document ?? null
    actions.push({ action_id, request_id, document, approval: opened?.content.record ?? null })
  }
  return actions
}

/** Lists each text that the run commits to, and why some are missing. */
async function* listTexts(
  kernel: Kernel,
  tenant_id: string,
  { run, steps, calls }: RunRows,
): AsyncGenerator<string> {
  const opened = await kernel.db.read(tenant_id, (db) => openTextsOfRun(kernel, db, run.run_id))
  const commitments = new Map(receiptsOf(steps).map((one) => [one['step_id'], one]))
  const named = [
    ...steps.map((step) => [step.input_text_id, step.input_commitment] as const),
    ...steps.map((step) => {
      const receipt = commitments.get(step.step_id)
      return [step.output_text_id, receipt?.['output_commitment'] ?? null] as const
    }),
    ...calls.map((one) => [one.args_text_id, one.args_commitment] as const),
    ...calls.map((one) => [one.result_text_id, one.result_commitment] as const),
  ]
  for (const [text_id, commitment] of named) {
    if (text_id === null || commitment === null) continue
    const { text = null, salt = null } = opened.get(text_id) ?? {}
    yield line({ type: 'text', text_id, commitment, text, salt })
  }
  const erased = await kernel.db.read(tenant_id, async (db) => {
    const states = await loadFactStates(db, refsOf(steps))
    const refs = [...states].filter(([, state]) => state === 'erased').map(([ref]) => ref)
    const gone = named.flatMap(([id]) => (id === null || opened.has(id) ? [] : [`run_text/${id}`]))
    return Promise.all([
      ...refs.map((ref) => findStandingCertificate(db, 'fact', String(ref))),
      ...gone.map((subject) => findStandingCertificate(db, 'text', subject)),
    ])
  })
  for (const row of erased)
    if (row)
      yield line({
        type: 'erasure',
        certificate: await showCertificate(
          parseCertificate(row.record),
          kernel.keyring.publishedKeys(),
        ),
      })
}
