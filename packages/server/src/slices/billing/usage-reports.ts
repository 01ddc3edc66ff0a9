// Reports a tenant's usage to the payment provider. Each report is durable before it is sent, and
// spans from the total of the last one to a later total, so that no usage is counted twice or lost.

import { createHash } from 'node:crypto'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { countGovernedEver, findMarks } from '../tenants/index.ts'
import {
  findLastReport,
  findOpenReport,
  findSubscription,
  insertReport,
  listConfirmed,
  type ReportRow,
  updateReport,
} from './billing.sql.ts'
import type { SubscriptionRow } from './decide-subscription.ts'
import { paymentProvider } from './payment-provider.ts'
import type { PaymentProvider } from './provider.ts'

const METER = 'governed_decisions'

const HOUR_US = 3_600_000_000
/** The provider forgets identifiers after 24 hours; before that, a report can be resent safely. */
const RESEND_US = 20 * HOUR_US
const REPORTED: readonly string[] = ['trialing', 'active', 'canceling', 'past_due']
const MINUTE_US = 60_000_000
/** The provider rejects older usage. */
const TAKEN_US = 35 * 24 * HOUR_US

const isReportable = ({ status }: SubscriptionRow): boolean => REPORTED.includes(status)

/**
 * Runs in the unit of work that changes a subscription. Usage up to its end is reported, and usage
 * while there was no subscription is never billed.
 */
export async function boundUsage(
  tx: Tx,
  { before, after }: { readonly before: SubscriptionRow; readonly after: SubscriptionRow },
): Promise<void> {
  if (isReportable(before) === isReportable(after)) return
  if (isReportable(after)) return skipUsage(tx)
  for (;;) {
    const report = await nextReport(tx, before, await findLastReport(tx, METER))
    if (report === null) return
    await insertReport(tx, report)
  }
}

/** Inserts a report that is never sent, from which the next one continues. */
async function skipUsage(tx: Tx): Promise<void> {
  const last = await findLastReport(tx, METER)
  const from_total = last?.to_total ?? (await findMarks(tx))[0]?.total ?? null
  const to_total = await countGovernedEver(tx)
  if (from_total === null || to_total <= from_total) return
  const now_us = tx.now()
  const times = { at_us: now_us, prepared_us: now_us }
  const identifier = identifierOf(tx, to_total)
  await insertReport(tx, {
    meter: METER,
    to_total,
    from_total,
    ...times,
    identifier,
    state: 'skipped',
  })
}

const identifierOf = ({ tenant_id }: Tx, to_total: number): string =>
  createHash('sha256').update(`${tenant_id}\n${METER}\n${to_total}`).digest('hex')

const ROUNDS_MAX = 12

/** Reports what a tenant has used since its last report. Refuses `payment_unavailable`. */
export async function reportUsage(kernel: Kernel, tenant_id: string): Promise<void> {
  // Each period that has ended since the last report gets its own report.
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const prepared = await kernel.db.transact(tenant_id, prepareReport)
    if (prepared === null) return
    await sendReport(kernel, tenant_id, prepared)
  }
}

interface OpenReport {
  readonly report: ReportRow
  readonly customer_id: string
}

/** Returns the open report or a new one, or `null` if there is nothing to report. */
async function prepareReport(tx: Tx): Promise<OpenReport | null> {
  const subscription = await findSubscription(tx)
  const customer_id = subscription?.customer_id ?? null
  if (!subscription || customer_id === null) return null
  const open = await findOpenReport(tx, METER)
  if (open) return { report: open, customer_id }
  if (!isReportable(subscription)) return null
  const report = await nextReport(tx, subscription, await findLastReport(tx, METER))
  if (report === null) return null
  await insertReport(tx, report)
  return { report, customer_id }
}

async function nextReport(
  tx: Tx,
  { period_start_us }: SubscriptionRow,
  last: ReportRow | undefined,
): Promise<ReportRow | null> {
  const marks = await findMarks(tx)
  // Usage before the first paid period is not billed.
  const from_total = last?.to_total ?? marks[0]?.total ?? null
  if (from_total === null || period_start_us === null) return null
  const now_us = tx.now()
  const ended = marks.find(({ total }) => total > from_total)
  const to_total = ended?.total ?? (await countGovernedEver(tx))
  if (to_total <= from_total) return null
  // The rest of a period is dated within that period, even if it is reported later.
  const at_us = ended === undefined ? now_us : ended.period_start_us - 1_000_000
  const identifier = identifierOf(tx, to_total)
  const state = 'prepared'
  return { meter: METER, to_total, from_total, at_us, prepared_us: now_us, identifier, state }
}

async function sendReport(
  kernel: Kernel,
  tenant_id: string,
  { report, customer_id }: OpenReport,
): Promise<void> {
  const { from_total, to_total } = report
  const state = await deliverReport(kernel, tenant_id, { report, customer_id })
  if (state === 'refused') kernel.logger.error('billing.usage_refused', { tenant_id })
  await kernel.db.transact(tenant_id, async (tx) => {
    const open = await findOpenReport(tx, METER)
    // Another process has settled the report.
    if (open?.to_total !== to_total) return
    await updateReport(tx, { meter: METER, to_total, state })
    if (state === 'refused') return
    await appendCrumb(tx, {
      event_type: 'billing.usage_reported',
      subject: tenant_id,
      payload: { meter: METER, from_total, to_total },
    })
  })
}

/** Sends a report. `refused` means that the provider never accepts it; later reports still go. */
async function deliverReport(
  kernel: Kernel,
  tenant_id: string,
  { report, customer_id }: OpenReport,
): Promise<'confirmed' | 'refused'> {
  const provider = await paymentProvider(kernel)
  const { from_total, to_total, at_us, identifier } = report
  const isOld = kernel.clock.now() - report.prepared_us > RESEND_US
  const isKnown = isOld && (await isReported(kernel, tenant_id, { report, customer_id, provider }))
  if (isKnown) return 'confirmed'
  if (kernel.clock.now() - at_us > TAKEN_US) return 'refused'
  const value = to_total - from_total
  const isTaken = await provider.reportUsage({ customer_id, identifier, value, at_us })
  return isTaken ? 'confirmed' : 'refused'
}

/** Whether the provider has counted a report whose identifier it may have forgotten. */
async function isReported(
  kernel: Kernel,
  tenant_id: string,
  given: {
    readonly report: ReportRow
    readonly customer_id: string
    readonly provider: PaymentProvider
  },
): Promise<boolean> {
  const { report, customer_id, provider } = given
  const { at_us, from_total, to_total } = report
  // The provider sums whole minutes, so the confirmed reports of the same minutes are summed.
  const minute_us = Math.floor(at_us / MINUTE_US) * MINUTE_US
  const [from_us, until_us] = [minute_us - 24 * HOUR_US, minute_us + 24 * HOUR_US]
  const confirmed = await kernel.db.read(tenant_id, (db) =>
    listConfirmed(db, METER, { from_us, until_us }),
  )
  const known = confirmed.reduce((sum, row) => sum + row.to_total - row.from_total, 0)
  const summed = await provider.sumReported(customer_id, from_us, until_us)
  return summed >= known + (to_total - from_total)
}
