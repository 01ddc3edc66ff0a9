// What each act of a managed run needs: its rows and texts, units of work, the rights of the key
// that started it, and a signal that the run was ended elsewhere.

import { setTimeout as sleep } from 'node:timers/promises'
import { runLimits, type Scope, scopeCovers } from '@custos/contract'
import { parseTime } from '../../../platform/clock.ts'
import { semaphore } from '../../../platform/concurrency.ts'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import type { JobContext, JobPause } from '../../../platform/jobs/queue.ts'
import type { Principal } from '../../../platform/kernel/call.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { openTextsOfRun } from '../../decisions/index.ts'
import { listEnabledTools, type OpenTool } from '../../llm/index.ts'
import { loadFactStates, loadLiveFacts } from '../../memory/index.ts'
import { calendarMonth, planLimits } from '../../tenants/index.ts'
import { loadAgent, type OpenAgent } from '../runs/agents.ts'
import {
  findRun,
  listCalls,
  listSteps,
  type RunRow,
  sumManagedTokens,
} from '../runs/orchestrator.sql.ts'
import { findHolder } from '../runs/own-call.ts'
import { RunUnit } from '../runs/run-unit.ts'
import { isOver, refsOf, sourcesOf } from '../runs/run-view.ts'
import { settleRun } from '../runs/settle-runs.ts'
import { findWorkflow } from '../runs/workflows.sql.ts'
import { callsOf, type RunRows } from './next-act.ts'
import { type RunPlan, stepsOfTurn, type Turn, toolsOf, workersOf } from './workflow-plan.ts'

/** The poll interval at which a process notices that its run was ended elsewhere. */
const LOOK_MS = 500
const LATER_MS = 1_000
/** Nothing was sent: the run has ended, or waits for an erasure of a memory it would disclose. */
export const NOT_SENT: JobPause = { again_ms: 200 }
const NEEDED: readonly Scope[] = ['orchestrator:run', 'memory:read']
export type RunState = RunPlan & { readonly tools: readonly OpenTool[] }

/** The state of a run as one turn sees it: only its own steps and calls. */
export interface TurnState extends RunState {
  readonly turn: Turn
  /** The rows whose texts the model has read, including those of other turns. */
  readonly seen: RunRows
  /** `null` if the agent is disabled or redacted. */
  readonly agent: OpenAgent | null
  /** The tools that the agent may call. */
  readonly tools: readonly OpenTool[]
}

/** Loads the agents that exist. Returns `null` for an agent that supervises nobody. */
export async function loadWorkers(
  kernel: Kernel,
  db: TenantDb,
  agent_ids: readonly string[] | null,
): Promise<OpenAgent[] | null> {
  const workers = []
  for (const agent_id of agent_ids ?? []) {
    const worker = await loadAgent(kernel, db, agent_id)
    if (worker) workers.push(worker)
  }
  return agent_ids && workers
}

export class RunWorker {
  readonly kernel: Kernel
  readonly tenant_id: string
  readonly run_id: string
  readonly #context: JobContext
  /** Parallel turns begin steps one at a time, so that each sees the others' reservations. */
  readonly begins = semaphore(1)
  readonly questions = semaphore(runLimits.parallel_steps)

  constructor(kernel: Kernel, context: JobContext) {
    this.kernel = kernel
    this.#context = context
    this.tenant_id = context.job.tenant_id
    this.run_id = String(context.job.payload['run_id'])
  }

  get stopping(): boolean {
    return this.#context.stopping
  }

  /** Applies expiry, erasures and people's decisions to the run. */
  refresh(): Promise<void> {
    return settleRun(this.kernel, this.tenant_id, this.run_id)
  }

  /** Returns `null` if the run does not exist. */
  load(): Promise<RunState | null> {
    const { kernel, run_id } = this
    return kernel.db.read(this.tenant_id, async (db) => {
      const run = await findRun(db, run_id)
      if (!run) return null
      const steps = await listSteps(db, run_id)
      const { workflow_id } = run
      const workflow = workflow_id === null ? null : await findWorkflow(db, workflow_id)
      // A workflow is deleted only once its runs have ended.
      if (workflow === undefined) return null
      return {
        run,
        steps,
        calls: await listCalls(db, run_id),
        texts: await openTextsOfRun(kernel, db, run_id),
        workflow,
        tools: await listEnabledTools(kernel, db),
      }
    })
  }

  loadTurn(state: RunState, turn: Turn): Promise<TurnState> {
    const { kernel, tenant_id } = this
    const { workflow, run } = state
    const steps = stepsOfTurn(state, turn)
    const calls = steps.flatMap((step) => callsOf(state, step))
    return kernel.db.read(tenant_id, async (db) => {
      const agent = await loadAgent(kernel, db, turn.agent_id)
      const workers = await loadWorkers(kernel, db, workersOf(workflow, turn.turn_no))
      return {
        ...state,
        turn,
        steps,
        calls,
        // Parallel turns do not read each other; in all other modes a turn reads those before it.
        seen: workflow?.mode === 'parallel' ? { run, steps, calls } : state,
        agent: agent?.row.enabled === 1 ? agent : null,
        tools: toolsOf(agent, state.tools, workers),
      }
    })
  }

  /** Loads the texts of a turn and the memories that its steps retrieved. */
  async loadPrompt({ steps, texts }: TurnState) {
    const refs = [...new Set(steps.flatMap((step) => sourcesOf(step).retrieved))]
    const { kernel, tenant_id } = this
    const facts = await kernel.db.read(tenant_id, (db) => loadLiveFacts(kernel, db, refs))
    return { texts, facts }
  }

