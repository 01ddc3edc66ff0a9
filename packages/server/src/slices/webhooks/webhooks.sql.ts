// SQL of webhooks: endpoints, and their open and ended deliveries.

import type { Database } from '../../platform/db/database.ts'
import { listTenantsWith } from '../../platform/db/engines/first-of-each.ts'
import { pageByTime } from '../../platform/db/page-by-time.ts'
import type { Row } from '../../platform/db/schema/tables.ts'
import { statement } from '../../platform/db/statement.ts'
import {
  deleteFrom,
  from,
  insertInto,
  type TenantDb,
  type Tx,
  update,
} from '../../platform/db/tenant-db.ts'
import type { Page } from '../../platform/page.ts'

export type WebhookRow = Row<'webhooks'>
export type DeliveryRow = Row<'webhook_deliveries'>

const WEBHOOK = [
  'webhook_id',
  'state',
  'disabled_reason',
  'signature',
  'compatibility',
  'events',
  'cursor_seq',
  'previous_seq',
  'generation',
  'failures',
  'failing_since_us',
  'next_probe_us',
  'last_success_us',
  'job_id',
  'secret_no',
  'sealed',
  'created_us',
] as const
const DELIVERY = [
  'webhook_id',
  'delivery_id',
  'kind',
  'event_type',
  'seq',
  'previous_seq',
  'generation',
  'status',
  'attempts',
  'next_us',
  'response_code',
  'error',
  'job_id',
  'created_us',
  'completed_us',
] as const

export const insertWebhook = (tx: Tx, row: WebhookRow) => tx.run(insertInto(tx, 'webhooks', row))

export const findWebhook = (db: TenantDb, webhook_id: string) =>
  db.first(from(db, 'webhooks').select(WEBHOOK).where('webhook_id', '=', webhook_id))

/** Oldest first. */
export const listWebhooks = (db: TenantDb, page: Pick<Page, 'limit' | 'offset' | 'after'>) =>
  db.all(
    pageByTime(
      from(db, 'webhooks').select(WEBHOOK),
      { time: 'created_us', order: 'oldest', id: 'webhook_id' },
      page,
    ),
  )

/** Ordered by id, after `after`. */
export const listWebhooksAfter = (db: TenantDb, after: string, limit: number) =>
  db.all(
    from(db, 'webhooks')
      .select(WEBHOOK)
      .where('webhook_id', '>', after)
      .orderBy('webhook_id')
      .limit(limit),
  )

export async function countWebhooks(db: TenantDb): Promise<number> {
  const row = await db.first(
    from(db, 'webhooks').select((e) => e.fn.countAll<number>().as('count')),
  )
  return Number(row?.count ?? 0)
}

/** Does nothing for an empty change, for which SQL has no statement. */
export async function updateWebhook(
  tx: Tx,
  webhook_id: string,
  change: Partial<WebhookRow>,
): Promise<void> {
  if (Object.keys(change).length === 0) return
  await tx.run(update(tx, 'webhooks').set(change).where('webhook_id', '=', webhook_id))
}

export async function deleteWebhook(tx: Tx, webhook_id: string): Promise<void> {
  await tx.run(deleteFrom(tx, 'webhook_deliveries').where('webhook_id', '=', webhook_id))
  await tx.run(deleteFrom(tx, 'webhooks').where('webhook_id', '=', webhook_id))
}

/** Enabled endpoints whose cursor is behind the end of the log. */
export const listBehind = (db: TenantDb) =>
  db.all(
    from(db, 'webhooks')
      .innerJoin('chain_heads', 'chain_heads.tenant_id', 'webhooks.tenant_id')
      .select(['webhooks.webhook_id', 'webhooks.job_id'])
      .where('webhooks.state', '!=', 'disabled')
      .whereRef('webhooks.cursor_seq', '<', 'chain_heads.size'),
  )

const anyStatement = statement<object>()((k, p) =>
  k
    .selectFrom('webhooks')
    .select('webhook_id')
    .where('tenant_id', '=', p.tenant_id)
    .limit((e) => e.lit(1)),
)

/** Returns those of `tenants` that have an endpoint. */
export const tenantsWithWebhooks = (db: Database, tenants: readonly string[]): Promise<string[]> =>
  listTenantsWith(db, tenants, { statement: anyStatement, params: {} })

export const insertDeliveries = async (tx: Tx, rows: readonly DeliveryRow[]): Promise<void> => {
  if (rows.length > 0) await tx.run(insertInto(tx, 'webhook_deliveries', rows))
}

const deliveriesOf = (db: TenantDb, webhook_id: string) =>
  from(db, 'webhook_deliveries').where('webhook_id', '=', webhook_id)

export const findDelivery = (db: TenantDb, webhook_id: string, delivery_id: string) =>
  db.first(deliveriesOf(db, webhook_id).select(DELIVERY).where('delivery_id', '=', delivery_id))

/**
 * Whether a retry of the entry is open, or any delivery of it is due. The delivery may be in
 * flight, and a failing endpoint gets it with a later probe.
 */
