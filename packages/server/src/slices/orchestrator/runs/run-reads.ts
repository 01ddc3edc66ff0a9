// Reads of a whole run: its steps with their texts, and the verification of its proof.

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
import type { Call, Handler } from '../../../platform/kernel/call.ts'
import { openTextsOfRun } from '../../decisions/index.ts'
import { mayReadTexts } from './agent-actions.ts'
import { refuseLimited } from './agents.ts'
import { openBundle } from './bundle.ts'
import {
  findStepById,
  listCalls,
  listSteps,
  type RunRow,
  type StepRow,
} from './orchestrator.sql.ts'
import { showStep } from './run-view.ts'
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
