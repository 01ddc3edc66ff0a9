// One step of a run that this program executes: a permit with memory, the question, the receipt.

import type { Custos } from '@custos/client'
import { askModel } from './local-model.ts'

interface RunStep {
  readonly run_id: string
  readonly agent_id: string
  /** What the model is told to do. */
  readonly task: string
  /** A text, or the step whose answer it is: then this program needs no text. */
  readonly input: { readonly input_text: string } | { readonly input_from: string }
  /** The last one of the run. */
  readonly final: boolean
  /** The same for each attempt: `<workflow>:<activity>`. */
  readonly key: string
}

/** Returns the id of the step. Called again after a crash it goes on where it stopped. */
export async function runStep(custos: Custos, model_url: string, step: RunStep): Promise<string> {
  const { run_id, agent_id, input, key, final } = step
  const begun = await custos.orchestrator.beginStep(
    run_id,
    { agent_id, ...input, max_tokens: 4_000 },
    { idempotencyKey: `${key}:begin` },
  )
  if (!('step_id' in begun)) throw new Error('it waits for a person: start again once approved')
  const { step_id, memory, input_text, max_tokens } = begun
  if (begun.step.state === 'completed') return step_id
  const known = memory.map(({ content }) => content)
  const answer = await askModel(
    model_url,
    [
      { role: 'system', content: step.task },
      { role: 'user', content: [...known, input_text ?? ''].join('\n') },
    ],
    max_tokens,
  )
  const { text: output, tokens_in, tokens_out } = answer
  await custos.orchestrator.completeStep(
    run_id,
    step_id,
    { output, tokens_in, tokens_out, final },
    { idempotencyKey: `${key}:complete` },
  )
  return step_id
}
