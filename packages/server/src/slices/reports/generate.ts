// Generates a report, in the request or in a background job.

import { Worker } from 'node:worker_threads'
import type { GenerateReportRequest, Report, ReportType, reports } from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import type { JobContext, JobRunner, JobTraits } from '../../platform/jobs/queue.ts'
import type { Call, Handler, IdempotentUnit } from '../../platform/kernel/call.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { appendCrumb, storePendingEpochs } from '../gcrumbs/index.ts'
import { meter } from '../tenants/index.ts'
import { FRAMEWORKS, FULL_AUDIT } from './catalogue/catalogue.ts'
import type { Subject } from './content.ts'
import { findLogSize } from './evidence.sql.ts'
import type { GatheredReport, GatherReply, GatherRequest } from './gather-worker.ts'
import {
  type Order,
  orderOf,
  orderReport,
  type Period,
  periodOf,
  periodOfOrder,
  refuseLimited,
} from './order.ts'
import {
  insertWritten,
  openReport,
  REPORT_ID_BYTES,
  type ReportDraft,
  writeReport,
} from './report-record.ts'
import {
  deleteReport,
  deleteRequest,
  findReport,
  findRequest,
  type RequestRow,
} from './reports.sql.ts'
import { openReports, sealTitle } from './sealed-report.ts'
import { WalkControl, WalkStopped } from './walk-log.ts'

type Generate = Call<typeof reports.generate>

export const generate: Handler<typeof reports.generate> = async (call, { body }) => {
  refuseLimited(call)
  const { kernel, tenant_id } = call
  // Fails early without a signing key, which the report needs.
  kernel.keyring.signer('record')
  const report_type = typeOf(call, body)
  const period = periodOf(body, kernel.clock.now())
  const title = body.title ?? titleOf(report_type, period)
  const asked = { report_type, period, title, log_seq: body.log_seq ?? null }
  if (body.background) return orderReport(call, asked)

  const { period_start, period_end } = period
  const subject = { tenant_id, report_type, period_start, period_end }
  await kernel.step('report:asked')
  const gathered = await gatherFor(call, () =>
    gather(kernel, subject, asked.log_seq, { signal: call.gone }),
  )
  if (gathered === 'beyond') return call.refuse('rejected', 'the log has no such log_seq')

  const report_id = kernel.ids.hex(REPORT_ID_BYTES)
  const sealed = await sealTitle(kernel, tenant_id, { report_id, title })
  const writing = { report_id, subject, title, sealed, gathered, period }
  return call.once(writeOnce(call, await writeReport(kernel, writing)))
}

/** Refuses when the client has disconnected, because a walk may take minutes. */
async function gatherFor<T>(call: Generate, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof WalkStopped) return call.refuse('unavailable')
    throw error
  }
}

function typeOf(call: Generate, { report_type, framework }: GenerateReportRequest): ReportType {
  if (report_type !== undefined && framework !== undefined && report_type !== framework)
    return call.refuse('rejected', 'report_type and framework differ')
  return report_type ?? framework ?? 'full_audit'
}

const DAY_CHARS = 10

function titleOf(report_type: ReportType, { period_start, period_end }: Period): string {
  const { name } = report_type === 'full_audit' ? FULL_AUDIT : FRAMEWORKS[report_type]
  return `${name} (${period_start.slice(0, DAY_CHARS)} → ${period_end.slice(0, DAY_CHARS)})`
}

function writeOnce(call: Generate, written: ReportDraft): IdempotentUnit<Report> {
  return {
    async run(tx) {
      meter(tx, call.operation.id)
      const report_id = await insertWritten(tx, written, call.principal.key_id)
      // `writeReport` builds it by the schema, and the row stores its bytes.
      const reply = written.report as unknown as Report
      return { reply, ids: { report_id } }
    },
    async replay(tx, ids) {
      const row = await findReport(tx, Buffer.from(String(ids['report_id']), 'hex'))
      if (!row || row.deleted_us !== null) return call.refuse('rejected', 'it was deleted since')
      return openReport(call.kernel, call.tenant_id, row)
    },
  }
}

