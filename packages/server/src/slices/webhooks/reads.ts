// Reads endpoints, deliveries and the names of events.

import {
  type webhooks as contract,
  limits,
  WEBHOOK_EVENTS,
  type WebhookDelivery,
} from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import type { Handler } from '../../platform/kernel/call.ts'
import { pageOf } from '../../platform/page.ts'
import {
  endpointColumn,
  loadWebhook,
  logSize,
  openEndpoint,
  refuseLimited,
  showWebhook,
} from './endpoint.ts'
import { type DeliveryRow, listDeliveries, listWebhooks } from './webhooks.sql.ts'

export const listAll: Handler<typeof contract.list> = (call, { query }) => {
  refuseLimited(call)
  return call.read(async (db) => {
    const page = pageOf(query, limits.page.default, call.operation.id)
    const rows = await listWebhooks(db, page)
    const texts = await endpointColumn.openAll(call.kernel, call.tenant_id, rows)
    const size = await logSize(db)
    const shown = rows.map((row, i) => showWebhook(row, texts[i] ?? null, size))
    const last = rows.at(-1)
    const end = last ? { at: last.created_us, id: last.webhook_id } : null
    return page.envelope('webhooks', shown, end)
  })
}

export const getOne: Handler<typeof contract.get> = (call, { params }) =>
  call.read(async (db) => {
    const row = await loadWebhook(call, db, params.webhook_id)
    const texts = await openEndpoint(call.kernel, call.tenant_id, row)
    return showWebhook(row, texts, await logSize(db))
  })

export const listEventTypes: Handler<typeof contract.event_types> = async () => ({
  event_types: [...WEBHOOK_EVENTS],
})

export const listOfWebhook: Handler<typeof contract.deliveries> = (call, { params, query }) =>
  call.read(async (db) => {
    await loadWebhook(call, db, params.webhook_id)
    const page = pageOf(query, limits.deliveries_page.default, call.operation.id)
    const { status, event } = query
    const rows = await listDeliveries(db, params.webhook_id, { status, event, ...page })
    const last = rows.at(-1)
    const end = last ? { at: last.created_us, id: last.delivery_id } : null
    return page.envelope('deliveries', rows.map(showDelivery), end)
  })

export function showDelivery(row: DeliveryRow): WebhookDelivery {
  const time = (us: number | null) => (us === null ? null : formatTime(us))
  return {
    delivery_id: row.delivery_id,
    webhook_id: row.webhook_id,
    event_type: row.event_type,
    seq: row.seq,
    kind: row.kind,
    status: row.status,
    attempts: row.attempts,
    response_code: row.response_code,
    error: row.error,
    created_at: formatTime(row.created_us),
    next_attempt_at: time(row.next_us),
    completed_at: time(row.completed_us),
  }
}
