// POST …/steps/{step_id}/complete: checks the output, logs the decision, settles the budget and
// signs the receipt, in one unit of work.

import type { orchestrator as contract, Run, RunStep } from '@custos/contract'
import type { JsonObject } from '@custos/proof'
import { retryOnConflict } from '../../../platform/concurrency.ts'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../../platform/kernel/call.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import {
  logDecision,
  openText,
  type PreparedText,
  prepareDecision,
  prepareText,
  retryWhileErasing,
  storeText,
} from '../../decisions/index.ts'
import { type GateResult, gate, redactedOr, refusalOf } from '../../governance/index.ts'
import { meter } from '../../tenants/index.ts'
import { refuseLimited } from './agents.ts'
import { requirePermitted } from './call-tool.ts'
import { findRun, findStep, listCalls, type StepRow } from './orchestrator.sql.ts'
import { findEarlierIds } from './own-call.ts'
import { RunUnit } from './run-unit.ts'
import { refsOf, showRun, showStep, sourcesOf } from './run-view.ts'
import { loadRunOf, requireShort } from './runs.ts'
import { settleRun } from './settle-runs.ts'

type CompleteCall = Call<typeof contract.complete_step>
type CompleteInput = Parameters<Handler<typeof contract.complete_step>>[1] & {
  /** What this service knows about an answer that it asked for itself. */
  readonly model?: JsonObject
}
/** The store label in decisions of steps that read no store. */
const NO_STORE = 'none'
const ATTEMPTS = 8

export const completeStep: Handler<typeof contract.complete_step> = (call, input) =>
  completeStepBy('client', call, input)

/** Refuses `wrong_state` if the run has another executor. */
export async function completeStepBy(
  executor: Run['executor'],
  call: CompleteCall,
  { params, body, model }: CompleteInput,
): ReturnType<Handler<typeof contract.complete_step>> {
  refuseLimited(call)
  const { run_id, step_id } = params
  if (await findEarlierIds(call)) return answerEnded(call, run_id, step_id)
  const { kernel, tenant_id } = call
  await settleRun(kernel, tenant_id, run_id)
  const { step, input } = await call.read(async (db) => {
    await loadRunOf(db, run_id, executor)
    const found = requirePermitted(await findStep(db, run_id, step_id))
    return { step: found, input: await openText(kernel, db, found.input_text_id) }
  })
  for (const text of [body.output, ...(body.calls ?? []).map(({ result }) => result)])
    requireShort('a text', text)
  const context = {
    ...{ run_id, agent_id: step.agent_id, model_id: step.model_id, store_id: step.store_id },
    output: body.output,
  }
  const gated = await gate(call, 'output_check', context, { minted: ['agent_id', 'run_id'] })
  if (gated.exceeded) throw refusalOf(gated)
  if (gated.verdict !== 'allowed') {
    await refuseOutput(call, run_id, step_id, body)
    throw refusalOf(gated)
  }
  const completed = { step, input: input?.text ?? '', body, gated, model }
  await retryWhileErasing(() =>
    retryOnConflict(() => storeCompleted(call, completed), {
      on: 'decision_id',
      attempts: ATTEMPTS,
    }),
  )
  return answerEnded(call, run_id, step_id)
}

/** Stores nothing of a refused output, but settles what was used, and denies the run. */
export function refuseOutput(
  call: CompleteCall,
  run_id: string,
  step_id: string,
  {
    tokens_in,
    tokens_out,
    cost_micro,
  }: Pick<CompleteInput['body'], 'tokens_in' | 'tokens_out' | 'cost_micro'>,
): Promise<void> {
  return call.transact(async (tx) => {
    const { unit, step } = await loadOpen(call, tx, run_id, step_id)
    const used = { tokens_in, tokens_out, cost_micro: cost_micro ?? step.reserved_cost_micro }
    await unit.endStep(step, { state: 'denied', reason: 'output_refused' }, used)
    await unit.end('denied', 'output_refused')
    meter(tx, call.operation.id)
  })
}

async function loadOpen(call: CompleteCall, tx: Tx, run_id: string, step_id: string) {
  const unit = await RunUnit.load(call.kernel, tx, run_id)
  if (!unit?.live) return call.refuse('wrong_state', 'the run has ended')
  const step = requirePermitted(unit.steps.find((one) => one.step_id === step_id))
  return { unit, step }
}

interface CompletedStep {
  readonly step: StepRow
  readonly input: string
  readonly body: CompleteInput['body']
  readonly gated: GateResult
  readonly model: JsonObject | undefined
}

