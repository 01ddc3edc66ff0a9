// POST …/steps/{step_id}/calls: policies, a person where a policy wants one, and the intent on
// record before the tool acts. What became of a call: told by its caller, who acted, or by a
// person, where nobody knows.

import assert from 'node:assert/strict'
import { type orchestrator as contract, type Run, type RunCall, runLimits } from '@custos/contract'
import { canonicalize, type JsonObject } from '@custos/proof'
import type { TenantDb, Tx } from '../../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../../platform/kernel/call.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { Refusal } from '../../../platform/refusal.ts'
import {
  openText,
  openTextsOfRun,
  type PreparedText,
  prepareText,
  retryWhileErasing,
  storeText,
} from '../../decisions/index.ts'
import { appendCrumb } from '../../gcrumbs/index.ts'
import { gate, redactedOr, refusalOf } from '../../governance/index.ts'
import { insertPrepared, prepareWaitingRecord } from '../../records/index.ts'
import { meter } from '../../tenants/index.ts'
import {
  actionRequest,
  agentActionRegistry,
  answerAction,
  callContext,
  mayReadTexts,
} from './agent-actions.ts'
import { knownAgent, loadAgent, refuseLimited } from './agents.ts'
import {
  type CallRow,
  findCall,
  findStep,
  listCalls,
  listSteps,
  type StepRow,
} from './orchestrator.sql.ts'
import { findEarlierIds } from './own-call.ts'
import { signerOf } from './run-receipt.ts'
import { RunUnit } from './run-unit.ts'
import { isToReport, refsOf, showCall } from './run-view.ts'
import { loadRun, loadRunOf, requireShort } from './runs.ts'
import { settleRun } from './settle-runs.ts'

const ID_BYTES = 16
const SECOND_US = 1_000_000

/** In a managed run, calls begin only after the answer that asks for them is recorded. */
function requireCallable(step: StepRow | undefined, executor: Run['executor']): StepRow {
  if (executor === 'client' || step?.state !== 'answered') return requirePermitted(step)
  return step
}

/** Refuses a step that is not permitted. */
export function requirePermitted(step: StepRow | undefined): StepRow {
  if (!step) throw new Refusal('step_not_found')
  if (step.reason === 'permit_expired') throw new Refusal('permit_expired')
  if (step.state !== 'permitted') throw new Refusal('wrong_state', `the step is ${step.state}`)
  return step
}

export const callTool: Handler<typeof contract.call_tool> = (call, input) =>
  callToolBy('client', call, input)

type CallInput = Parameters<Handler<typeof contract.call_tool>>[1] & {
  /** Given for a call that this service makes: its tool, and the origins of what the model read. */
  readonly own?: {
    /** `null` if the call delegates to another agent. */
    readonly tool_id: string | null
    readonly version: number
    readonly kind: CallRow['kind']
    readonly context_origins: readonly string[]
  }
  /** Seconds from now that the run may last, if that is longer than it was started for. */
  readonly hold_s?: number
}

