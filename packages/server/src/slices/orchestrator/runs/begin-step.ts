// POST /v1/orchestrator/runs/{run_id}/steps: retrieves memory within a budget, asks the policies,
// waits for a person if one must approve, and issues a permit that reserves budget.

import {
  type orchestrator as contract,
  type Run,
  runLimits,
  type StepPermit,
} from '@custos/contract'
import { formatTime } from '../../../platform/clock.ts'
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
import { findHead } from '../../gcrumbs/index.ts'
import { type GateResult, gate, redactedOr, refusalOf } from '../../governance/index.ts'
import { loadLiveFacts } from '../../memory/index.ts'
import { insertPrepared, type PreparedRecord, prepareWaitingRecord } from '../../records/index.ts'
import { meter } from '../../tenants/index.ts'
import {
  actionRequest,
  agentActionRegistry,
  answerAction,
  mayReadTexts,
  stepContext,
} from './agent-actions.ts'
import { loadAgent, type OpenAgent, refuseLimited } from './agents.ts'
import {
  type CallRow,
  findStep,
  listCalls,
  listSteps,
  type RunRow,
  type StepRow,
} from './orchestrator.sql.ts'
import { findEarlierIds, retrieveMemories } from './own-call.ts'
import { signerOf } from './run-receipt.ts'
import { RunUnit } from './run-unit.ts'
import { isOver, leftOf, refsOf, showStep, sourcesOf } from './run-view.ts'
import { loadRun, loadRunOf, requireShort } from './runs.ts'
import { settleRun } from './settle-runs.ts'

type BeginCall = Call<typeof contract.begin_step>
const ID_BYTES = 16
const SECOND_US = 1_000_000
const BUDGET_DEFAULT = 1_024

export const beginStep: Handler<typeof contract.begin_step> = (call, input) =>
  beginStepBy('client', call, input)

type BeginInput = Parameters<Handler<typeof contract.begin_step>>[1] & {
  /** Origins of the texts that the model has read: `tool:<name>` for each tool. */
  readonly origins?: readonly string[]
  /** The turn of a workflow, and the steps whose texts its input may repeat. */
  readonly turn?: { readonly turn_no: number | null; readonly seen: readonly StepRow[] }
}

/** Refuses `wrong_state` if the run has another executor. */
export async function beginStepBy(
  executor: Run['executor'],
  call: BeginCall,
  { params, body, origins = [], turn }: BeginInput,
): ReturnType<Handler<typeof contract.begin_step>> {
  refuseLimited(call)
  const earlier = await findEarlierIds(call)
  if (earlier) return answerStep(call, params.run_id, String(earlier['step_id']))
  const { kernel, tenant_id } = call
  signerOf(kernel)
  await settleRun(kernel, tenant_id, params.run_id)
  const planned = await call.read(async (db) => {
    const run = await loadRunOf(db, params.run_id, executor)
    return planStep(call, db, { run, turn, body })
  })
  const found = await retrieve(call, planned)
  const retrieved = found.memories.map(({ ref }) => ref)
  if (new Set([...retrieved, ...planned.inherited]).size > runLimits.sources)
    return call.refuse('too_many_sources')
  const step_id = kernel.ids.hex(ID_BYTES)
  const context_origins = [...originsOf(planned, retrieved.length > 0), ...origins]
  const draft = {
    ...planned,
    step_id,
    retrieved,
    memory_seq: found.log_seq,
    body,
    context_origins,
  }
  const gated = await gate(
    call,
    'inference',
    {
      ...stepContext({ ...draft.row, reserved_tokens: planned.max_tokens }, planned.input),
      context_origins,
    },
    { minted: ['agent_id', 'run_id'] },
  )
  // A request that only exceeds a rate limit stores nothing.
  if (gated.exceeded) throw refusalOf(gated)
  const input = redactedOr(gated.redactions[0] ?? {}, 'query', planned.input)
  const stored = await retryWhileErasing(() => storeStep(call, { ...draft, input, gated }))
  if (gated.verdict === 'denied') throw refusalOf(gated)
  return answerStep(call, params.run_id, stored)
}

interface PlannedStep {
  readonly run: RunRow
  readonly agent: OpenAgent
  readonly input: string
  /** Memories that the input was derived from. */
  readonly inherited: readonly number[]
  readonly query: string
  readonly budget_tokens: number
  readonly max_tokens: number
  readonly from_model: boolean
  readonly from_tools: boolean
  readonly row: Pick<StepRow, 'run_id' | 'turn_no' | 'agent_id' | 'model_id' | 'store_id'>
}

