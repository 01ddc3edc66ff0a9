// Decides what a turn of a managed run does next, from its rows alone, so that any process can
// continue it.

import type { CallRow, RunRow, StepRow } from '../runs/orchestrator.sql.ts'
import { isOver } from '../runs/run-view.ts'

export type NextAct =
  /** The run has ended, or the turn has its answer. */
  | { readonly act: 'done' }
  | { readonly act: 'wait' }
  /** Begin another step, with the models that may be asked, best first. */
  | { readonly act: 'begin'; readonly models: readonly string[] }
  | { readonly act: 'ask'; readonly step: StepRow }
  /** The process ended after it asked, so the answer is lost. */
  | { readonly act: 'lose'; readonly step: StepRow }
  /** The model asked for calls. */
  | { readonly act: 'call'; readonly step: StepRow }
  /** No model has answered. */
  | { readonly act: 'fail' }

export interface RunRows {
  readonly run: RunRow
  readonly steps: readonly StepRow[]
  readonly calls: readonly CallRow[]
}

/** Failed steps after which a model is skipped. */
const TRIES = 3

export const callsOf = ({ calls }: Pick<RunRows, 'calls'>, { step_no }: StepRow): CallRow[] =>
  calls.filter((call) => call.step_no === step_no)

/** @param models in the order in which they are tried */
export function decideNext(rows: RunRows, models: readonly string[]): NextAct {
  const { run, steps } = rows
  if (isOver(run)) return { act: 'done' }
  const step = steps.at(-1)
  if (step?.state === 'waiting_hitl') return { act: 'wait' }
  if (step?.state === 'permitted') return { act: step.asked_us === null ? 'ask' : 'lose', step }
  if (step?.state === 'answered') return { act: 'call', step }
  if (step?.state === 'completed' && callsOf(rows, step).length === 0) return { act: 'done' }
  const left = listLeft(steps, models)
  return left.length === 0 ? { act: 'fail' } : { act: 'begin', models: left }
}

/** The models that have not failed at the current input. */
function listLeft(steps: readonly StepRow[], models: readonly string[]): string[] {
  const failed = steps.slice(steps.findLastIndex(({ state }) => state !== 'failed') + 1)
  return models.filter((model_id) => {
    const reasons = failed.filter((step) => step.model_id === model_id).map((step) => step.reason)
    const tries = reasons.filter((one) => one === 'model_failed' || one === 'attempt_lost')
    return tries.length < TRIES && !reasons.includes('model_refused')
  })
}
