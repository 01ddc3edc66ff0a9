// Text of answers as it comes: from the process that asks a model to the streams of the run that it
// has open. It is stored nowhere and never sent again.

import type { StepDelta } from '@custos/contract'
import { type Kernel, perKernel } from '../../../platform/kernel/kernel.ts'
import { gate } from '../../governance/index.ts'
import type { StepRow } from '../runs/orchestrator.sql.ts'

class RunDeltas {
  /** By run, whose id is unique. */
  readonly #listeners = new Map<string, Set<(delta: StepDelta) => void>>()

  /** Until the returned function is called. The caller has checked that the run is its tenant's. */
  follow(run_id: string, listener: (delta: StepDelta) => void): () => void {
    const listeners = this.#listeners.get(run_id) ?? new Set()
    this.#listeners.set(run_id, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(run_id) === listeners)
        this.#listeners.delete(run_id)
    }
  }

  emit(delta: StepDelta): void {
    for (const listener of this.#listeners.get(delta.run_id) ?? []) listener(delta)
  }
}

export const runDeltas = perKernel((_: Kernel) => new RunDeltas())

/**
 * Tells those who follow the run what a step is answered; undefined: a policy looks at answers,
 * and what it may deny or redact is not shown before it has.
 */
export async function tellerOf(
  caller: Parameters<typeof gate>[0],
  { run_id, step_id, agent_id, model_id, store_id }: StepRow,
): Promise<((text: string) => void) | undefined> {
  const context = { run_id, agent_id, model_id, store_id, output: 'x' }
  const minted = ['agent_id', 'run_id']
  const { verdict, policies } = await gate(caller, 'output_check', context, {
    minted,
    dry_run: true,
  })
  if (verdict !== 'allowed' || policies.some(({ applicable }) => applicable)) return undefined
  const deltas = runDeltas(caller.kernel)
  return (text) => {
    if (text !== '') deltas.emit({ type: 'step.delta', run_id, step_id, text })
  }
}