async function planStep(
  call: BeginCall,
  db: TenantDb,
  {
    run,
    turn,
    body,
  }: Pick<BeginInput, 'body'> & {
    readonly run: RunRow
    readonly turn: BeginInput['turn'] | undefined
  },
): Promise<PlannedStep> {
  const { run_id } = run
  if (isOver(run)) return call.refuse('wrong_state', 'the run has ended')
  const agent = await loadAgent(call.kernel, db, body.agent_id ?? run.agent_id)
  if (!agent) return call.refuse('agent_not_found')
  if (agent.row.enabled === 0) return call.refuse('wrong_state', 'the agent is disabled')
  const steps = turn?.seen ?? (await listSteps(db, run_id))
  const { input, inherited, from_model } = await loadInput(call, db, steps, body)
  const store_id = chooseStore(call, agent, body)
  const calls = await listCalls(db, run_id)
  const asked = body.max_tokens ?? Number.MAX_SAFE_INTEGER
  return {
    run,
    agent,
    input,
    inherited,
    from_model,
    from_tools: calls.some((one) => steps.some(({ step_no }) => step_no === one.step_no)),
    query: body.query ?? input,
    budget_tokens: body.budget_tokens ?? BUDGET_DEFAULT,
    max_tokens: Math.min(agent.row.max_tokens_per_step, asked),
    row: {
      run_id,
      turn_no: turn?.turn_no ?? null,
      agent_id: agent.row.agent_id,
      model_id: body.model_id ?? agent.words.model_id,
      store_id,
    },
  }
}

/** Loads the input. Input given by the caller may repeat the output of any earlier step. */
async function loadInput(
  call: BeginCall,
  db: TenantDb,
  steps: readonly StepRow[],
  { input_text, input_from }: BeginInput['body'],
): Promise<{ input: string; inherited: readonly number[]; from_model: boolean }> {
  if ((input_text == null) === (input_from == null))
    return call.refuse('rejected', 'give either input_text or input_from')
  if (input_text != null) {
    requireShort('input_text', input_text)
    return { input: input_text, inherited: refsOf(steps), from_model: steps.length > 0 }
  }
  const step = steps.find(({ step_id }) => step_id === input_from)
  if (!step) return call.refuse('step_not_found')
  const { output_text_id } = step
  const found = output_text_id === null ? null : await openText(call.kernel, db, output_text_id)
  if (!found) return call.refuse('wrong_state', 'the step has no output')
  return { input: found.text, inherited: refsOf([step]), from_model: true }
}

function chooseStore(
  call: BeginCall,
  { words }: OpenAgent,
  body: BeginInput['body'],
): string | null {
  if (body.budget_tokens === 0) return null
  const { memory_stores } = words
  const store_id = body.store_id ?? memory_stores[0] ?? null
  if (store_id === null) return null
  if (memory_stores.length > 0 && !memory_stores.includes(store_id))
    return call.refuse('store_not_found', 'the agent does not read this store')
  return store_id
}

async function retrieve(
  call: BeginCall,
  { row: { store_id }, query, budget_tokens }: PlannedStep,
): Promise<Pick<Awaited<ReturnType<typeof retrieveMemories>>, 'memories' | 'log_seq'>> {
  if (store_id === null) return { memories: [], log_seq: await lastSeq(call) }
  return retrieveMemories(call, store_id, { query, budget_tokens })
}

const lastSeq = (call: BeginCall): Promise<number> =>
  call.read(async (db) => Math.max(0, ((await findHead(db))?.size ?? 0) - 1))

const originsOf = ({ from_model, from_tools }: PlannedStep, from_memory: boolean): string[] => [
  'caller',
  ...(from_memory ? ['memory'] : []),
  ...(from_model ? ['model'] : []),
  ...(from_tools ? ['tool'] : []),
]

interface StepDraft extends PlannedStep {
  readonly step_id: string
  readonly retrieved: readonly number[]
  readonly memory_seq: number
  readonly context_origins: readonly string[]
  readonly gated: GateResult
  readonly body: BeginInput['body']
}

/**
 * Stores the step by its verdict: permitted, waiting, or denied with its run. Returns its id, or
 * the id that an earlier request with the same idempotency key stored.
 */
async function storeStep(call: BeginCall, draft: StepDraft): Promise<string> {
  const { kernel, tenant_id } = call
  const { run_id, agent_id } = draft.row
  const { step_id, gated, inherited, context_origins } = draft
  const text = await prepareText(kernel, tenant_id, {
    kind: 'step_input',
    run_id,
    text: draft.input,
    refs: inherited,
  })
  const action =
    gated.verdict === 'escalated'
      ? await prepareWaitingRecord(call, agentActionRegistry, {
          request: actionRequest({
            ...{ run_id, step_id, call_id: null, agent_id, operation: 'inference', effect: null },
            text_id: text.text_id,
            commitment: text.commitment,
          }),
          gated,
          context_origins,
        })
      : null
  const unit = (tx: Tx) => insertNew(call, tx, { draft, text, action })
  // A denial is answered with a refusal, which is not replayed under an idempotency key.
  if (gated.verdict === 'denied') {
    await call.transact(unit)
    return step_id
  }
  return call.once<string>({
    run: async (tx) => {
      await unit(tx)
      return { reply: step_id, ids: { step_id } }
    },
    replay: async (_, ids) => String(ids['step_id']),
  })
}

