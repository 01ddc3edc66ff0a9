// A run in a unit of work: all changes of its state, its budget and its receipts are made here.

import assert from 'node:assert/strict'
import { type RUN_REASONS, runLimits } from '@custos/contract'
import { type JsonObject, mayFollow, signedBytes, type UNDO_STOPS } from '@custos/proof'
import { sha256 } from '../../../platform/bytes.ts'
import { formatTime } from '../../../platform/clock.ts'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { appendCrumb } from '../../gcrumbs/index.ts'
import { findRow } from '../../records/index.ts'
import {
  type CallRow,
  findRun,
  insertCall,
  insertStep,
  listCalls,
  listSteps,
  type RunRow,
  type StepRow,
  updateCall,
  updateRun,
  updateStep,
} from './orchestrator.sql.ts'
import { signReceipt } from './run-receipt.ts'
import {
  CUT,
  executorOf,
  isInputErased,
  isOver,
  isToReport,
  listActed,
  listLeft,
  refsOf,
  sourcesOf,
  withdrawAction,
} from './run-view.ts'

export type RunReason = (typeof RUN_REASONS)[number]

/** The check interval after which an erasure, rejection or expiry ends an idle run. */
const CHECK_US = 5_000_000
/** The most time a run may take to undo what it did: as long as an approval waits. */
const UNDO_US = runLimits.compensation_s * 1_000_000
const PERMIT_BYTES = 16

interface StepEnd {
  readonly state: 'completed' | 'denied' | 'failed'
  readonly reason: RunReason | null
  readonly output_commitment?: string
  readonly record_digest?: string
  /** What this service knows about the answer of a step that it executed. */
  readonly model?: JsonObject
}

export class RunUnit {
  readonly tx: Tx
  run: RunRow
  steps: StepRow[]
  calls: CallRow[]
  readonly #kernel: Kernel

  private constructor(kernel: Kernel, tx: Tx, rows: [RunRow, StepRow[], CallRow[]]) {
    this.#kernel = kernel
    this.tx = tx
    ;[this.run, this.steps, this.calls] = rows
  }

  /** Returns `null` if the tenant has no such run. */
  static async load(kernel: Kernel, tx: Tx, run_id: string): Promise<RunUnit | null> {
    const run = await findRun(tx, run_id)
    if (!run) return null
    return new RunUnit(kernel, tx, [run, await listSteps(tx, run_id), await listCalls(tx, run_id)])
  }

  /** Whether the run may still begin something. */
  get live(): boolean {
    return !isOver(this.run)
  }

  /** Whether the run is undoing what its tools did. */
  get undoing(): boolean {
    return this.run.state === 'compensating'
  }

  callsOf({ step_no }: Pick<StepRow, 'step_no'>): CallRow[] {
    return this.calls.filter((call) => call.step_no === step_no)
  }

