// The standing job of an endpoint: takes entries from the log, sends them, and waits for more. The
// payload of a delivery is made again from the log for each attempt.

import { setTimeout as sleep } from 'node:timers/promises'
import { toHex } from '../../platform/bytes.ts'
import { formatTime } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { EgressReply } from '../../platform/egress/connection.ts'
import type { JobContext, JobPause, JobRunner } from '../../platform/jobs/queue.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { appendCrumb, findCrumb } from '../gcrumbs/index.ts'
import { type EndpointTexts, logSize, openEndpoint } from './endpoint.ts'
import { decideOutcome } from './outcome.ts'
import { buildPayload, compatibilityHeaders, type DeliveryPayload, signPayload } from './payload.ts'
import { takeEntries } from './take-entries.ts'
import {
  type DeliveryRow,
  failOpenDeliveries,
  findProbe,
  findWebhook,
  hastenDeliveries,
  listDue,
  summariseOpen,
  updateDelivery,
  updateWebhook,
  type WebhookRow,
} from './webhooks.sql.ts'

const SENDS_AT_ONCE = 8
/** The most open deliveries of an endpoint; until some end, it takes no more log entries. */
export const OPEN_MAX = 500
/** The poll interval for due deliveries while others are in flight. */
const LOOK_MS = 100
/** After this time, a busy endpoint yields to others of its tenant. */
const RUN_MS = 500
/** How long a stopping process waits for answers in flight. */
const STOP_MS = 2_000

interface EndpointState {
  readonly row: WebhookRow
  readonly open: Awaited<ReturnType<typeof summariseOpen>>
  /** Whether the log has entries past the endpoint's cursor. */
  readonly behind: boolean
}

/** Runs until nothing is due, then pauses until the next delivery is due or the job is woken. */
export const endpointDeliverer =
  (kernel: Kernel): JobRunner =>
  async (context) => {
    const run = new EndpointRun(kernel, context)
    try {
      return await run.untilNothingDue()
    } finally {
      await run.settled()
    }
  }

class EndpointRun {
  readonly #kernel: Kernel
  readonly #context: JobContext
  readonly #tenant_id: string
  readonly #webhook_id: string
  readonly #sending = new Map<string, Promise<void>>()
  readonly #abort = new AbortController()
  #opened: { readonly sealed: Buffer; readonly texts: EndpointTexts | null } | undefined

  constructor(kernel: Kernel, context: JobContext) {
    this.#kernel = kernel
    this.#context = context
    this.#tenant_id = context.job.tenant_id
    this.#webhook_id = String(context.job.payload['webhook_id'])
  }