async function insertNew(
  call: BeginCall,
  tx: Tx,
  {
    draft,
    text,
    action,
  }: {
    readonly draft: StepDraft
    readonly text: PreparedText
    readonly action: PreparedRecord | null
  },
): Promise<void> {
  const { gated, retrieved, inherited, body } = draft
  const unit = await RunUnit.load(call.kernel, tx, draft.row.run_id)
  if (!unit?.live) return call.refuse('wrong_state', 'the run has ended')
  if (unit.run.steps >= unit.run.max_steps)
    return call.refuse('too_many', `the run has its ${unit.run.max_steps} steps`)
  const denied = gated.verdict === 'denied'
  const reserved = denied ? { tokens: 0, cost_micro: 0 } : reserve(call, unit, draft)
  await storeText(tx, text)
  if (action) await insertPrepared(tx, action)
  const row: StepRow = {
    ...draft.row,
    step_no: unit.run.steps + 1,
    step_id: draft.step_id,
    state: denied ? 'denied' : action ? 'waiting_hitl' : 'permitted',
    reason: null,
    input_text_id: text.text_id,
    input_commitment: text.commitment,
    sources: JSON.stringify({ retrieved, inherited }),
    memory_seq: draft.memory_seq,
    policy_set: gated.policy_set,
    evaluation_id: gated.evaluation_id,
    action_id: action?.row.record_id ?? null,
    permit: null,
    reserved_tokens: reserved.tokens,
    reserved_cost_micro: reserved.cost_micro,
    tokens_in: null,
    tokens_out: null,
    cost_micro: null,
    decision_id: null,
    output_text_id: null,
    receipt: null,
    expires_us: null,
    created_us: tx.now(),
    ended_us: null,
    provider_id: null,
    asked_us: null,
  }
  const step = await unit.addStep(row)
  meter(tx, call.operation.id)
  if (denied) {
    await unit.endStep(step, { state: 'denied', reason: 'policy' })
    await unit.end('denied', 'policy')
  } else if (!action)
    await unit.permit(step, (body.permit_s ?? runLimits.permit_s.default) * SECOND_US)
}

/** Calculates the permit's reservation, which never exceeds what is left of the budget. */
function reserve(
  call: BeginCall,
  unit: RunUnit,
  { max_tokens, body }: StepDraft,
): { tokens: number; cost_micro: number } {
  const left = leftOf(unit.run)
  const used_up = (left.tokens ?? 1) <= 0 || (left.cost_micro ?? 1) <= 0
  if (used_up) return call.refuse('budget_exhausted')
  const asked = body.max_cost_micro ?? left.cost_micro ?? 0
  return {
    tokens: Math.min(max_tokens, left.tokens ?? max_tokens),
    cost_micro: Math.min(asked, left.cost_micro ?? asked),
  }
}

/** Replies with the step's current state: its permit, or the approval that it waits for. */
async function answerStep(call: BeginCall, run_id: string, step_id: string) {
  const shown = await call.read((db) => showPermit(call, db, run_id, step_id))
  const { action_id, state } = shown.step
  if (state === 'waiting_hitl' && action_id !== null)
    return answerAction(call, { action_id, step_id, call_id: null })
  return shown
}

export const getStep: Handler<(typeof contract)['get_step']> = (call, { params }) => {
  refuseLimited(call)
  return call.read(async (db) => {
    await loadRun(db, params.run_id)
    return showPermit(call, db, params.run_id, params.step_id)
  })
}

/** Shows the permit with the texts and memories that still exist. */
async function showPermit(
  call: Pick<Call, 'kernel' | 'principal' | 'operation'>,
  db: TenantDb,
  run_id: string,
  step_id: string,
): Promise<StepPermit> {
  const { kernel, operation } = call
  const row = await findStep(db, run_id, step_id)
  if (!row) throw new Refusal('step_not_found')
  const calls: CallRow[] = await listCalls(db, run_id)
  const own = operation.id === 'orchestrator.begin_step'
  const texts = own || mayReadTexts(call)
  const permitted = row.state === 'permitted'
  const input = texts ? await openText(kernel, db, row.input_text_id) : null
  const output =
    texts && row.output_text_id !== null ? await openText(kernel, db, row.output_text_id) : null
  const { retrieved } = sourcesOf(row)
  const facts =
    texts && permitted && retrieved.length > 0 ? await loadLiveFacts(kernel, db, retrieved) : null
  return {
    step: showStep(row, calls),
    step_id,
    permit: row.permit,
    input_text: input?.text ?? null,
    output_text: output?.text ?? null,
    memory: retrieved.flatMap((ref) => {
      const content = facts?.get(ref)?.content
      return content === undefined ? [] : [{ ref, content }]
    }),
    memory_seq: row.memory_seq,
    max_tokens: row.reserved_tokens,
    expires_at: row.expires_us === null ? null : formatTime(row.expires_us),
  }
}