export const isDue = async (
  db: TenantDb,
  webhook_id: string,
  { seq, now_us }: { seq: number; now_us: number },
): Promise<boolean> =>
  (await db.first(
    deliveriesOf(db, webhook_id)
      .select('delivery_id')
      .where('seq', '=', seq)
      .where('next_us', 'is not', null)
      .where((e) => e.or([e('kind', '=', 'retry'), e('next_us', '<=', now_us)])),
  )) !== undefined

/** Newest first. */
export function listDeliveries(
  db: TenantDb,
  webhook_id: string,
  page: Pick<Page, 'limit' | 'offset' | 'after'> & {
    readonly status?: DeliveryRow['status'] | undefined
    readonly event?: string | undefined
  },
) {
  const { status, event } = page
  let query = deliveriesOf(db, webhook_id).select(DELIVERY)
  if (status !== undefined) query = query.where('status', '=', status)
  if (event !== undefined) query = query.where('event_type', '=', event)
  return db.all(pageByTime(query, { time: 'created_us', order: 'newest', id: 'delivery_id' }, page))
}

/** Deliveries due at `now_us`, longest overdue first. */
export const listDue = (
  db: TenantDb,
  webhook_id: string,
  { now_us, limit }: { now_us: number; limit: number },
) =>
  db.all(
    deliveriesOf(db, webhook_id)
      .select(DELIVERY)
      .where('next_us', '<=', now_us)
      .orderBy('next_us')
      .limit(limit),
  )

/** The open delivery with the fewest attempts, so that one bad delivery does not block others. */
export const findProbe = (db: TenantDb, webhook_id: string) =>
  db.first(
    deliveriesOf(db, webhook_id)
      .select(DELIVERY)
      .where('next_us', 'is not', null)
      .orderBy('attempts')
      .orderBy('created_us')
      .limit(1),
  )

/** The number of open deliveries, and when the first of them is due. */
export async function summariseOpen(db: TenantDb, webhook_id: string) {
  const row = await db.first(
    deliveriesOf(db, webhook_id)
      .select((e) => [
        e.fn.countAll<number>().as('count'),
        e.fn.min<number | null>('next_us').as('next_us'),
      ])
      .where('next_us', 'is not', null),
  )
  const next_us = row?.next_us ?? null
  return { count: Number(row?.count ?? 0), next_us: next_us === null ? null : Number(next_us) }
}

/** Changes a delivery that has not ended and had no attempt since it was read; else returns 0. */
export const updateDelivery = (
  tx: Tx,
  { webhook_id, delivery_id, attempts }: DeliveryRow,
  change: Partial<DeliveryRow>,
) =>
  tx.run(
    update(tx, 'webhook_deliveries')
      .set(change)
      .where('webhook_id', '=', webhook_id)
      .where('delivery_id', '=', delivery_id)
      .where('attempts', '=', attempts)
      .where('completed_us', 'is', null),
  )

/** Gives up all open deliveries. */
export const failOpenDeliveries = (tx: Tx, webhook_id: string) =>
  tx.run(
    update(tx, 'webhook_deliveries')
      .set({ status: 'failed', next_us: null, completed_us: tx.now() })
      .where('webhook_id', '=', webhook_id)
      .where('next_us', 'is not', null),
  )

/** Makes deliveries that wait for a later attempt due now. */
export const hastenDeliveries = (tx: Tx, webhook_id: string) =>
  tx.run(
    update(tx, 'webhook_deliveries')
      .set({ next_us: tx.now() })
      .where('webhook_id', '=', webhook_id)
      .where('next_us', 'is not', null),
  )

/**
 * Deletes up to `limit` deliveries that ended, or were tests, before a time. Returns how many.
 * Works per endpoint, because the index orders only one endpoint's deliveries by time.
 */
export async function deleteOldDeliveries(
  tx: Tx,
  before_us: number,
  limit: number,
): Promise<number> {
  let deleted = 0
  for (const { webhook_id } of await tx.all(from(tx, 'webhooks').select('webhook_id'))) {
    if (deleted >= limit) break
    const old = deliveriesOf(tx, webhook_id)
      .select('delivery_id')
      .where('created_us', '<', before_us)
      .where('next_us', 'is', null)
      .limit(limit - deleted)
    deleted += await tx.run(
      deleteFrom(tx, 'webhook_deliveries')
        .where('webhook_id', '=', webhook_id)
        .where('delivery_id', 'in', old),
    )
  }
  return deleted
}

/** The start times of tests after a time, newest first, and whether each has ended. */
export const listTests = (db: TenantDb, webhook_id: string, after_us: number) =>
  db.all(
    deliveriesOf(db, webhook_id)
      .select(['created_us', 'completed_us'])
      .where('kind', '=', 'test')
      .where('created_us', '>', after_us)
      .orderBy('created_us', 'desc'),
  )

/** The last log position that a replay has created a delivery for. `null` if none. */
export async function findReplayed(
  db: TenantDb,
  webhook_id: string,
  job_id: string,
): Promise<number | null> {
  const row = await db.first(
    deliveriesOf(db, webhook_id)
      .select((e) => e.fn.max<number | null>('seq').as('seq'))
      .where('job_id', '=', job_id),
  )
  return row?.seq === null || row?.seq === undefined ? null : Number(row.seq)
}
