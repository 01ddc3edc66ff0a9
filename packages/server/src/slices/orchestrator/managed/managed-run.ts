// A run that this service executes: it permits, asks the model, calls tools and completes, as a
// client would. Each iteration starts from rows, so that another process can take over after a
// crash.

import { orchestrator as contract } from '@custos/contract'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import type { JobPause, JobRunner } from '../../../platform/jobs/queue.ts'
import type { Principal } from '../../../platform/kernel/call.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { noteDisclosure } from '../../decisions/index.ts'
import {
  type AskResult,
  admit,
  findModel,
  heldMs,
  type ModelAnswer,
  type OpenProvider,
} from '../../llm/index.ts'
import type { OpenAgent } from '../runs/agents.ts'
import { beginStepBy } from '../runs/begin-step.ts'
import { completeStepBy } from '../runs/complete-step.ts'
import { findRun, listSteps, type StepRow } from '../runs/orchestrator.sql.ts'
import { ownCall } from '../runs/own-call.ts'
import { RunUnit } from '../runs/run-unit.ts'
import { isOver, refsOf } from '../runs/run-view.ts'
import { actOnAnswer, keepAnswer } from './answered-step.ts'
import { compensate } from './compensate.ts'
import {
  buildMessages,
  costOf,
  countPrompt,
  originsOf,
  RULE,
  resultsOf,
  roomFor,
} from './conversation.ts'
import { decideNext, type NextAct } from './next-act.ts'
import { tellerOf } from './run-deltas.ts'
import {
  NOT_SENT,
  type RunState,
  RunWorker,
  requireModelTokens,
  type TurnState,
} from './run-worker.ts'
import { isLooping, listOpenTurns, stepsOfTurn, type Turn } from './workflow-plan.ts'

/** How often storing a received answer is retried while a limit or a lock refuses it. */
const STORE_TRIES = 5
/** Identical answers with calls after which the run ends. */
const REPEATS = 3
const MILLION = 1_000_000
const NOTHING_USED = { tokens_in: 0, tokens_out: 0, cost_micro: 0 }

export const managedRunner =
  (kernel: Kernel): JobRunner =>
  async (context) => {
    const worker = new RunWorker(kernel, context)
    try {
      return await untilNothingDue(worker)
    } catch (error) {
      // The next attempt of the job finds a question that was asked and not answered.
      if (context.stopping) return { again_ms: 0 }
      throw error
    }
  }

/** Fails the run after its job has failed for good. */
export async function failRun(kernel: Kernel, tx: Tx, run_id: string): Promise<void> {
  const unit = await RunUnit.load(kernel, tx, run_id)
  // No executor is left to undo the calls, so the run ends without compensation.
  if (unit?.live) await unit.end('failed', 'executor_failed', false)
  else if (unit?.undoing) await unit.stopUndo('executor_failed')
}

async function untilNothingDue(worker: RunWorker): Promise<JobPause | undefined> {
  while (!worker.stopping) {
    await worker.refresh()
    const state = await worker.load()
    if (state === null || state.run.ended_us !== null) return undefined
    if (state.run.state === 'compensating') {
      const pause = await compensate(worker, state)
      if (pause) return pause
      continue
    }
    const turns = listOpenTurns(state)
    if (turns.length === 0) await worker.unit((unit) => unit.end('completed', null))
    else if (isLooping(state)) await worker.unit((unit) => unit.end('terminated', 'loop_detected'))
    else {
      const [first, ...others] = turns
      const alone = first && others.length === 0
      const pause = await (alone ? actOnce(worker, state, first) : takeTurns(worker, turns))
      if (pause && (await isUnchanged(worker, turns))) return pause
    }
  }
  return { again_ms: 0 }
}

const namesOf = (turns: readonly Turn[]): string => turns.map(({ turn_no }) => turn_no).join()

/** Whether the open turns are the same as before: a change may let a paused supervisor continue. */
async function isUnchanged(worker: RunWorker, turns: readonly Turn[]): Promise<boolean> {
  const state = await worker.load()
  return state !== null && namesOf(listOpenTurns(state)) === namesOf(turns)
}

/** Takes each turn until it ends or waits. Returns `null` if one ended, else the shortest pause. */
async function takeTurns(worker: RunWorker, turns: readonly Turn[]): Promise<JobPause | null> {
  const taken = await Promise.allSettled(turns.map((turn) => takeTurn(worker, turn)))
  const pauses: (number | null)[] = []
  for (const one of taken) {
    if (one.status === 'rejected') throw one.reason
    if (one.value === null) return null
    pauses.push(one.value.again_ms)
  }
  const timed = pauses.filter((ms) => ms !== null)
  return { again_ms: timed.length === 0 ? null : Math.min(...timed) }
}