async function storeCompleted(
  call: CompleteCall,
  { step, input, body, gated, model }: CompletedStep,
): Promise<void> {
  const { kernel, tenant_id } = call
  const { run_id, step_id } = step
  const refs = refsOf([step])
  const prepare = (kind: 'step_output' | 'call_result', text: string) =>
    prepareText(kernel, tenant_id, { kind, run_id, text, refs })
  const answer = redactedOr(gated.redactions[0] ?? {}, 'output', body.output)
  const output = await prepare('step_output', answer)
  const results = new Map<string, { failed: boolean; text: PreparedText }>()
  for (const { call_id, result, failed = false } of body.calls ?? [])
    results.set(call_id, { failed, text: await prepare('call_result', result) })
  const decision = await prepareStepDecision(kernel, tenant_id, step, {
    input,
    output: answer,
    tokens_out: body.tokens_out,
    model_version: body.model_version ?? null,
  })
  await call.once<null>({
    run: async (tx) => {
      const { unit, step: open } = await loadOpen(call, tx, run_id, step_id)
      await endCalls(call, unit, open, results)
      if ((await storeText(tx, output)) === 'erased')
        return call.refuse('wrong_state', 'a memory that the step was made from is erased')
      const { decision_id, record_digest } = await logDecision(tx, decision)
      const ended = {
        tokens_in: body.tokens_in,
        tokens_out: body.tokens_out,
        cost_micro: body.cost_micro ?? open.reserved_cost_micro,
        decision_id,
        output_text_id: output.text_id,
      }
      const known = model === undefined ? {} : { model }
      const signed = { output_commitment: output.commitment, record_digest, ...known }
      await unit.endStep(open, { state: 'completed', reason: null, ...signed }, ended)
      if (body.final) {
        if (unit.steps.some(({ ended_us }) => ended_us === null))
          return call.refuse('wrong_state', 'other steps of the run are under way')
        await unit.end('completed', null)
      } else await unit.refresh()
      meter(tx, call.operation.id)
      return { reply: null, ids: { step_id } }
    },
    replay: async () => null,
  })
}

interface StepAnswer {
  readonly input: string
  readonly output: string
  readonly tokens_out: number
  readonly model_version: string | null
}

/** Prepares the entry of a step in the decision trail. */
export const prepareStepDecision = (
  kernel: Kernel,
  tenant_id: string,
  step: StepRow,
  { input, output, tokens_out, model_version }: StepAnswer,
) =>
  prepareDecision(kernel, tenant_id, {
    store_id: step.store_id ?? NO_STORE,
    model_id: step.model_id,
    query: input,
    output,
    session_id: step.run_id,
    refs: refsOf([step]),
    contents: [],
    scores: [],
    token_count: tokens_out,
    latency_ms: null,
    parameters: {
      run_id: step.run_id,
      step_id: step.step_id,
      agent_id: step.agent_id,
      model_version,
      inherited: sourcesOf(step).inherited.length,
    },
    memory_seq: step.memory_seq,
  })

/** Stores the results that the caller reports. Refuses calls that the step may not make. */
async function endCalls(
  call: CompleteCall,
  unit: RunUnit,
  step: StepRow,
  results: ReadonlyMap<string, { failed: boolean; text: PreparedText }>,
): Promise<void> {
  const own = unit.callsOf(step)
  if (own.some(({ state }) => state === 'waiting_hitl'))
    return call.refuse('wrong_state', 'a call of the step waits for a person')
  for (const [call_id, { failed, text }] of results) {
    const known = own.find((one) => one.call_id === call_id)
    if (known?.state !== 'intended')
      return call.refuse('rejected', 'calls names one that the step may not make')
    await storeText(unit.tx, text)
    await unit.endCall(known, step.step_id, {
      state: failed ? 'failed' : 'done',
      reason: failed ? 'reported' : null,
      result_text_id: text.text_id,
      result_commitment: text.commitment,
    })
  }
}

function answerEnded(
  call: CompleteCall,
  run_id: string,
  step_id: string,
): Promise<{ step: RunStep; run: Run; receipt: Record<string, unknown> }> {
  return call.read(async (db) => {
    const run = await findRun(db, run_id)
    const row = await findStep(db, run_id, step_id)
    if (!run || !row?.receipt) return call.refuse('step_not_found')
    const step = showStep(row, await listCalls(db, run_id))
    // Written by RunUnit.
    return { step, run: showRun(run, call.tenant_id), receipt: JSON.parse(row.receipt) }
  })
}
