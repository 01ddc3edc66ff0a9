// Records the outcome of a call, reported by the client that acted, or by a person if it is
// unknown.

import assert from 'node:assert/strict'
import type { orchestrator as contract, RunCall } from '@custos/contract'
import type { TenantDb, Tx } from '../../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../../platform/kernel/call.ts'
import { Refusal } from '../../../platform/refusal.ts'
import {
  openText,
  type PreparedText,
  prepareText,
  retryWhileErasing,
  storeText,
} from '../../decisions/index.ts'
import { appendCrumb } from '../../gcrumbs/index.ts'
import { meter } from '../../tenants/index.ts'
import { mayReadTexts } from './agent-actions.ts'
import { refuseLimited } from './agents.ts'
import { argsOf } from './call-tool.ts'
import { findEarlierIds } from './earlier-answer.ts'
import { type CallRow, findCall, listCalls, listSteps, type StepRow } from './orchestrator.sql.ts'
import { RunUnit } from './run-unit.ts'
import { isToReport, refsOf, showCall } from './run-view.ts'
import { loadRun, requireShort } from './runs.ts'
import { settleRun } from './settle-runs.ts'

interface NamedCall {
  readonly run_id: string
  readonly call_id: string
}

interface CallOfStep {
  readonly row: CallRow
  readonly step: StepRow
}

/** Refuses a call that the run does not have. */
async function loadCall(db: TenantDb, { run_id, call_id }: NamedCall): Promise<CallOfStep> {
  await loadRun(db, run_id)
  const calls = await listCalls(db, run_id)
  const row = calls.find((one) => one.call_id === call_id)
  if (!row) throw new Refusal('call_not_found')
  const of = calls.find((one) => one.call_id === row.compensates) ?? row
  const step = (await listSteps(db, run_id)).find(({ step_no }) => step_no === of.step_no)
  assert(step, 'a call is of a step')
  return { row, step }
}

export const getCall: Handler<typeof contract.get_call> = (call, { params }) => {
  refuseLimited(call)
  const { kernel } = call
  return call.read(async (db) => {
    const { row, step } = await loadCall(db, params)
    const textOf = async (text_id: string | null) =>
      text_id !== null && mayReadTexts(call) ? await openText(kernel, db, text_id) : null
    const given = await textOf(row.args_text_id)
    const { tool, args } = given ? argsOf(given.text) : { tool: null, args: null }
    const result = (await textOf(row.result_text_id))?.text ?? null
    return { ...showCall(row, step.step_id), tool, args, result }
  })
}

export const resolveCall: Handler<typeof contract.resolve_call> = (call, { params, body }) => {
  const { happened } = body
  const text = body.result ?? (happened ? 'It acted.' : 'It did not act.')
  return settleCall(call, { ...params, text }, ({ state }) => state === 'uncertain', {
    refused: 'the call is not uncertain, or its step has ended',
    async store(unit, { row, step: { step_id } }, named) {
      const [state, reason] = [happened ? 'done' : 'failed', 'resolved'] as const
      await unit.setCall(row, { state, reason, ...named, ended_us: unit.tx.now() })
      const resolved_by = call.principal.key_id
      await appendCrumb(unit.tx, {
        event_type: 'tool.resolved',
        subject: row.call_id,
        payload: { run_id: row.run_id, step_id, state, reason, resolved_by },
      })
      await unit.refresh()
      await unit.wake()
    },
  })
}

export const reportCall: Handler<typeof contract.report_call> = async (call, { params, body }) => {
  refuseLimited(call)
  if (await findEarlierIds(call))
    return call.read(async (db) => {
      const { row, step } = await loadCall(db, params)
      return showCall(row, step.step_id)
    })
  const { result: text, failed = false } = body
  return settleCall(call, { ...params, text }, isToReport, {
    refused: 'the call does not wait for a report, or the run has ended',
    async store(unit, { row, step }, named) {
      const reason = failed ? 'reported' : null
      await unit.endCall(row, step.step_id, { state: failed ? 'failed' : 'done', reason, ...named })
      await unit.refresh()
      await unit.wake()
    },
  })
}

interface Settlement {
  readonly refused: string
  store(
    unit: RunUnit,
    call: CallOfStep,
    named: Pick<CallRow, 'result_text_id' | 'result_commitment'>,
  ): Promise<unknown>
}

/** Stores the reported outcome, bound to the memories of the step, and lets the run continue. */
async function settleCall(
  call: Call<typeof contract.report_call> | Call<typeof contract.resolve_call>,
  { run_id, call_id, text }: NamedCall & { readonly text: string },
  accepts: (row: CallRow) => boolean,
  { refused, store }: Settlement,
): Promise<RunCall> {
  refuseLimited(call)
  const { kernel, tenant_id } = call
  requireShort('result', text)
  await settleRun(kernel, tenant_id, run_id)
  const { step } = await call.read((db) => loadCall(db, { run_id, call_id }))
  await retryWhileErasing(async () => {
    const refs = refsOf([step])
    const kept = await prepareText(kernel, tenant_id, { kind: 'call_result', run_id, text, refs })
    await call.once<null>({
      run: async (tx) => {
        const unit = await RunUnit.load(kernel, tx, run_id)
        const row = unit?.calls.find((one) => one.call_id === call_id)
        // After the step has ended, its receipt already states what was known about its calls.
        const open = unit?.steps.some(
          ({ step_id, ended_us }) => step_id === step.step_id && ended_us === null,
        )
        if (!unit?.live || !open || !row || !accepts(row)) throw new Refusal('wrong_state', refused)
        await storeResult(tx, kept)
        const named = { result_text_id: kept.text_id, result_commitment: kept.commitment }
        await store(unit, { row, step }, named)
        meter(tx, call.operation.id)
        return { reply: null, ids: { call_id } }
      },
      replay: async () => null,
    })
  })
  const ended = await call.read((db) => findCall(db, call_id))
  assert(ended, 'a call is never deleted')
  return showCall(ended, step.step_id)
}

async function storeResult(tx: Tx, kept: PreparedText): Promise<void> {
  if ((await storeText(tx, kept)) === 'erased')
    throw new Refusal('wrong_state', 'a memory that the step was made from is erased')
}
