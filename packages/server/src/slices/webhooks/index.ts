// Webhooks: deliveries on request (a retry, a replay of part of the log, a test), handlers, jobs.

import { type webhooks as contract, limits, type webhooks } from '@custos/contract'
import { formatTime, parseTime } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { EgressReply } from '../../platform/egress/connection.ts'
import type { JobRunner } from '../../platform/jobs/queue.ts'
import type { Call, Handler, HandlersOf } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { generationAt, seqAt } from '../gcrumbs/index.ts'
import { meter } from '../tenants/index.ts'
import { endpointDeliverer, OPEN_MAX, type OutgoingDelivery, sendDelivery } from './deliver.ts'
import {
  eventsOf,
  loadWebhook,
  logSize,
  openEndpoint,
  requireEvents,
  WEBHOOK_DELIVER,
} from './endpoint.ts'
import { decideOutcome } from './outcome.ts'
import { buildTestPayload } from './payload.ts'
import { newDelivery, walkEntries } from './take-entries.ts'
import {
  type DeliveryRow,
  findDelivery,
  findReplayed,
  findWebhook,
  insertDeliveries,
  isDue,
  listTests,
  summariseOpen,
  updateDelivery,
  type WebhookRow,
} from './webhooks.sql.ts'
import {
  createWebhook,
  deleteWebhookById,
  getOne,
  listAll,
  listEventTypes,
  listOfWebhook,
  rotateSecret,
  showDelivery,
  updateWebhookById,
} from './webhooks.ts'

const WEBHOOK_REPLAY = 'webhook.replay'

const MINUTE_US = 60_000_000
/** How long an unfinished test blocks another one, if its process has ended. */
const TEST_US = 20_000_000
const TEST_QUOTA = 'webhook_tests'
const TEST_WAIT_MS = 10_000
const FULL_MS = 5_000

const refuseDisabled = (
  call: Call<(typeof contract)['retry' | 'replay']>,
  { state }: WebhookRow,
) => (state === 'disabled' ? call.refuse('wrong_state', 'the webhook is disabled') : undefined)

const retryDelivery: Handler<typeof contract.retry> = (call, { params }) =>
  call.transact(async (tx) => {
    const row = await loadWebhook(call, tx, params.webhook_id)
    const old = await findDelivery(tx, row.webhook_id, params.delivery_id)
    if (!old) return call.refuse('delivery_not_found')
    refuseDisabled(call, row)
    const { seq, event_type, previous_seq, generation } = old
    if (seq === null) return call.refuse('wrong_state', 'a test is not retried: send another')
    if (await isDue(tx, row.webhook_id, { seq, now_us: tx.now() }))
      return call.refuse('wrong_state', 'it is being sent, or is due to be sent')
    const again = newDelivery(call.kernel, tx, {
      webhook_id: row.webhook_id,
      kind: 'retry',
      job_id: null,
      seq,
      event_type,
      previous_seq,
      generation,
    })
    await insertDeliveries(tx, [again])
    await call.kernel.jobs.wake(tx, row.job_id)
    meter(tx, call.operation.id)
    return { retried: true as const, delivery: showDelivery(again) }
  })

const replayLog: Handler<typeof contract.replay> = (call, { params, body }) =>
  call.transact(async (tx) => {
    const row = await loadWebhook(call, tx, params.webhook_id)
    refuseDisabled(call, row)
    const events = body.events ?? null
    requireEvents(call.principal, events ?? eventsOf(row))
    const from_seq = await firstOf(call, tx, body)
    const last_seq = (await logSize(tx)) - 1
    const asked_seq = body.to_seq ?? last_seq
    const to_seq = Math.min(asked_seq, last_seq)
    if (from_seq > to_seq) return call.refuse('rejected', 'there is no entry in that range')
    if (asked_seq - from_seq >= limits.webhook_replay_entries)
      return call.refuse('rejected', `at most ${limits.webhook_replay_entries} entries at a time`)
    const { webhook_id } = row
    const payload = { webhook_id, from_seq, to_seq, events }
    const { job_id } = await call.kernel.jobs.enqueue(tx, WEBHOOK_REPLAY, payload)
    meter(tx, call.operation.id)
    return { job_id, webhook_id, from_seq, to_seq }
  })