  async untilNothingDue(): Promise<JobPause | undefined> {
    let until = performance.now() + RUN_MS
    let started = 0
    while (!this.#context.stopping) {
      // Copied before the reads below: a delivery that ends during a read is still open in its
      // snapshot, and must not be sent again.
      const sending = new Set(this.#sending.keys())
      const state = await this.#load()
      if (state === null) return undefined
      const texts = await this.#open(state.row)
      if (!texts) return this.#disable()
      const room =
        state.row.state === 'failing' ? state.open.count === 0 : state.open.count < OPEN_MAX
      const took = state.behind && room
      if (took) {
        await this.#take()
        // Without a time limit, a long log would block this job and the due deliveries.
        if (performance.now() <= until) continue
      }
      if (started > 0 && performance.now() > until) {
        await this.#settledWithin(RUN_MS)
        if (this.#sending.size === 0) return { again_ms: 0 }
        // A hanging send keeps this job running anyway, so it continues with what is due.
        until = performance.now() + RUN_MS
      }
      const due = await this.#listDue(state.row, sending)
      started += due.length
      for (const delivery of due) this.#start(state.row, texts, delivery)
      if (this.#sending.size === 0) return took ? { again_ms: 0 } : this.#pause(state)
      await this.#settledWithin(LOOK_MS)
    }
    return { again_ms: 0 }
  }

  /** Aborts the sends in flight and waits for their end. A stopping process first waits STOP_MS. */
  async settled(): Promise<void> {
    const late = setTimeout(() => this.#abort.abort(), this.#context.stopping ? STOP_MS : 0)
    await Promise.allSettled(this.#sending.values())
    clearTimeout(late)
  }

  /** Rejects if the outcome of a send could not be stored. */
  async #settledWithin(ms: number): Promise<void> {
    await Promise.race([Promise.all(this.#sending.values()), sleep(ms)])
  }

  /** Returns the opened texts of the endpoint; opens them again only if they have changed. */
  async #open(row: WebhookRow): Promise<EndpointTexts | null> {
    const sealed = Buffer.from(row.sealed ?? [])
    if (!this.#opened?.sealed.equals(sealed)) {
      const texts = await openEndpoint(this.#kernel, this.#tenant_id, row)
      this.#opened = { sealed, texts }
    }
    return this.#opened.texts
  }

  /** Returns `null` if the endpoint was deleted or disabled, or if another job delivers to it. */
  #load(): Promise<EndpointState | null> {
    return this.#kernel.db.read(this.#tenant_id, async (db) => {
      const row = await findWebhook(db, this.#webhook_id)
      const own = row?.state !== 'disabled' && row?.job_id === this.#context.job.job_id
      if (!row || !own) return null
      const open = await summariseOpen(db, this.#webhook_id)
      return { row, open, behind: row.cursor_seq !== (await logSize(db)) }
    })
  }

  #take(): Promise<void> {
    return this.#kernel.db.transact(this.#tenant_id, async (tx) => {
      const row = await findWebhook(tx, this.#webhook_id)
      if (row) await takeEntries(this.#kernel, tx, row)
    })
  }

  /**
   * The due deliveries that are not in flight, up to the free send slots. A failing endpoint gets
   * one delivery at a time, as a probe.
   */
  #listDue(row: WebhookRow, sending: ReadonlySet<string>): Promise<readonly DeliveryRow[]> {
    const now_us = this.#kernel.clock.now()
    return this.#kernel.db.read(this.#tenant_id, async (db) => {
      if (row.state === 'failing') {
        if (sending.size > 0 || now_us < row.next_probe_us) return []
        const probe = await findProbe(db, row.webhook_id)
        return probe ? [probe] : []
      }
      const limit = SENDS_AT_ONCE + sending.size
      const due = await listDue(db, row.webhook_id, { now_us, limit })
      const waiting = due.filter(({ delivery_id }) => !sending.has(delivery_id))
      return waiting.slice(0, SENDS_AT_ONCE - sending.size)
    })
  }

  #pause({ row, open }: EndpointState): JobPause {
    if (open.next_us === null) return { again_ms: null }
    const next_us = row.state === 'failing' ? row.next_probe_us : open.next_us
    return { again_ms: Math.max(0, (next_us - this.#kernel.clock.now()) / 1_000) }
  }

  #start(row: WebhookRow, texts: EndpointTexts, delivery: DeliveryRow): void {
    const { delivery_id } = delivery
    const sent = this.#send(row, texts, delivery).finally(() => this.#sending.delete(delivery_id))
    this.#sending.set(delivery_id, sent)
    // The loop awaits the same promise, so the error is handled there.
    sent.catch(() => {})
  }

  async #send(row: WebhookRow, texts: EndpointTexts, delivery: DeliveryRow): Promise<void> {
    const payload = await loadPayload(this.#kernel, this.#tenant_id, delivery)
    const outgoing = payload && { row, texts, delivery, payload }
    // The log was restored and no longer has this entry.
    if (!outgoing) return this.#drop(delivery)
    const reply = await sendDelivery(this.#kernel, outgoing, this.#abort.signal)
    await this.#kernel.step('webhook.sent')
    const probe = row.state === 'failing'
    await this.#kernel.db.transact(this.#tenant_id, (tx) =>
      recordOutcome(this.#kernel, tx, { delivery, reply, probe }),
    )
  }

  async #drop(delivery: DeliveryRow): Promise<void> {
    await this.#kernel.db.transact(this.#tenant_id, (tx) =>
      updateDelivery(tx, delivery, { status: 'failed', next_us: null, completed_us: tx.now() }),
    )
  }

  async #disable(): Promise<undefined> {
    await this.#kernel.db.transact(this.#tenant_id, async (tx) => {
      const row = await findWebhook(tx, this.#webhook_id)
      if (!row || row.state === 'disabled') return
      const change = { state: 'disabled', disabled_reason: 'unreadable' } as const
      await updateWebhook(tx, this.#webhook_id, change)
      await endDeliveries(tx, { ...row, ...change })
    })
    return undefined
  }
}

async function recordOutcome(
  { ids, metrics }: Kernel,
  tx: Tx,
  {
    delivery,
    reply,
    probe,
  }: { readonly delivery: DeliveryRow; readonly reply: EgressReply; readonly probe: boolean },
): Promise<void> {
  const { webhook_id } = delivery
  const row = await findWebhook(tx, webhook_id)
  if (!row) return
  const chance = Number.parseInt(ids.hex(4), 16) / 2 ** 32
  const outcome = decideOutcome({
    webhook: row,
    delivery,
    reply,
    probe,
    chance,
    now_us: tx.now(),
  })
  // The delivery was given up meanwhile, or also sent by another process.
  if ((await updateDelivery(tx, delivery, outcome.delivery)) === 0) return
  const { status } = outcome.delivery
  if (status === 'delivered' || status === 'retrying' || status === 'failed')
    tx.afterCommit(() => metrics.countDelivery(status, delivery.event_type))
  if (row.state === 'disabled') return
  await updateWebhook(tx, webhook_id, outcome.webhook)
  if (row.state === 'failing' && outcome.webhook.state === 'active')
    await hastenDeliveries(tx, webhook_id)
  if (outcome.webhook.state === 'disabled') await endDeliveries(tx, { ...row, ...outcome.webhook })
}

/** Gives up the open deliveries of an endpoint that is disabled, and logs why. */
async function endDeliveries(tx: Tx, row: WebhookRow): Promise<void> {
  const { webhook_id, disabled_reason, failing_since_us } = row
  await failOpenDeliveries(tx, webhook_id)
  await appendCrumb(tx, {
    event_type: 'webhook.disabled',
    subject: webhook_id,
    payload: {
      reason:
        disabled_reason === 'gone' || disabled_reason === 'unreadable'
          ? disabled_reason
          : 'failing',
      failing_since: failing_since_us === null ? null : formatTime(failing_since_us),
    },
  })
}

const SECOND_US = 1_000_000

/** A delivery with the endpoint it is sent to. */
export interface OutgoingDelivery {
  readonly row: Pick<WebhookRow, 'signature' | 'compatibility'>
  readonly texts: EndpointTexts
  readonly delivery: Pick<DeliveryRow, 'delivery_id' | 'event_type'>
  readonly payload: DeliveryPayload
}

/** The payload of a log entry, or `null` if the log does not have it. */
async function loadPayload(
  kernel: Kernel,
  tenant_id: string,
  { seq, event_type, generation, previous_seq }: DeliveryRow,
): Promise<DeliveryPayload | null> {
  const entry =
    seq === null ? undefined : await kernel.db.read(tenant_id, (db) => findCrumb(db, seq))
  if (!entry) return null
  const breadcrumb_id = toHex(entry.breadcrumb_id)
  return buildPayload({
    event_type,
    generation,
    previous_seq,
    breadcrumb_id,
    record: entry.record,
  })
}

/** Rejects only once `signal` is aborted. */
export function sendDelivery(
  kernel: Kernel,
  { row, texts, delivery, payload }: OutgoingDelivery,
  signal?: AbortSignal,
): Promise<EgressReply> {
  const now_us = kernel.clock.now()
  const timestamp_s = Math.floor(now_us / SECOND_US)
  const secrets = texts.secrets
    .filter(({ until_us }) => until_us === null || until_us > now_us)
    .map(({ secret }) => secret)
  const { body } = payload
  const [secret] = secrets
  const headers = {
    'content-type': 'application/json',
    'user-agent': `Custos-Webhooks/${kernel.settings.version}`,
    ...signPayload(payload, {
      kind: row.signature,
      secrets,
      signer: () => kernel.keyring.signer('webhook'),
      timestamp_s,
    }),
    ...(row.compatibility === 1 && secret !== undefined
      ? compatibilityHeaders(delivery, { secret, timestamp_s, body })
      : {}),
  }
  const request = { method: 'POST', headers, body } as const
  return kernel.egress.send(texts.url, signal ? { ...request, signal } : request)
}