  /** Whether the budget has room for a step now. If not, steps in flight may still free some. */
  hasRoom(
    { run, steps }: Pick<RunRows, 'run' | 'steps'>,
    { row }: OpenAgent,
    max_cost_micro: number,
  ): boolean {
    if (!steps.some(({ ended_us }) => ended_us === null)) return true
    const { budget_tokens, budget_cost_micro } = run
    const tokens = run.spent_tokens + run.reserved_tokens + row.max_tokens_per_step
    const cost = run.spent_cost_micro + run.reserved_cost_micro + max_cost_micro
    return tokens <= (budget_tokens ?? tokens) && cost <= (budget_cost_micro ?? cost)
  }

  /** Runs `act` unless the run has ended. `name` is the crash point of tests. */
  async unit(act: (unit: RunUnit) => Promise<unknown>, name = 'settled'): Promise<null> {
    await this.mark(async (unit) => {
      await act(unit)
      return true
    }, name)
    return null
  }

  /** Like `unit`, while the run compensates. */
  async undo(act: (unit: RunUnit) => Promise<unknown>, name = 'undone'): Promise<null> {
    await this.mark(
      async (unit) => {
        await act(unit)
        return true
      },
      name,
      'undoing',
    )
    return null
  }

  /** Returns whether `act` recorded its note before something is sent; false if the run ended. */
  async mark(
    act: (unit: RunUnit) => Promise<boolean>,
    name: string,
    phase: 'live' | 'undoing' = 'live',
  ): Promise<boolean> {
    const marked = await this.kernel.db.transact(this.tenant_id, async (tx) => {
      const unit = await RunUnit.load(this.kernel, tx, this.run_id)
      return unit?.[phase] ? act(unit) : false
    })
    await this.kernel.step(`run:${name}`)
    return marked
  }

  /** The starting key with its current rights. Ends the run and returns `null` if they are gone. */
  async findStarter({ started_by }: RunRow): Promise<Principal | null> {
    const found = await findHolder(this.kernel, this.tenant_id, started_by)
    const own = found?.allowed_stores.length === 0
    if (found && own && NEEDED.every((scope) => scopeCovers(found.scopes, scope))) return found
    return this.unit((unit) => unit.end('terminated', 'credential_revoked'))
  }

  /** The caller of an operation that the run calls with that key. */
  callerOf(principal: Principal) {
    return {
      kernel: this.kernel,
      tenant_id: this.tenant_id,
      principal,
      request_id: this.#context.job.job_id,
      gone: this.#context.signal,
    }
  }

  /**
   * Runs an operation of the run. Retries later after a temporary refusal; any other ends the run.
   * @param tries attempts before the pause, more than one where a pause would lose an answer
   */
  async operate(operation: () => Promise<unknown>, tries = 1): Promise<JobPause | null> {
    try {
      await operation()
      return null
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const { code, status, extras } = error
      if (status === 429 || status === 503) {
        const again_ms = Math.max(LATER_MS, (extras.retry_after_s ?? 0) * 1_000)
        if (tries <= 1) return { again_ms }
        await sleep(Math.min(again_ms, LATER_MS * 10), undefined, { signal: this.#context.signal })
        return this.operate(operation, tries - 1)
      }
      await this.refresh()
      return this.unit((unit) => endRefused(unit, code))
    }
  }

  /** Returns `null` if any process ended the run meanwhile. Rejects once this process stops. */
  async whileLive<T>(
    act: (signal: AbortSignal) => Promise<T>,
    isDone: (run: RunRow) => boolean = isOver,
  ): Promise<T | null> {
    const ended = new AbortController()
    const checkRun = async () => {
      const { run, erased } = await this.kernel.db.read(this.tenant_id, async (db) => {
        const refs = refsOf(await listSteps(db, this.run_id))
        const states = await loadFactStates(db, refs)
        return {
          run: await findRun(db, this.run_id),
          erased: [...states.values()].includes('erased'),
        }
      })
      if (!run || isDone(run)) ended.abort()
      // Ends the run, which the next poll notices: nothing derived from an erased memory is shown.
      else if (erased) await settleRun(this.kernel, this.tenant_id, this.run_id)
    }
    const timer = setInterval(() => void checkRun().catch(() => {}), LOOK_MS)
    try {
      return await act(AbortSignal.any([ended.signal, this.#context.signal]))
    } catch (error) {
      if (ended.signal.aborted && !this.stopping) return null
      throw error
    } finally {
      clearInterval(timer)
    }
  }
}

/** A denying policy has already ended the run, and then this does nothing. */
function endRefused(unit: RunUnit, code: Refusal['code']): Promise<void> {
  if (code === 'budget_exhausted' || code === 'quota_exceeded') return unit.end('terminated', code)
  if (code === 'too_many') return unit.end('terminated', 'max_steps_reached')
  if (code === 'free_ceiling_reached') return unit.end('terminated', 'quota_exceeded')
  if (code === 'policy_denied' || code === 'approval_required') return unit.end('denied', 'policy')
  return unit.end('failed', 'step_refused')
}

/**
 * Refuses `quota_exceeded` once the managed runs begun in this calendar month have used or reserved
 * the quota. Usage exceeds it by at most what the steps in flight use.
 */
export async function requireModelTokens(kernel: Kernel, tenant_id: string): Promise<void> {
  const { start_at } = calendarMonth(kernel.clock.now(), 0)
  const left = await kernel.db.read(tenant_id, async (db) => {
    const { model_tokens } = await planLimits(kernel, db)
    if (model_tokens === null) return 1
    return model_tokens - (await sumManagedTokens(db, parseTime(start_at) ?? 0))
  })
  if (left > 0) return
  throw new Refusal('quota_exceeded', 'the tokens of models of this month are used up')
}