async function firstOf(
  call: Call<typeof contract.replay>,
  tx: Tx,
  { from_seq, since }: { from_seq?: number | null; since?: string | null },
): Promise<number> {
  const since_us = typeof since === 'string' ? parseTime(since) : null
  const has_seq = typeof from_seq === 'number'
  if (has_seq && since_us === null) return from_seq
  if (has_seq || since_us === null) return call.refuse('rejected', 'name from_seq or since, one')
  return (await seqAt(tx, since_us)) + 1
}

interface ReplayPlan {
  readonly webhook_id: string
  readonly from_seq: number
  readonly to_seq: number
  readonly events: readonly string[] | null
}

/** Creates deliveries as fast as the endpoint takes them. */
const logReplayer =
  (kernel: Kernel): JobRunner =>
  async ({ job, progress, ...context }) => {
    // Written by `replayLog`.
    const plan = job.payload as unknown as ReplayPlan
    const total = plan.to_seq + 1 - plan.from_seq
    let next_seq = plan.from_seq + job.progress_done
    while (next_seq <= plan.to_seq) {
      if (context.stopping) return { again_ms: 0 }
      const taken = await kernel.db.transact(job.tenant_id, (tx) =>
        replayPage(kernel, tx, { ...plan, job_id: job.job_id, next_seq }),
      )
      if (taken === 'full') return { again_ms: FULL_MS }
      if (taken === 'over') return undefined
      next_seq = taken
      await progress(next_seq - plan.from_seq, total)
    }
    return undefined
  }

/** Returns the next position, `full` if too many deliveries are open, `over` if none goes out. */
async function replayPage(
  kernel: Kernel,
  tx: Tx,
  plan: ReplayPlan & { readonly job_id: string; readonly next_seq: number },
): Promise<number | 'full' | 'over'> {
  const { webhook_id, job_id } = plan
  const row = await findWebhook(tx, webhook_id)
  if (!row || row.state === 'disabled') return 'over'
  if ((await summariseOpen(tx, webhook_id)).count >= OPEN_MAX) return 'full'
  // After a crash, deliveries may exist beyond the stored progress.
  const replayed = await findReplayed(tx, webhook_id, job_id)
  const first_seq = Math.max(plan.next_seq, (replayed ?? -1) + 1)
  const { matched, next_seq } = await walkEntries(tx, {
    events: plan.events ?? eventsOf(row),
    position: { previous_seq: replayed, generation: await generationAt(tx, first_seq) },
    first_seq,
    end_seq: plan.to_seq + 1,
  })
  const given = { webhook_id, kind: 'replay', job_id } as const
  await insertDeliveries(
    tx,
    matched.map((entry) => newDelivery(kernel, tx, { ...given, ...entry })),
  )
  await kernel.jobs.wake(tx, row.job_id)
  return next_seq
}

const testWebhook: Handler<typeof contract.test> = async (call, { params }) => {
  const { kernel, tenant_id } = call
  const known = await call.read((db) => loadWebhook(call, db, params.webhook_id))
  const texts = await openEndpoint(kernel, tenant_id, known)
  if (!texts || known.disabled_reason === 'redacted')
    return call.refuse('wrong_state', 'its URL was erased: delete it')
  const { row, delivery } = await call.transact(async (tx) => {
    const current = await loadWebhook(call, tx, params.webhook_id)
    await refuseHasty(call, tx, current.webhook_id)
    const planned = newDelivery(kernel, tx, {
      webhook_id: current.webhook_id,
      kind: 'test',
      job_id: null,
      event_type: 'test',
      seq: 0,
      previous_seq: null,
      generation: 0,
    })
    // The test is sent right here, so `next_us` hides it from the standing job.
    const test: DeliveryRow = { ...planned, seq: null, next_us: null }
    await insertDeliveries(tx, [test])
    meter(tx, call.operation.id)
    return { row: current, delivery: test }
  })
  const { delivery_id } = delivery
  const timestamp = formatTime(delivery.created_us)
  const { webhook_id } = row
  const payload = buildTestPayload({ webhook_id, tenant_id, delivery_id, timestamp })
  const ended = sendTest(kernel, tenant_id, { row, texts, delivery, payload })
  const after = await within(TEST_WAIT_MS, ended)
  return { test: true as const, delivery: showDelivery({ ...delivery, ...after }) }
}