/** Refuses `wrong_state` if the run has another executor. */
export async function callToolBy(
  executor: Run['executor'],
  call: Call<typeof contract.call_tool>,
  { params, body, own, hold_s }: CallInput,
): ReturnType<Handler<typeof contract.call_tool>> {
  refuseLimited(call)
  const earlier = await findEarlierIds(call)
  if (earlier) return answerCall(call, params.step_id, String(earlier['call_id']))
  const { kernel, tenant_id } = call
  const { run_id, step_id } = params
  signerOf(kernel)
  await settleRun(kernel, tenant_id, run_id)
  const { step, agent, context_origins } = await call.read(async (db) => {
    await loadRunOf(db, run_id, executor)
    const found = requireCallable(await findStep(db, run_id, step_id), executor)
    return {
      step: found,
      agent: knownAgent(await loadAgent(kernel, db, found.agent_id)),
      context_origins: own?.context_origins ?? (await originsOfCaller(kernel, db, found)),
    }
  })
  const { tool, effect = 'once' } = body
  if (!agent) return call.refuse('wrong_state', 'the agent is deleted or redacted')
  if (executor === 'managed' && agent.row.enabled !== 1)
    return call.refuse('wrong_state', 'the agent is disabled')
  const { tools } = agent.words
  const delegates = own?.tool_id === null
  if (tools.length > 0 && !tools.includes(tool) && !delegates) return call.refuse('tool_refused')
  const { agent_id } = step
  const given = { tool, args: (body.args ?? {}) as JsonObject }
  const { version } = own ?? {}
  const context = { ...callContext({ run_id, agent_id, effect }, given), context_origins }
  const gated = await gate(call, 'tool_execution', context, { minted: ['agent_id', 'run_id'] })
  if (gated.exceeded) throw refusalOf(gated)
  const args = redactedOr(gated.redactions[0] ?? {}, 'args', given.args)
  const text = canonicalize({ tool, args, ...(version !== undefined && { version }) })
  requireShort('tool and args', text)

  const call_id = kernel.ids.hex(ID_BYTES)
  const denied = gated.verdict === 'denied'
  const stored = await retryWhileErasing(async () => {
    const bound = { kind: 'call_args', run_id, text, refs: refsOf([step]) } as const
    const kept = await prepareText(kernel, tenant_id, bound)
    const { text_id, commitment } = kept
    const action =
      gated.verdict === 'escalated'
        ? await prepareWaitingRecord(call, agentActionRegistry, {
            request: actionRequest({
              ...{ run_id, step_id, call_id, agent_id, operation: 'tool_execution', effect },
              ...{ text_id, commitment },
            }),
            gated,
            context_origins,
          })
        : null
    const unit = async (tx: Parameters<typeof storeText>[0]) => {
      const run = await RunUnit.load(kernel, tx, run_id)
      if (!run?.live) return call.refuse('wrong_state', 'the run has ended')
      const found = run.steps.find((one) => one.step_id === step_id)
      const now = requireCallable(found, executor)
      const call_no = run.callsOf(now).length + 1
      if (call_no > runLimits.calls_per_step) return call.refuse('too_many')
      await storeText(tx, kept)
      if (action) await insertPrepared(tx, action)
      const row: CallRow = {
        run_id,
        step_no: now.step_no,
        call_no,
        call_id,
        state: denied ? 'denied' : action ? 'waiting_hitl' : 'intended',
        reason: denied ? 'policy' : null,
        effect,
        args_text_id: text_id,
        args_commitment: commitment,
        result_text_id: null,
        result_commitment: null,
        policy_set: gated.policy_set,
        evaluation_id: gated.evaluation_id,
        action_id: action?.row.record_id ?? null,
        created_us: tx.now(),
        ended_us: denied ? tx.now() : null,
        tool_id: own?.tool_id ?? null,
        sent_us: null,
        kind: own?.kind ?? null,
        record_id: null,
        compensates: null,
      }
      await run.addCall(row)
      if (hold_s !== undefined && !denied) await run.extend(tx.now() + hold_s * SECOND_US)
      meter(tx, call.operation.id)
      if (!denied && !action) await run.intend(row, step_id)
    }
    // A denial is answered with a refusal, which is not replayed under an idempotency key.
    if (denied) {
      await call.transact(unit)
      return call_id
    }
    // An earlier request with the same idempotency key may have stored the call; its id is
    // returned.
    return call.once<string>({
      run: async (tx) => {
        await unit(tx)
        return { reply: call_id, ids: { run_id, call_id } }
      },
      replay: async (_, ids) => String(ids['call_id']),
    })
  })
  if (denied) throw refusalOf(gated)
  return answerCall(call, step_id, stored)
}

/**
 * The origins of the texts that a client's model may have read. Calls in flight are included,
 * because the client sees their results before it reports them.
 */
async function originsOfCaller(kernel: Kernel, db: TenantDb, step: StepRow): Promise<string[]> {
  const acting = (await listCalls(db, step.run_id)).filter(({ state }) =>
    ['intended', 'done', 'uncertain'].includes(state),
  )
  const texts = acting.length > 0 ? await openTextsOfRun(kernel, db, step.run_id) : new Map()
  const tools = acting.map(({ args_text_id }) => {
    const args: { text: string } | undefined = texts.get(args_text_id)
    // Written by `callToolBy`.
    return `tool:${args ? String(JSON.parse(args.text).tool) : 'erased'}`
  })
  const memory = refsOf([step]).length > 0 ? ['memory'] : []
  return ['caller', 'model', ...memory, ...new Set(tools)]
}

async function answerCall(call: Call<typeof contract.call_tool>, step_id: string, call_id: string) {
  const row = await call.read((db) => findCall(db, call_id))
  if (!row) return call.refuse('step_not_found')
  if (row.state === 'waiting_hitl' && row.action_id !== null)
    return answerAction(call, { action_id: row.action_id, step_id, call_id })
  return showCall(row, step_id)
}

/** The tool named in the text of a call, or `null` if the text is erased. */
export const toolOf = (text: string | undefined): string | null =>
  text === undefined ? null : argsOf(text).tool

/** Parses the text of a call, which is written above. */
export const argsOf = (text: string): { tool: string; args: JsonObject; version: number } =>
  JSON.parse(text)

/** Refuses a call that the run does not have. */
async function loadCall(
  db: TenantDb,
  { run_id, call_id }: { readonly run_id: string; readonly call_id: string },
): Promise<{ readonly row: CallRow; readonly step: StepRow }> {
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
    call: { readonly row: CallRow; readonly step: StepRow },
    named: Pick<CallRow, 'result_text_id' | 'result_commitment'>,
  ): Promise<unknown>
}

/** Stores the reported outcome, bound to the memories of the step, and lets the run continue. */
async function settleCall(
  call: Call<typeof contract.report_call> | Call<typeof contract.resolve_call>,
  { run_id, call_id, text }: Record<'run_id' | 'call_id' | 'text', string>,
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
