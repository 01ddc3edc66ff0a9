// The job behind an erasure: memories, decisions, a second search, the manifest, the end.

import { beginTurn, NEXT_TURN } from '../../platform/job-turn.ts'
import type { JobContext, JobPause, JobRunner } from '../../platform/jobs/queue.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { reasonsOf, redactDecision, UnprovenErasure } from '../erasure/index.ts'
import { closeRequest } from './close.ts'
import { eraseBatch, openItems } from './erase-batch.ts'
import { DECISIONS, decisionOf, itemOfDecision } from './items.ts'
import { searchLater } from './later.ts'
import { openWords, type Words } from './sealed-words.ts'
import { settle } from './settle.ts'
import { bytesOf } from './show.ts'
import { findRequest, type RequestRow, updateOpen } from './subjects.sql.ts'

export const SUBJECT_ERASE = 'subject.erase'

/**
 * Where a crash may cut it off beside the steps of each erasure: begun; a batch erased, its items
 * not told; told; decisions redacted; searched again; the manifest signed; the request closed.
 */
export const SUBJECT_STEPS = [
  'subject:begun',
  'subject:erased',
  'subject:settled',
  'subject:redacted',
  'subject:searched',
  'subject:signed',
  'subject:closed',
] as const

/** Retries of the queue come first; then it waits and never gives up: what is asked for is owed. */
const ATTEMPTS_BEFORE_PAUSE = 8
const PAUSE_MS = 60_000
/** With more of them it is no matter of one memory: the job fails before it tries the others. */
const UNPROVEN_MAX = 500

/** An open request while the job is at it. */
export interface Work {
  readonly kernel: Kernel
  readonly tenant_id: string
  readonly request_id: string
  readonly row: RequestRow
  /** Null: data from before its end were restored, and the words are destroyed. */
  readonly words: Words | null
}

/**
 * Items, by job, that could not be proven erased in this attempt: passed over for the rest of it,
 * however many turns it takes. A process that does not know them only tries them once more.
 */
type Unproven = Map<string, Set<string>>

export function subjectEraser(kernel: Kernel): JobRunner {
  const unproven: Unproven = new Map()
  return async (context) => {
    const { job_id } = context.job
    try {
      const open = unproven.get(job_id) ?? new Set()
      unproven.set(job_id, open)
      const pause = await run(kernel, context, open)
      if (!pause) unproven.delete(job_id)
      return pause
    } catch (error) {
      unproven.delete(job_id)
      return pauseOrThrow(kernel, context, error)
    }
  }
}

function pauseOrThrow(kernel: Kernel, { job }: JobContext, error: unknown): JobPause {
  if (job.attempts < ATTEMPTS_BEFORE_PAUSE) throw error
  const reason = error instanceof Error ? error.name : 'unknown'
  kernel.logger.error('subject.erase_waits', { job_id: job.job_id, reason })
  return { again_ms: PAUSE_MS }
}

/** Safe to run again from the start: every step looks at what is left to do. */
async function run(
  kernel: Kernel,
  context: JobContext,
  unproven: Set<string>,
): Promise<JobPause | undefined> {
  const { tenant_id, payload } = context.job
  const request_id = String(payload['request_id'])
  const row = await kernel.db.read(tenant_id, (db) => findRequest(db, bytesOf(request_id)))
  if (!row) return undefined
  const { secret_no, sealed } = row
  if (row.completed_us === null) {
    const words = await openWords(kernel, tenant_id, { request_id, secret_no, sealed })
    const work: Work = { kernel, tenant_id, request_id, row, words }
    await begin(work)
    const end = await eraseAll(work, context, unproven)
    if (end === 'stopped') return undefined
    if (end === 'turn_over') return NEXT_TURN
    await closeRequest(work)
  }
  // After the end is durable: whoever finds the request open can still open its words.
  await kernel.keyring.destroySecrets(tenant_id, 'decision', [secret_no])
  await kernel.step('subject:closed')
  return undefined
}

async function begin({ kernel, tenant_id, request_id, row }: Work): Promise<void> {
  if (row.started_us !== null) return
  await kernel.db.transact(tenant_id, (tx) =>
    updateOpen(tx, bytesOf(request_id), { status: 'running', started_us: tx.now() }),
  )
  await kernel.step('subject:begun')
}

/** Until nothing is left, also of what was written while it was at work. */
async function eraseAll(
  work: Work,
  context: JobContext,
  unproven: Set<string>,
): Promise<'done' | 'stopped' | 'turn_over'> {
  const isOver = beginTurn(work.kernel)
  const left = () => (context.stopping ? 'stopped' : isOver() ? 'turn_over' : null)
  for (;;) {
    while (await eraseBatch(work, unproven)) {
      await showProgress(work, context)
      if (unproven.size > UNPROVEN_MAX) throw new UnprovenErasure()
      const end = left()
      if (end) return end
    }
    while (await redactNext(work, unproven)) {
      const end = left()
      if (end) return end
    }
    await showProgress(work, context)
    if (context.stopping) return 'stopped'
    // All others are done: these are for the next attempt, and no search is made before.
    if (unproven.size > 0) throw new UnprovenErasure()
    if ((await searchLater(work)) === 'nothing') return 'done'
  }
}

async function showProgress({ kernel, tenant_id, request_id }: Work, context: JobContext) {
  const row = await kernel.db.read(tenant_id, (db) => findRequest(db, bytesOf(request_id)))
  if (row) await context.progress(row.items_done, row.items)
}

/** False: no decision is left but those in `unproven`. */
async function redactNext(work: Work, unproven: Set<string>): Promise<boolean> {
  const [item] = await openItems(work, { prefix: DECISIONS, limit: 1, unproven })
  if (item === undefined) return false
  const decision_id = decisionOf(item)
  const reasons = work.words?.reasons ?? reasonsOf({})
  const outcome = await redactUnlessHeld(work, { decision_id, reasons })
  if (outcome === 'unproven') {
    unproven.add(item)
    return true
  }
  await work.kernel.step('subject:redacted')
  await settle(work, [{ item: itemOfDecision(decision_id), ...outcome }])
  return true
}

async function redactUnlessHeld(
  { kernel, tenant_id }: Work,
  asked: Parameters<typeof redactDecision>[2],
) {
  try {
    const certificate_id = await redactDecision(kernel, tenant_id, asked)
    return { outcome: certificate_id === null ? 'absent' : 'erased', certificate_id }
  } catch (error) {
    if (error instanceof UnprovenErasure) return 'unproven'
    if (!(error instanceof Refusal && error.code === 'legal_hold')) throw error
    return { outcome: 'held', certificate_id: null }
  }
}