export const remove: Handler<typeof reports.delete> = async (call, { params }) => {
  refuseLimited(call)
  const { report_id } = params
  const id = Buffer.from(report_id, 'hex')
  const { answer, secret_no } = await call.transact(async (tx) => {
    const row = await findReport(tx, id)
    const deleted_us = tx.now()
    // Of two concurrent deletions, one finds the report already gone.
    if (!row || (await deleteReport(tx, id, deleted_us)) !== 1)
      return call.refuse('report_not_found')
    meter(tx, call.operation.id)
    await appendCrumb(tx, {
      event_type: 'report.deleted',
      subject: report_id,
      payload: {
        report_type: row.report_type as ReportType,
        content_digest: Buffer.from(row.content_hash).toString('hex'),
        deleted_by: call.principal.key_id,
      },
    })
    const answer = { deleted: true as const, report_id, deleted_at: formatTime(deleted_us) }
    return { answer, secret_no: row.secret_no }
  })
  // Runs after the deletion is durable, so that copies of the row in backups cannot be opened.
  await call.kernel.keyring.destroySecrets(call.tenant_id, 'decision', [secret_no])
  return answer
}

const idOf = ({ report_id }: Order): Buffer => Buffer.from(report_id, 'hex')

export const REPORT_TRAITS: JobTraits = {
  cancellable: true,
  queue: 'threads',
  async abandon(tx, job) {
    await deleteRequest(tx, idOf(orderOf(job)))
  },
  result: (job) => ({ report_id: orderOf(job).report_id }),
}

/** The log is shorter than when the report was ordered, because a backup was restored. */
class LogShorter extends Error {
  override readonly name = 'LogShorter'
}

/** Safe to restart, because only the last unit of work stores anything of the report. */
export const reportMaker =
  (kernel: Kernel): JobRunner =>
  async (context) => {
    const { tenant_id } = context.job
    const order = orderOf(context.job)
    const request = await kernel.db.read(tenant_id, (db) => findRequest(db, idOf(order)))
    // The report was made or cancelled.
    if (!request) return undefined
    try {
      const gathered = await gathering(kernel, context, order)
      await kernel.step('report:gathered')
      await finish(kernel, { context, order, request, gathered })
      await kernel.step('report:written')
    } catch (error) {
      if (!(error instanceof WalkStopped)) throw error
    }
    return undefined
  }

async function gathering(
  kernel: Kernel,
  context: JobContext,
  order: Order,
): Promise<GatheredReport> {
  const { signal, progress } = context
  const following = { signal, progress }
  await kernel.step('report:begun')
  const gathered = await gather(kernel, subjectOf(context, order), order.log_seq, following)
  if (gathered === 'beyond') throw new LogShorter()
  const entries = order.log_seq + 1
  await progress(entries, entries)
  return gathered
}

const subjectOf = ({ job }: JobContext, order: Order) => {
  const { period_start, period_end } = periodOfOrder(order)
  const { report_type } = order
  return { tenant_id: job.tenant_id, report_type, period_start, period_end }
}

interface FinishedReport {
  readonly context: JobContext
  readonly order: Order
  readonly request: RequestRow
  readonly gathered: GatheredReport
}

async function finish(
  kernel: Kernel,
  { context, order, request, gathered }: FinishedReport,
): Promise<void> {
  const { tenant_id } = context.job
  const { report_id } = order
  const { secret_no, sealed_title } = request
  const part = { column: 'title', report_id, secret_no, sealed: sealed_title } as const
  const [title] = await openReports(kernel, tenant_id, [part])
  if (typeof title !== 'string') throw new Refusal('unavailable')
  const written = await writeReport(kernel, {
    ...{ report_id, title, gathered },
    subject: subjectOf(context, order),
    sealed: { secret_no, sealed_title },
    period: order,
  })
  await kernel.db.transact(tenant_id, async (tx) => {
    // Throws if the job was cancelled or the report made meanwhile, which rolls this unit back.
    await context.finishIn(tx)
    await deleteRequest(tx, idOf(order))
    await insertWritten(tx, written, order.requested_by)
  })
}

interface WalkOptions {
  /** When aborted, the walk stops, and `gather` throws WalkStopped. */
  readonly signal: AbortSignal
  /** Called at intervals with the number of entries read and their total. */
  readonly progress?: (done: number, total: number) => Promise<void>
}

/** The thread allocates page after page of short-lived objects, and keeps little. */
const THREAD_LIMITS = { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 256 }
/** A thread that waits for the database cannot notice a stop, so it is terminated after this. */
const STOP_MS = 1_000
const PROGRESS_MS = 500