  async #setRun(change: Partial<RunRow>): Promise<void> {
    const to = change.state ?? this.run.state
    if (to !== this.run.state)
      assert(mayFollow('run', this.run.state, to), `a run is never ${to} after ${this.run.state}`)
    this.run = { ...this.run, ...change }
    await updateRun(this.tx, this.run.run_id, change)
  }

  async #setStep(step: StepRow, change: Partial<StepRow>): Promise<StepRow> {
    const to = change.state ?? step.state
    if (to !== step.state)
      assert(mayFollow('step', step.state, to), `a step is never ${to} after ${step.state}`)
    if (change.ended_us) await withdrawAction(this.tx, step)
    const changed = { ...step, ...change }
    await updateStep(this.tx, step.step_id, change)
    this.steps = this.steps.map((one) => (one.step_id === step.step_id ? changed : one))
    return changed
  }

  async setCall(call: CallRow, change: Partial<CallRow>): Promise<CallRow> {
    const to = change.state ?? call.state
    if (to !== call.state)
      assert(mayFollow('call', call.state, to), `a call is never ${to} after ${call.state}`)
    if (change.ended_us) await withdrawAction(this.tx, call)
    const changed = { ...call, ...change }
    await updateCall(this.tx, call.call_id, change)
    this.calls = this.calls.map((one) => (one.call_id === call.call_id ? changed : one))
    return changed
  }

  /** Inserts the step and reserves its budget, also while the step waits. */
  async addStep(row: StepRow): Promise<StepRow> {
    assert(mayFollow('step', 'none', row.state))
    await insertStep(this.tx, row)
    this.steps = [...this.steps, row]
    await this.#setRun({
      steps: this.run.steps + 1,
      reserved_tokens: this.run.reserved_tokens + row.reserved_tokens,
      reserved_cost_micro: this.run.reserved_cost_micro + row.reserved_cost_micro,
    })
    await this.refresh()
    return row
  }

  /** Writes the permit ahead of its use: from here the model may be asked. */
  async permit(step: StepRow, permit_us: number): Promise<StepRow> {
    const permit = this.#kernel.ids.hex(PERMIT_BYTES)
    const expires_us = Math.min(this.tx.now() + permit_us, this.run.deadline_us)
    const permitted = await this.#setStep(step, { state: 'permitted', permit, expires_us })
    const { retrieved, inherited } = sourcesOf(step)
    await appendCrumb(this.tx, {
      event_type: 'step.permitted',
      subject: step.step_id,
      payload: {
        run_id: step.run_id,
        step_no: step.step_no,
        ...(step.turn_no !== null && { turn_no: step.turn_no }),
        agent_id: step.agent_id,
        permit,
        input_commitment: step.input_commitment,
        refs: new Set([...retrieved, ...inherited]).size,
        memory_seq: step.memory_seq,
        policy_set: step.policy_set,
        evaluation_id: step.evaluation_id,
        action_id: step.action_id,
        max_tokens: step.reserved_tokens,
        max_cost_micro: step.reserved_cost_micro,
        expires_at: formatTime(expires_us),
      },
    })
    await this.refresh()
    return permitted
  }

  /** Extends the deadline of the run and of each of its permits. */
  async extend(deadline_us: number): Promise<void> {
    for (const step of this.steps)
      if (step.expires_us !== null) await this.#setStep(step, { expires_us: deadline_us })
    await this.#setRun({ deadline_us })
    const payload = { deadline_at: formatTime(deadline_us) }
    await appendCrumb(this.tx, { event_type: 'run.extended', subject: this.run.run_id, payload })
    await this.refresh()
  }

  async addCall(row: CallRow): Promise<void> {
    assert(mayFollow('call', 'none', row.state))
    await insertCall(this.tx, row)
    this.calls = [...this.calls, row]
    await this.refresh()
  }

  /** Records the intent: from here the tool may act. */
  async intend(call: CallRow, step_id: string): Promise<CallRow> {
    const intended =
      call.state === 'intended' ? call : await this.setCall(call, { state: 'intended' })
    await appendCrumb(this.tx, {
      event_type: 'tool.intended',
      subject: call.call_id,
      payload: {
        run_id: call.run_id,
        step_id,
        effect: call.effect,
        ...(call.compensates && { compensates: call.compensates }),
        ...(call.kind === 'client' && { executor: 'client' as const }),
        args_commitment: call.args_commitment,
        policy_set: call.policy_set,
        evaluation_id: call.evaluation_id,
        action_id: call.action_id,
      },
    })
    await this.refresh()
    return intended
  }

  async endCall(
    call: CallRow,
    step_id: string,
    change: Partial<CallRow> & Pick<CallRow, 'state'>,
  ): Promise<void> {
    const ended = await this.setCall(call, { ...change, ended_us: this.tx.now() })
    const { state } = ended
    const event = state === 'done' ? 'completed' : state === 'uncertain' ? 'uncertain' : 'failed'
    await appendCrumb(this.tx, {
      event_type: `tool.${event}`,
      subject: call.call_id,
      payload: { run_id: call.run_id, step_id, state, reason: ended.reason },
    })
  }

  /** Ends the calls of a step that nobody reported. A `once` tool may have acted: `uncertain`. */
  async #abandonCalls(step: StepRow, reason: RunReason): Promise<void> {
    for (const call of this.callsOf(step)) {
      if (call.state === 'intended') {
        // This service marks what it sends; what a client sent is unknown.
        const caller = executorOf(this.run) === 'client' || call.kind === 'client'
        const sent = caller || call.sent_us !== null
        const state = sent && call.effect === 'once' ? 'uncertain' : 'failed'
        await this.endCall(call, step.step_id, { state, reason: sent ? CUT : 'run_ended' })
      }
      if (call.state === 'waiting_hitl') {
        const state = reason === 'hitl_rejected' ? 'denied' : 'failed'
        await this.endCall(call, step.step_id, { state, reason })
      }
    }
  }

  /**
   * Settles the budget, and signs and logs the receipt. Unreported usage counts as the reserved
   * amount; a step that never had a permit spent nothing.
   */
  async endStep(
    step: StepRow,
    { state, reason, output_commitment, record_digest, model }: StepEnd,
    change: Partial<StepRow> = {},
  ): Promise<StepRow> {
    await this.#abandonCalls(step, reason ?? 'run_ended')
    const used = step.permit === null ? 0 : step.reserved_tokens
    const { tokens_in, tokens_out, cost_micro } = { ...step, ...change }
    const tokens = tokens_in === null ? used : tokens_in + (tokens_out ?? 0)
    const cost = cost_micro ?? (step.permit === null ? 0 : step.reserved_cost_micro)
    const ended: StepRow = {
      ...step,
      ...change,
      state,
      reason,
      cost_micro: cost,
      expires_us: null,
      ended_us: this.tx.now(),
    }
    const { run } = this
    const spent = {
      spent_tokens: run.spent_tokens + tokens,
      spent_cost_micro: run.spent_cost_micro + cost,
      reserved_tokens: run.reserved_tokens - step.reserved_tokens,
      reserved_cost_micro: run.reserved_cost_micro - step.reserved_cost_micro,
    }
    const rows = { tenant_id: this.tx.tenant_id, run, calls: this.callsOf(step) }
    const receipt = await signReceipt(this.#kernel, rows, ended, {
      ...spent,
      charged_tokens: tokens,
      output_commitment: output_commitment ?? null,
      record_digest: record_digest ?? null,
      model: model ?? null,
    })
    const receipt_digest = Buffer.from(sha256(signedBytes('run_receipt', receipt))).toString('hex')
    const { state: _, ...rest } = ended
    const stored = await this.#setStep(step, { ...rest, state, receipt: JSON.stringify(receipt) })
    await appendCrumb(this.tx, {
      event_type: `step.${state}`,
      subject: step.step_id,
      payload: { run_id: step.run_id, state, reason, receipt_digest },
    })
    await this.#setRun({
      ...spent,
      receipts: run.receipts + 1,
      last_receipt_digest: receipt_digest,
    })
    return stored
  }

  /**
   * Ends the open steps, then either ends the run or begins to undo what it did.
   * @param compensate `null` means as chosen when the run was started
   */
  async end(
    state: 'completed' | 'denied' | 'failed' | 'terminated',
    reason: RunReason | null,
    compensate: boolean | null = null,
  ): Promise<void> {
    for (const step of this.steps) {
      if (step.ended_us !== null) continue
      const rejected = reason === 'hitl_rejected' && step.state === 'waiting_hitl'
      const ended = rejected ? 'denied' : 'failed'
      await this.endStep(step, { state: ended, reason: reason ?? 'run_ended' })
    }
    const wanted = compensate ?? this.run.on_failure === 'compensate'
    if (state === 'completed' || !wanted) return this.#finish(state, reason, null)
    if (listActed(this.calls).length === 0) return this.#finish(state, reason, 'complete')
    const now_us = this.tx.now()
    const change = { state: 'compensating', termination_reason: reason, ends_as: state } as const
    const times = { check_us: now_us + CHECK_US, compensation_until_us: now_us + UNDO_US }
    await this.#setRun({ ...change, ...times })
    const [subject, payload] = [this.run.run_id, { state, reason }]
    await appendCrumb(this.tx, { event_type: 'run.compensating', subject, payload })
    await this.wake()
  }

  /** Ends the run after everything that can be undone is undone. */
  finishUndo(stopped: (typeof UNDO_STOPS)[number] | null = null): Promise<void> {
    const { ends_as, termination_reason } = this.run
    assert(ends_as === 'denied' || ends_as === 'failed' || ends_as === 'terminated')
    const left = listLeft(this.calls)
    const some = left.length === listActed(this.calls).length ? 'none' : 'partial'
    const compensation = left.length === 0 ? 'complete' : some
    return this.#finish(ends_as, termination_reason, compensation, { left, stopped })
  }

  /** Stops undoing. What is left is listed for a person. */
  async stopUndo(stopped: (typeof UNDO_STOPS)[number]): Promise<void> {
    for (const call of this.calls) {
      if (call.compensates === null || call.ended_us !== null) continue
      const sent = call.state === 'intended' && call.sent_us !== null
      const change = sent
        ? ({ state: call.effect === 'once' ? 'uncertain' : 'failed', reason: CUT } as const)
        : ({ state: 'failed', reason: stopped } as const)
      await this.endUndo(call, this.stepOfUndo(call).step_id, change)
    }
    return this.finishUndo(stopped)
  }

  async #finish(
    state: 'completed' | 'denied' | 'failed' | 'terminated',
    reason: RunReason | null,
    compensation: RunRow['compensation'],
    undo: {
      readonly left: readonly string[]
      readonly stopped: (typeof UNDO_STOPS)[number] | null
    } | null = null,
  ): Promise<void> {
    // If everything is undone, nothing was stopped.
    const stopped = undo && undo.left.length > 0 ? undo.stopped : null
    const ended = { state, termination_reason: reason, compensation, compensation_stopped: stopped }
    await this.#setRun({ ...ended, ended_us: this.tx.now(), check_us: null })
    await appendCrumb(this.tx, {
      event_type: `run.${state}`,
      subject: this.run.run_id,
      payload: {
        state,
        reason,
        receipts: this.run.receipts,
        spent_tokens: this.run.spent_tokens,
        spent_cost_micro: this.run.spent_cost_micro,
        ...(compensation && { compensation }),
        ...(undo && { left: [...undo.left] }),
        ...(stopped && { compensation_stopped: stopped }),
      },
    })
    await this.wake()
  }

  /** Ends a compensating call, also one that never began. */
  async endUndo(
    call: CallRow,
    step_id: string,
    change: Partial<CallRow> & Pick<CallRow, 'state'>,
  ): Promise<void> {
    const ended = await this.setCall(call, { ...change, ended_us: this.tx.now() })
    await this.logUndo(ended, step_id)
  }

  logUndo(call: CallRow, step_id: string): Promise<unknown> {
    const { run_id, state, reason, args_commitment, result_commitment, compensates } = call
    assert(compensates, 'it undoes a call')
    const kept = { args_commitment, result_commitment }
    return appendCrumb(this.tx, {
      event_type: 'tool.compensated',
      subject: call.call_id,
      payload: { run_id, step_id, compensates, state, reason, ...kept },
    })
  }

  /** The step whose call is undone by the given call. */
  stepOfUndo({ compensates }: Pick<CallRow, 'compensates'>): StepRow {
    const undone = this.calls.find(({ call_id }) => call_id === compensates)
    const step = this.steps.find(({ step_no }) => step_no === undone?.step_no)
    assert(step, 'it undoes a call of a step')
    return step
  }

  /** Ends compensating calls that wait longer than their approval request, or past the deadline. */
  async #settleUndo(): Promise<void> {
    const now_us = this.tx.now()
    // `null` in runs that began compensating before there was a deadline.
    const compensation_until_us = this.run.compensation_until_us ?? now_us + UNDO_US
    if (compensation_until_us <= now_us) return this.stopUndo('deadline_exceeded')
    for (const call of this.calls) {
      if (call.state !== 'waiting_hitl' || call.action_id === null) continue
      const record = await findRow(this.tx, 'agent_action', call.action_id)
      if (record?.status !== 'denied' && record?.status !== 'expired') continue
      const denied = record.status === 'denied'
      await this.endUndo(call, this.stepOfUndo(call).step_id, {
        state: denied ? 'denied' : 'failed',
        reason: denied ? 'hitl_rejected' : 'hitl_expired',
      })
      await this.wake()
    }
    const check_us = Math.min(now_us + CHECK_US, compensation_until_us)
    await this.#setRun({ check_us, compensation_until_us })
  }

  /** Wakes the job of a managed run once the unit of work is durable. */
  async wake(): Promise<void> {
    if (this.run.job_id !== null) await this.#kernel.jobs.wake(this.tx, this.run.job_id)
  }

  /** Records the model's answer with its calls before any of them acts. */
  async answer(
    step: StepRow,
    answer: Pick<StepRow, 'output_text_id' | 'cost_micro'> & {
      readonly tokens_in: number
      readonly tokens_out: number
    },
    output_commitment: string,
  ): Promise<void> {
    await this.#setStep(step, { ...answer, state: 'answered', expires_us: null })
    const { tokens_in, tokens_out } = answer
    await appendCrumb(this.tx, {
      event_type: 'step.answered',
      subject: step.step_id,
      payload: { run_id: step.run_id, output_commitment, tokens_in, tokens_out },
    })
    await this.refresh()
  }

  /** Writes the question's mark ahead: an unanswered question may have been asked. */
  markAsked(step: StepRow, provider_id: string): Promise<StepRow> {
    return this.#setStep(step, { provider_id, asked_us: this.tx.now() })
  }

  /** Applies what happened meanwhile: decisions of people, erasures, expiry, the deadline. */
  async settle(): Promise<void> {
    if (this.undoing) return this.#settleUndo()
    if (!this.live) return
    const decided = await this.#findDecided()
    if (decided === 'denied') return this.end('denied', 'hitl_rejected')
    if (decided === 'expired') return this.end('terminated', 'hitl_expired')
    if (await isInputErased(this.tx, this.run.run_id, this.steps))
      return this.end('terminated', 'input_erased')
    const now_us = this.tx.now()
    if (this.run.deadline_us <= now_us) return this.end('terminated', 'deadline_exceeded')
    for (const step of this.steps)
      if (step.expires_us !== null && step.expires_us <= now_us)
        await this.endStep(step, { state: 'failed', reason: 'permit_expired' })
    await this.refresh()
  }

  async #findDecided(): Promise<'denied' | 'expired' | null> {
    for (const { state, action_id } of [...this.steps, ...this.calls]) {
      if (state !== 'waiting_hitl' || action_id === null) continue
      const record = await findRow(this.tx, 'agent_action', action_id)
      if (record?.status === 'denied' || record?.status === 'expired') return record.status
    }
    return null
  }

  /** Derives the run's state and its next check from its steps and calls. */
  async refresh(): Promise<void> {
    if (!this.live) return
    const waits =
      [...this.steps, ...this.calls].some(({ state }) => state === 'waiting_hitl') ||
      this.calls.some(({ state, record_id }) => state === 'intended' && record_id !== null)
    const unresolved = this.steps.some(
      (step) =>
        step.ended_us === null && this.callsOf(step).some(({ state }) => state === 'uncertain'),
    )
    const reports = this.calls.some(isToReport)
    const expiries = this.steps.flatMap(({ expires_us }) => expires_us ?? [])
    const state = unresolved ? 'waiting_resolution' : reports ? 'waiting_client' : 'running'
    const reads = waits || refsOf(this.steps).length > 0
    const now_us = this.tx.now()
    const next = reads ? now_us + CHECK_US : Number.MAX_SAFE_INTEGER
    const change = {
      state: waits ? 'waiting_hitl' : state,
      check_us: Math.min(this.run.deadline_us, next, ...expiries),
    } as const
    // An earlier check is kept, so that a unit that changes nothing writes nothing.
    const { check_us } = this.run
    const kept = check_us !== null && check_us > now_us && check_us <= change.check_us
    if (!kept || change.state !== this.run.state) await this.#setRun(change)
  }
}
