// A run that this service executes: permits, asks the model, completes, as a caller would. Each loop
// begins from rows, so that a process that dies is followed by another.

import { setTimeout as sleep } from 'node:timers/promises'
import { orchestrator as contract, type Scope, scopeCovers } from '@custos/contract'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import type { JobContext, JobPause, JobRunner } from '../../../platform/jobs/queue.ts'
import type { Principal } from '../../../platform/kernel/call.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { openTextsOfRun } from '../../decisions/index.ts'
import { type AskResult, askModel, findModel, type OpenProvider } from '../../llm/index.ts'
import { loadLiveFacts } from '../../memory/index.ts'
import { findByKeyId } from '../../tenants/index.ts'
import { loadAgent, type OpenAgent } from '../runs/agents.ts'
import { beginStepBy } from '../runs/begin-step.ts'
import { completeStepBy } from '../runs/complete-step.ts'
import { findRun, listSteps, type RunRow, type StepRow } from '../runs/orchestrator.sql.ts'
import { ownCall } from '../runs/own-call.ts'
import { RunUnit } from '../runs/run-unit.ts'
import { sourcesOf } from '../runs/run-view.ts'
import { settleRun } from '../runs/settle-runs.ts'
import { decideNext, type NextAct } from './next-act.ts'
import { buildPrompt, costOf, countPrompt, roomFor } from './prompt.ts'

/** How soon a process notices that a run it works at was ended. */
const LOOK_MS = 500
const LATER_MS = 1_000
/** How often an answer that is here is stored again where a limit or a lock says "later". */
const STORE_TRIES = 5
const MILLION = 1_000_000
const BEGIN = contract.begin_step
const COMPLETE = contract.complete_step
const NEEDED: readonly Scope[] = ['orchestrator:run', 'memory:read']
const NOTHING_USED = { tokens_in: 0, tokens_out: 0, cost_micro: 0 }
/** Of local mode, as the edge makes it for requests without a credential. */
const LOCAL: Principal = {
  kind: 'local',
  tenant_id: '',
  key_id: 'local',
  class: 'local',
  scopes: ['*'],
  allowed_stores: [],
}

interface RunState {
  readonly run: RunRow
  readonly steps: readonly StepRow[]
  readonly agent: OpenAgent | null
}

export const managedRunner =
  (kernel: Kernel): JobRunner =>
  async (context) => {
    const run = new ManagedRun(kernel, context)
    try {
      return await run.untilNothingDue()
    } catch (error) {
      // What was asked and not answered is found when the job goes on.
      if (context.stopping) return { again_ms: 0 }
      throw error
    }
  }

/** The job fails for good: so does the run. */
export async function failRun(kernel: Kernel, tx: Tx, run_id: string): Promise<void> {
  const unit = await RunUnit.load(kernel, tx, run_id)
  if (unit?.live) await unit.end('failed', 'executor_failed')
}

class ManagedRun {
  readonly #kernel: Kernel
  readonly #context: JobContext
  readonly #tenant_id: string
  readonly #run_id: string

  constructor(kernel: Kernel, context: JobContext) {
    this.#kernel = kernel
    this.#context = context
    this.#tenant_id = context.job.tenant_id
    this.#run_id = String(context.job.payload['run_id'])
  }

  async untilNothingDue(): Promise<JobPause | undefined> {
    while (!this.#context.stopping) {
      await settleRun(this.#kernel, this.#tenant_id, this.#run_id)
      const state = await this.#load()
      if (state === null) return undefined
      const models = state.agent ? modelsOf(state.agent) : []
      const next = decideNext(state.run, state.steps, models)
      if (next.act === 'done') return undefined
      if (next.act === 'wait') return { again_ms: null }
      const pause = await this.#act(state, next)
      if (pause) return pause
    }
    return { again_ms: 0 }
  }

  /** Null: there is no such run. */
  #load(): Promise<RunState | null> {
    return this.#kernel.db.read(this.#tenant_id, async (db) => {
      const run = await findRun(db, this.#run_id)
      if (!run) return null
      const steps = await listSteps(db, this.#run_id)
      const agent = await loadAgent(this.#kernel, db, run.agent_id)
      return { run, steps, agent: agent?.row.enabled === 1 ? agent : null }
    })
  }

  async #act(state: RunState, next: NextAct): Promise<JobPause | null> {
    switch (next.act) {
      case 'lose':
        return this.#unit((unit) => failStep(unit, next.step.step_id, 'attempt_lost'))
      case 'end':
        return this.#unit((unit) => unit.end(next.state, next.reason))
      case 'begin':
        return this.#begin(state, next.model_id)
      case 'ask':
        return this.#ask(state, next.step)
      default:
        return null
    }
  }

