// The job behind an erasure: memories, decisions, a second search, the manifest, the end.

import type { JobContext, JobPause, JobRunner } from '../../platform/jobs/queue.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { reasonsOf, redactDecision } from '../erasure/index.ts'
import { closeRequest } from './close.ts'
import { eraseBatch } from './erase-batch.ts'
import { DECISIONS, decisionOf, itemOfDecision } from './items.ts'
import { searchLater } from './later.ts'
import { openWords, type Words } from './sealed-words.ts'
import { settle } from './settle.ts'
import { bytesOf } from './show.ts'
import { findRequest, listOpenItems, type RequestRow, updateOpen } from './subjects.sql.ts'

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

/** An open request while the job is at it. */
export interface Work {
  readonly kernel: Kernel
  readonly tenant_id: string
  readonly request_id: string
  readonly row: RequestRow
  /** Null: data from before its end were restored, and the words are destroyed. */
  readonly words: Words | null
}

export const subjectEraser =
  (kernel: Kernel): JobRunner =>
  async (context) => {
    try {
      await run(kernel, context)
      return undefined
    } catch (error) {
      return pauseOrThrow(kernel, context, error)
    }
  }

function pauseOrThrow(kernel: Kernel, { job }: JobContext, error: unknown): JobPause {
  if (job.attempts < ATTEMPTS_BEFORE_PAUSE) throw error
  const reason = error instanceof Error ? error.name : 'unknown'
  kernel.logger.error('subject.erase_waits', { job_id: job.job_id, reason })
  return { again_ms: PAUSE_MS }
}

/** Safe to run again from the start: every step looks at what is left to do. */
async function run(kernel: Kernel, context: JobContext): Promise<void> {
  const { tenant_id, payload } = context.job
  const request_id = String(payload['request_id'])
  const row = await kernel.db.read(tenant_id, (db) => findRequest(db, bytesOf(request_id)))
  if (!row) return
  const { secret_no, sealed } = row
  if (row.completed_us === null) {
    const words = await openWords(kernel, tenant_id, { request_id, secret_no, sealed })
    const work: Work = { kernel, tenant_id, request_id, row, words }
    await begin(work)
    if ((await eraseAll(work, context)) === 'stopped') return
    await closeRequest(work)
  }
  // After the end is durable: whoever finds the request open can still open its words.
  await kernel.keyring.destroySecrets(tenant_id, 'decision', [secret_no])
  await kernel.step('subject:closed')
}

async function begin({ kernel, tenant_id, request_id, row }: Work): Promise<void> {
  if (row.started_us !== null) return
  await kernel.db.transact(tenant_id, (tx) =>
    updateOpen(tx, bytesOf(request_id), { status: 'running', started_us: tx.now() }),
  )
  await kernel.step('subject:begun')
}

/** Until nothing is left, also of what was written while it was at work. */
async function eraseAll(work: Work, context: JobContext): Promise<'done' | 'stopped'> {
  for (;;) {
    while (await eraseBatch(work)) {
      await showProgress(work, context)
      if (context.stopping) return 'stopped'
    }
    while (await redactNext(work)) if (context.stopping) return 'stopped'
    await showProgress(work, context)
    if (context.stopping) return 'stopped'
    if ((await searchLater(work)) === 'nothing') return 'done'
  }
}

async function showProgress({ kernel, tenant_id, request_id }: Work, context: JobContext) {
  const row = await kernel.db.read(tenant_id, (db) => findRequest(db, bytesOf(request_id)))
  if (row) await context.progress(row.items_done, row.items)
}

/** False: no decision is left. */
async function redactNext(work: Work): Promise<boolean> {
  const { kernel, tenant_id, request_id, words } = work
  const [item] = await kernel.db.read(tenant_id, (db) =>
    listOpenItems(db, bytesOf(request_id), { prefix: DECISIONS, limit: 1 }),
  )
  if (item === undefined) return false
  const decision_id = decisionOf(item)
  const reasons = words?.reasons ?? reasonsOf({})
  const outcome = await redactUnlessHeld(work, { decision_id, reasons })
  await kernel.step('subject:redacted')
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
    if (!(error instanceof Refusal && error.code === 'legal_hold')) throw error
    return { outcome: 'held', certificate_id: null }
  }
}
