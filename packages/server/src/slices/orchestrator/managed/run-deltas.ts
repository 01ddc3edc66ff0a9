// Streams the text of answers from the process that asks the model to the open streams of the run
// in that process. The text is not stored, and is never sent twice.

import type { StepDelta } from '@custos/contract'
import { type Kernel, perKernel } from '../../../platform/kernel/kernel.ts'
import { gate } from '../../governance/index.ts'
import type { StepRow } from '../runs/orchestrator.sql.ts'

class RunDeltas {
  /** Listeners by run id, which is unique across tenants. */
  readonly #listeners = new Map<string, Set<(delta: StepDelta) => void>>()

  /** Listens until the returned function is called. The caller has checked the run's tenant. */
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
 * Returns the function that sends the text of a step to the followers of its run. Returns undefined
 * if a policy checks outputs, which must not be shown before they are checked.
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
