// What a turn of a managed run does next: decided from its rows alone, so that any process can go
// on with it.

import type { CallRow, RunRow, StepRow } from '../runs/orchestrator.sql.ts'

export type NextAct =
  /** The run has ended, or the turn has its answer. */
  | { readonly act: 'done' }
  | { readonly act: 'wait' }
  /** Another step: for the input of the run, or for what tools have answered. */
  | { readonly act: 'begin'; readonly model_id: string }
  | { readonly act: 'ask'; readonly step: StepRow }
  /** Its process ended after it asked: nobody will know the answer. */
  | { readonly act: 'lose'; readonly step: StepRow }
  /** Its model asked for calls. */
  | { readonly act: 'call'; readonly step: StepRow }
  /** No model answers. */
  | { readonly act: 'fail' }

export interface RunRows {
  readonly run: RunRow
  readonly steps: readonly StepRow[]
  readonly calls: readonly CallRow[]
}

/** Steps in which one model does not answer, before the next model is asked. */
const TRIES = 3

export const callsOf = ({ calls }: Pick<RunRows, 'calls'>, { step_no }: StepRow): CallRow[] =>
  calls.filter((call) => call.step_no === step_no)

/** @param models in the order in which they are asked */
export function decideNext(rows: RunRows, models: readonly string[]): NextAct {
  const { run, steps } = rows
  if (run.ended_us !== null) return { act: 'done' }
  const step = steps.at(-1)
  if (step?.state === 'waiting_hitl') return { act: 'wait' }
  if (step?.state === 'permitted') return { act: step.asked_us === null ? 'ask' : 'lose', step }
  if (step?.state === 'answered') return { act: 'call', step }
  if (step?.state === 'completed' && callsOf(rows, step).length === 0) return { act: 'done' }
  const model_id = models[countPassedOver(steps)]
  if (model_id === undefined) return { act: 'fail' }
  return { act: 'begin', model_id }
}

/** Models that did not answer since a step was completed. */
function countPassedOver(steps: readonly StepRow[]): number {
  let passed = 0
  let tries = 0
  const first = steps.findLastIndex(({ state }) => state !== 'failed') + 1
  for (const { reason } of steps.slice(first)) {
    if (reason === 'model_failed' || reason === 'attempt_lost') tries += 1
    if (reason !== 'model_refused' && tries < TRIES) continue
    passed += 1
    tries = 0
  }
  return passed
}