  /** Does nothing once the run has ended. */
  async #unit(act: (unit: RunUnit) => Promise<unknown>, name = 'settled'): Promise<null> {
    await this.#kernel.db.transact(this.#tenant_id, async (tx) => {
      const unit = await RunUnit.load(this.#kernel, tx, this.#run_id)
      if (unit?.live) await act(unit)
    })
    await this.#kernel.step(`run:${name}`)
    return null
  }

  /** The key that started the run, with the rights it has now; null: the run is ended. */
  async #findStarter({ started_by }: RunRow): Promise<Principal | null> {
    const { settings } = this.#kernel
    const local = settings.auth === 'local' && started_by === LOCAL.key_id
    const found = local
      ? { ...LOCAL, tenant_id: this.#tenant_id }
      : await findByKeyId(this.#kernel, started_by)
    const own = found?.tenant_id === this.#tenant_id && found.allowed_stores.length === 0
    if (found && own && NEEDED.every((scope) => scopeCovers(found.scopes, scope))) return found
    return this.#unit((unit) => unit.end('terminated', 'credential_revoked'))
  }

  #callAs(principal: Principal) {
    return {
      kernel: this.#kernel,
      tenant_id: this.#tenant_id,
      principal,
      request_id: this.#context.job.job_id,
      gone: this.#context.signal,
    }
  }

  async #begin({ run, agent }: RunState, model_id: string): Promise<JobPause | null> {
    const principal = await this.#findStarter(run)
    if (!principal) return null
    const found = await this.#kernel.db.read(this.#tenant_id, async (db) => ({
      provider: await findModel(this.#kernel, db, model_id),
      texts: await openTextsOfRun(this.#kernel, db, this.#run_id),
    }))
    const { provider } = found
    const input_text = found.texts.get(run.input_text_id ?? '')?.text
    if (!provider || !agent || input_text === undefined)
      return this.#unit((unit) => unit.end('failed', provider ? 'step_refused' : 'model_refused'))
    const { price_in_micro, price_out_micro } = provider.row
    const price = Math.max(price_in_micro, price_out_micro)
    const max_cost_micro = Math.ceil((agent.row.max_tokens_per_step * price) / MILLION)
    const body = { model_id, input_text, max_cost_micro }
    const call = ownCall(BEGIN, this.#callAs(principal))
    const params = { run_id: this.#run_id }
    const input = { params, query: undefined, body }
    const pause = await this.#refused(() => beginStepBy('managed', call, input), 1)
    await this.#kernel.step('run:begun')
    return pause
  }

  /** Ends the run where an operation of it is refused, or tries again later. */
  async #refused(operate: () => Promise<unknown>, tries: number): Promise<JobPause | null> {
    try {
      await operate()
      return null
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const { code, status, extras } = error
      if (status === 429 || status === 503) {
        const again_ms = Math.max(LATER_MS, (extras.retry_after_s ?? 0) * 1_000)
        if (tries <= 1) return { again_ms }
        await sleep(Math.min(again_ms, LATER_MS * 10), undefined, { signal: this.#context.signal })
        return this.#refused(operate, tries - 1)
      }
      await settleRun(this.#kernel, this.#tenant_id, this.#run_id)
      // A policy that denies ends the run itself.
      return this.#unit((unit) => {
        if (code === 'budget_exhausted' || code === 'quota_exceeded')
          return unit.end('terminated', code)
        if (code === 'too_many') return unit.end('terminated', 'max_steps_reached')
        if (code === 'free_ceiling_reached') return unit.end('terminated', 'quota_exceeded')
        if (code === 'policy_denied' || code === 'approval_required')
          return unit.end('denied', 'policy')
        return unit.end('failed', 'step_refused')
      })
    }
  }

  async #ask({ run, agent }: RunState, step: StepRow): Promise<JobPause | null> {
    const principal = await this.#findStarter(run)
    if (!principal) return null
    const { retrieved } = sourcesOf(step)
    const { provider, input, facts } = await this.#kernel.db.read(this.#tenant_id, async (db) => ({
      provider: await findModel(this.#kernel, db, step.model_id),
      input: (await openTextsOfRun(this.#kernel, db, this.#run_id)).get(step.input_text_id),
      facts: await loadLiveFacts(this.#kernel, db, retrieved),
    }))
    if (!provider || !agent || !input)
      return this.#unit((unit) => failStep(unit, step.step_id, 'model_refused', NOTHING_USED))
    const memories = retrieved.flatMap((ref) => {
      const content = facts.get(ref)?.content
      return content === undefined ? [] : [{ ref, content }]
    })
    const permit = step.permit ?? ''
    const prompt = buildPrompt({ agent, input: input.text, memories, permit })
    const prompt_tokens = await countPrompt(this.#kernel, provider.row.kind, prompt)
    const reserved = { tokens: step.reserved_tokens, cost_micro: step.reserved_cost_micro }
    const max_tokens = roomFor(provider.row, reserved, prompt_tokens)
    if (max_tokens < 1)
      return this.#unit(async (unit) => {
        await failStep(unit, step.step_id, 'budget_exhausted', NOTHING_USED)
        await unit.end('terminated', 'budget_exhausted')
      })
    await this.#unit((unit) => markAsked(unit, step.step_id, provider), 'asking')
    const question = { ...prompt, model_id: step.model_id, max_tokens }
    const asked = await this.#whileLive((signal) =>
      askModel(this.#kernel, provider, question, signal),
    )
    await this.#kernel.step('run:answered')
    if (asked === null) return null
    if ('fault' in asked) return this.#noteFault(step, asked)
    return this.#complete(step, { principal, provider, asked, prompt_tokens })
  }

  #noteFault(step: StepRow, { spent }: Extract<AskResult, { fault: string }>): Promise<null> {
    return this.#unit((unit) =>
      spent === 'lost'
        ? failStep(unit, step.step_id, 'model_failed')
        : failStep(unit, step.step_id, 'model_refused', NOTHING_USED),
    )
  }

  async #complete(
    step: StepRow,
    { principal, provider, asked, prompt_tokens }: AnsweredStep,
  ): Promise<JobPause | null> {
    const { text, tokens_in, tokens_out, model_version } = asked.answer
    const counted = await this.#kernel.tokenizer('o200k_base')
    const used = { in: tokens_in ?? prompt_tokens, out: tokens_out ?? counted.count(text) }
    const body = {
      output: text,
      tokens_in: used.in,
      tokens_out: used.out,
      cost_micro: costOf(provider.row, used),
      model_version,
    }
    const estimated = tokens_in === null || tokens_out === null
    const params = { run_id: this.#run_id, step_id: step.step_id }
    const model = { version: model_version, estimated }
    const call = ownCall(COMPLETE, this.#callAs(principal))
    const input = { params, query: undefined, body, model }
    const pause = await this.#refused(() => completeStepBy('managed', call, input), STORE_TRIES)
    await this.#kernel.step('run:stored')
    return pause
  }

  /** Null: the run was ended meanwhile, by whatever process. Rejects once this one stops. */
  async #whileLive<T>(act: (signal: AbortSignal) => Promise<T>): Promise<T | null> {
    const ended = new AbortController()
    const look = async () => {
      const run = await this.#kernel.db.read(this.#tenant_id, (db) => findRun(db, this.#run_id))
      if (run?.ended_us !== null) ended.abort()
    }
    const timer = setInterval(() => void look().catch(() => {}), LOOK_MS)
    try {
      return await act(AbortSignal.any([ended.signal, this.#context.signal]))
    } catch (error) {
      if (ended.signal.aborted && !this.#context.stopping) return null
      throw error
    } finally {
      clearInterval(timer)
    }
  }
}

interface AnsweredStep {
  readonly principal: Principal
  readonly provider: OpenProvider
  readonly asked: Extract<AskResult, { readonly answer: unknown }>
  readonly prompt_tokens: number
}

const modelsOf = ({ words }: OpenAgent): string[] => [
  words.model_id,
  ...(words.fallback_models ?? []),
]

/** Without `used` what was reserved counts as spent. */
async function failStep(
  unit: RunUnit,
  step_id: string,
  reason: 'attempt_lost' | 'model_failed' | 'model_refused' | 'budget_exhausted',
  used: Partial<StepRow> = {},
): Promise<void> {
  const step = unit.steps.find((one) => one.step_id === step_id)
  if (step?.state !== 'permitted') return
  await unit.endStep(step, { state: 'failed', reason }, used)
  await unit.refresh()
}

async function markAsked(unit: RunUnit, step_id: string, { row }: OpenProvider): Promise<void> {
  const step = unit.steps.find((one) => one.step_id === step_id)
  if (step?.state === 'permitted') await unit.markAsked(step, row.provider_id)
}