/** Returns `beyond` if the log is shorter than `log_seq`. */
async function gather(
  kernel: Kernel,
  subject: Subject,
  log_seq: number | null,
  following: WalkOptions,
): Promise<GatheredReport | 'beyond'> {
  const { tenant_id } = subject
  // Reads the position before its epochs: later epochs cover more entries, so a repeated request
  // counts the same.
  const at = log_seq ?? (await kernel.db.read(tenant_id, findLogSize)) - 1
  const signed = await storePendingEpochs(kernel, tenant_id)
  const control = new WalkControl()
  const request = {
    source: kernel.db.source,
    subject,
    log_seq: at,
    signed: signed && { generation: signed.generation, tree_size: signed.tree_size },
    keys: kernel.keyring.publishedKeys(),
    origin: kernel.settings.origin,
    control: control.buffer,
  }
  return gatherer(kernel).gather(request, control, following)
}

const gatherer = perKernel(() => new Gatherer())

/** One worker thread, started by the first report: starting it costs more than most walks. */
class Gatherer {
  #worker: Worker | undefined
  #last: Promise<unknown> = Promise.resolve()

  /** Runs one report at a time, because each reads a whole log and takes a connection. */
  gather(
    request: GatherRequest,
    control: WalkControl,
    { signal, progress }: WalkOptions,
  ): Promise<GatheredReport | 'beyond'> {
    let begun = false
    const turn = this.#last.then(async () => {
      begun = true
      const telling = progress ? reportProgress(control, progress) : null
      try {
        return await this.#run(request, control, signal)
      } finally {
        await telling?.end()
      }
    })
    this.#last = turn.catch(() => undefined)
    return unlessAborted(turn, signal, () => !begun)
  }

  async #run(
    request: GatherRequest,
    control: WalkControl,
    signal: AbortSignal,
  ): Promise<GatheredReport | 'beyond'> {
    if (signal.aborted) throw new WalkStopped()
    this.#worker ??= this.#start()
    const worker = this.#worker
    worker.ref()
    let ending: NodeJS.Timeout | undefined
    const stop = () => {
      control.stop()
      ending = setTimeout(() => worker.terminate(), STOP_MS)
    }
    signal.addEventListener('abort', stop)
    try {
      return readReply(await replyOf(worker, request))
    } catch (error) {
      // The thread ended because it was told to stop, whatever its error says.
      throw signal.aborted ? new WalkStopped() : error
    } finally {
      signal.removeEventListener('abort', stop)
      clearTimeout(ending)
      // An idle thread does not keep the process alive.
      worker.unref()
    }
  }

  #start(): Worker {
    const worker = new Worker(new URL('./gather-worker.ts', import.meta.url), {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      resourceLimits: THREAD_LIMITS,
    })
    // The next report starts a new thread.
    worker.once('exit', () => {
      if (this.#worker === worker) this.#worker = undefined
    })
    return worker
  }
}

/** Leaves the queue when aborted. Work that has begun runs to its end. */
async function unlessAborted<T>(
  turn: Promise<T>,
  signal: AbortSignal,
  isWaiting: () => boolean,
): Promise<T> {
  let stop = () => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => {
      if (isWaiting()) reject(new WalkStopped())
    }
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop)
  })
  try {
    return await Promise.race([turn, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Reports progress at intervals until the returned function ends it. */
function reportProgress(control: WalkControl, progress: NonNullable<WalkOptions['progress']>) {
  let told = 0
  let telling: Promise<void> | null = null
  const timer = setInterval(() => {
    const { done, total } = control.progress
    if (done === told || telling) return
    told = done
    telling = progress(done, total)
      // A failed update is made up for by the next.
      .catch(() => {})
      .finally(() => {
        telling = null
      })
  }, PROGRESS_MS)
  timer.unref()
  return {
    async end() {
      clearInterval(timer)
      await telling
    },
  }
}

function replyOf(worker: Worker, request: GatherRequest): Promise<GatherReply> {
  return new Promise((resolve, reject) => {
    const stopped = () => reject(new Error('the thread that gathers evidence stopped'))
    worker.once('error', reject)
    worker.once('exit', stopped)
    worker.once('message', (reply: GatherReply) => {
      worker.off('error', reject)
      worker.off('exit', stopped)
      resolve(reply)
    })
    worker.postMessage(request)
  })
}

function readReply({ gathered, error, refusal }: GatherReply): GatheredReport | 'beyond' {
  if (gathered) return gathered
  if (refusal) throw new Refusal(refusal.code, undefined, refusal.extras)
  throw new Error(`the evidence could not be gathered: ${error}`)
}