async function takeTurn(
  worker: RunWorker,
  { turn_no }: Pick<Turn, 'turn_no'>,
): Promise<JobPause | null> {
  while (!worker.stopping) {
    await worker.refresh()
    const rows = await worker.load()
    const turn = rows && listOpenTurns(rows).find((one) => one.turn_no === turn_no)
    if (!turn) return null
    const pause = await actOnce(worker, rows, turn)
    if (pause) return pause
  }
  return { again_ms: 0 }
}

async function actOnce(worker: RunWorker, rows: RunState, turn: Turn): Promise<JobPause | null> {
  const state = await worker.loadTurn(rows, turn)
  const next = decideNext(state, state.agent ? modelsOf(state.agent) : [])
  return next.act === 'wait' ? { again_ms: null } : act(worker, state, next)
}

const modelsOf = ({ words }: OpenAgent): string[] => [
  words.model_id,
  ...(words.fallback_models ?? []),
]

async function act(worker: RunWorker, state: TurnState, next: NextAct): Promise<JobPause | null> {
  switch (next.act) {
    case 'lose':
      return worker.unit((unit) => failStep(unit, next.step, 'attempt_lost'))
    case 'fail':
      return worker.unit((unit) => unit.end('failed', 'model_failed'))
    case 'begin':
      return worker.begins.run(() => begin(worker, state, next.models))
    case 'ask':
      return worker.questions.run(() => ask(worker, state, next.step))
    case 'call':
      return actOnAnswer(worker, state, next.step)
    default:
      return null
  }
}

async function begin(
  worker: RunWorker,
  state: TurnState,
  models: readonly string[],
): Promise<JobPause | null> {
  const { steps, agent, turn } = state
  // Turns that began after `state` was read have added reservations.
  const now = await worker.kernel.db.read(worker.tenant_id, async (db) => ({
    run: await findRun(db, worker.run_id),
    steps: await listSteps(db, worker.run_id),
  }))
  const { run } = now
  if (!run || isOver(run)) return null
  const principal = await worker.findStarter(run)
  if (!principal) return null
  const found = await findProvider(worker, models)
  if (found && 'held_ms' in found) return { again_ms: Math.ceil(found.held_ms) }
  const provider = found?.provider
  const last = steps.findLast((step) => step.state === 'completed')
  const input_text = last ? resultsOf(state, state, last) : turn.input_text
  if (!found || !provider || !agent || input_text === null)
    return worker.unit((unit) => unit.end('failed', provider ? 'step_refused' : 'model_refused'))
  const { model_id } = found
  if (last && countRepeated(state, last) >= REPEATS)
    return worker.unit((unit) => unit.end('terminated', 'loop_detected'))
  const price = Math.max(provider.row.price_in_micro, provider.row.price_out_micro)
  const max_cost_micro = Math.ceil((agent.row.max_tokens_per_step * price) / MILLION)
  if (!worker.hasRoom({ run, steps: now.steps }, agent, max_cost_micro)) return { again_ms: null }
  const input = {
    params: { run_id: worker.run_id },
    query: undefined,
    // The conversation already contains what the agent remembers.
    body: {
      agent_id: turn.agent_id,
      model_id,
      input_text,
      max_cost_micro,
      ...(last && { budget_tokens: 0 }),
    },
    origins: originsOf(state.seen, state),
    turn: { turn_no: turn.turn_no, seen: state.seen.steps },
  }
  const call = ownCall(contract.begin_step, worker.callerOf(principal))
  const pause = await worker.operate(async () => {
    await requireModelTokens(worker.kernel, worker.tenant_id)
    await beginStepBy('managed', call, input)
  })
  await worker.kernel.step('run:begun')
  return pause
}

/**
 * Finds the first model whose provider may be asked now. If all are held back, returns the shortest
 * wait; if no model has a provider, `null`.
 */
async function findProvider({ kernel, tenant_id }: RunWorker, models: readonly string[]) {
  const held: number[] = []
  for (const model_id of models) {
    const provider = await kernel.db.read(tenant_id, (db) => findModel(kernel, db, model_id))
    const held_ms = provider ? heldMs(kernel, provider) : null
    if (provider && held_ms === 0) return { model_id, provider }
    if (held_ms !== null) held.push(held_ms)
  }
  return held.length === 0 ? null : { held_ms: Math.min(...held) }
}

/** Counts the completed steps of the turn with this answer, including this step. */
function countRepeated({ steps, texts }: TurnState, last: StepRow): number {
  const textOf = ({ output_text_id }: StepRow) => texts.get(output_text_id ?? '')?.text
  const answer = textOf(last)
  return steps.filter((step) => step.state === 'completed' && textOf(step) === answer).length
}