async function refuseHasty(
  call: Call<typeof contract.test>,
  tx: Tx,
  webhook_id: string,
): Promise<void> {
  const now_us = tx.now()
  const tests = await listTests(tx, webhook_id, now_us - MINUTE_US)
  const [last] = tests
  if (last && last.completed_us === null && last.created_us > now_us - TEST_US)
    call.refuse('wrong_state', 'a test is under way')
  const limit = limits.webhook_tests_per_minute
  const oldest = tests[limit - 1]
  if (!oldest) return
  const retry_after_s = Math.ceil((oldest.created_us + MINUTE_US - now_us) / 1_000_000)
  call.refuse('rate_limited', 'tests of a webhook', {
    retry_after_s,
    members: { quota: TEST_QUOTA, limit, window_s: 60 },
    headers: {
      'ratelimit-policy': `"${TEST_QUOTA}";q=${limit};w=60`,
      ratelimit: `"${TEST_QUOTA}";r=0;t=${retry_after_s}`,
    },
  })
}

/** Returns how the delivery changed. Never rejects, as the caller may no longer wait. */
async function sendTest(
  kernel: Kernel,
  tenant_id: string,
  outgoing: OutgoingDelivery & { readonly delivery: DeliveryRow },
): Promise<Partial<DeliveryRow>> {
  const { delivery } = outgoing
  const reply: EgressReply = await sendDelivery(kernel, outgoing)
  const now_us = kernel.clock.now()
  const webhook = { state: 'active', failures: 0, failing_since_us: null } as const
  const outcome = decideOutcome({
    webhook,
    reply,
    probe: false,
    now_us,
    chance: 0,
    // Counts as the last attempt, so that no retry follows.
    delivery: { attempts: Number.MAX_SAFE_INTEGER - 1 },
  })
  const change = { ...outcome.delivery, attempts: 1 }
  try {
    await kernel.db.transact(tenant_id, (tx) => updateDelivery(tx, delivery, change))
  } catch (error) {
    const reason = error instanceof Error ? error.name : 'unknown'
    kernel.logger.warn('webhook.test_not_noted', { reason })
  }
  return change
}

async function within<T extends object>(ms: number, work: Promise<T>): Promise<T | object> {
  const late = Promise.withResolvers<object>()
  const timer = setTimeout(() => late.resolve({}), ms)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

export { webhookTextSource } from './endpoint.ts'
export {
  deleteEndedDeliveries,
  followEndpoints,
  followNewEndpoints,
  stopFollowing,
} from './wake.ts'

export const webhooksHandlers = {
  create: createWebhook,
  list: listAll,
  event_types: listEventTypes,
  get: getOne,
  update: updateWebhookById,
  delete: deleteWebhookById,
  rotate_secret: rotateSecret,
  deliveries: listOfWebhook,
  retry: retryDelivery,
  replay: replayLog,
  test: testWebhook,
} satisfies HandlersOf<typeof webhooks>

export function registerWebhookJobs(kernel: Kernel): void {
  kernel.jobs.register(WEBHOOK_DELIVER, endpointDeliverer(kernel), { queue: 'outbound' })
  kernel.jobs.register(WEBHOOK_REPLAY, logReplayer(kernel))
}