async function ask(worker: RunWorker, state: TurnState, step: StepRow): Promise<JobPause | null> {
  const { kernel, tenant_id } = worker
  const principal = await worker.findStarter(state.run)
  if (!principal) return null
  const provider = await kernel.db.read(tenant_id, (db) => findModel(kernel, db, step.model_id))
  const messages = buildMessages(state, await worker.loadPrompt(state), step)
  if (!provider || !state.agent || !messages)
    return worker.unit((unit) => failStep(unit, step, 'model_refused', NOTHING_USED))
  const { system_prompt, temperature } = state.agent.words
  const prompt = {
    system: `${system_prompt}\n\n${RULE}`.trim(),
    messages,
    tools: state.tools.map(({ words: { name, description, input_schema } }) => ({
      name,
      description,
      input_schema,
    })),
  }
  const held_ms = heldMs(kernel, provider)
  if (held_ms > 0) return { again_ms: Math.ceil(held_ms) }
  const prompt_tokens = await countPrompt(kernel, provider.row.kind, prompt)
  const reserved = { tokens: step.reserved_tokens, cost_micro: step.reserved_cost_micro }
  const max_tokens = roomFor(provider.row, reserved, prompt_tokens)
  if (max_tokens < 1)
    return worker.unit(async (unit) => {
      await failStep(unit, step, 'budget_exhausted', NOTHING_USED)
      await unit.end('terminated', 'budget_exhausted')
    })
  const caller = worker.callerOf(principal)
  const tell = provider.words.streams ? await tellerOf(caller, step) : undefined
  const question = { ...prompt, model_id: step.model_id, max_tokens, temperature }
  // Passes the circuit breaker first, so that a question held back is not marked as asked.
  const admission = admit(kernel, provider)
  if (admission.held_ms > 0) return { again_ms: Math.ceil(admission.held_ms) }
  let asked: AskResult | null = null
  try {
    if (!(await worker.mark((unit) => markAsked(unit, state, { step, provider }), 'asking')))
      return NOT_SENT
    asked = await worker.whileLive((signal) => admission.ask(question, { signal, on_text: tell }))
  } finally {
    if (asked === null) admission.gaveUp()
  }
  await kernel.step('run:answered')
  if (asked === null) return null
  if ('fault' in asked) return noteFault(worker, step, asked)
  return store(worker, step, { principal, provider, answer: asked.answer, prompt_tokens })
}

const noteFault = (
  worker: RunWorker,
  step: StepRow,
  { spent }: Extract<AskResult, { fault: string }>,
): Promise<null> =>
  worker.unit((unit) =>
    spent === 'lost'
      ? failStep(unit, step, 'model_failed', {})
      : failStep(unit, step, 'model_refused', NOTHING_USED),
  )

interface AnsweredQuestion {
  readonly principal: Principal
  readonly provider: OpenProvider
  readonly answer: ModelAnswer
  readonly prompt_tokens: number
}

async function store(
  worker: RunWorker,
  step: StepRow,
  { principal, provider, answer, prompt_tokens }: AnsweredQuestion,
): Promise<JobPause | null> {
  const { text, calls, tokens_in, tokens_out, model_version } = answer
  const tokenizer = await worker.kernel.tokenizer('o200k_base')
  const counted = () => tokenizer.count(text + (calls.length > 0 ? JSON.stringify(calls) : ''))
  const tokens = { in: tokens_in ?? prompt_tokens, out: tokens_out ?? counted() }
  const used = {
    tokens_in: tokens.in,
    tokens_out: tokens.out,
    cost_micro: costOf(provider.row, tokens),
  }
  const model = { version: model_version, estimated: tokens_in === null || tokens_out === null }
  const call = ownCall(contract.complete_step, worker.callerOf(principal))
  const input = {
    params: { run_id: worker.run_id, step_id: step.step_id },
    query: undefined,
    body: { ...used, output: text, model_version },
    model,
  }
  const pause = await worker.operate(
    () =>
      calls.length > 0
        ? keepAnswer(call, step, { used, answer: { text, calls, model } })
        : completeStepBy('managed', call, input),
    STORE_TRIES,
  )
  await worker.kernel.step('run:stored')
  return pause
}

/** Without `used`, the reservation counts as spent. */
async function failStep(
  unit: RunUnit,
  { step_id }: StepRow,
  reason: 'attempt_lost' | 'model_failed' | 'model_refused' | 'budget_exhausted',
  used: Partial<StepRow> = {},
): Promise<void> {
  const step = unit.steps.find((one) => one.step_id === step_id)
  if (step?.state !== 'permitted') return
  await unit.endStep(step, { state: 'failed', reason }, used)
  await unit.refresh()
}

/** Returns whether the model may be asked: the step is permitted and no memory is being erased. */
async function markAsked(
  unit: RunUnit,
  { turn }: TurnState,
  { step: { step_id }, provider }: { readonly step: StepRow; readonly provider: OpenProvider },
): Promise<boolean> {
  const step = unit.steps.find((one) => one.step_id === step_id)
  if (step?.state !== 'permitted') return false
  const told = stepsOfTurn(unit, turn).filter(({ state }) => state === 'completed')
  const { provider_id } = provider.row
  const recipient = { kind: 'provider', recipient_id: provider_id, step_id } as const
  if (!(await noteDisclosure(unit.tx, refsOf([...told, step]), recipient))) return false
  await unit.markAsked(step, provider_id)
  return true
}
