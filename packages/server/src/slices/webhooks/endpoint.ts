// An endpoint. Its URL, description and secrets are sealed; it is shown without the secrets.

import { createHash } from 'node:crypto'
import {
  type webhooks as contract,
  scopeCovers,
  scopeOfEvent,
  type Webhook,
} from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Principal } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { jsonPayload, REDACTED_SECRET, sealedColumn } from '../../platform/kernel/sealed-column.ts'
import { REDACTED_TEXT, textSource } from '../../platform/kernel/text-source.ts'
import { Refusal } from '../../platform/refusal.ts'
import { appendCrumb, findHead } from '../gcrumbs/index.ts'
import { findUnknownEvents } from './payload.ts'
import {
  failOpenDeliveries,
  findWebhook,
  listWebhooksAfter,
  updateWebhook,
  type WebhookRow,
} from './webhooks.sql.ts'

export const WEBHOOK_DELIVER = 'webhook.deliver'

export interface EndpointTexts {
  readonly url: string
  readonly description: string
  /** `whsec_…`, the current one first; none for `v1a`. Signs until then; null: until replaced. */
  readonly secrets: readonly { readonly secret: string; readonly until_us: number | null }[]
}

export const endpointColumn = sealedColumn({
  domain: 'webhook',
  ids: (tenant_id, { webhook_id }: Pick<WebhookRow, 'webhook_id'>) => [tenant_id, webhook_id],
  payload: jsonPayload<EndpointTexts>(),
})

/** Returns `null` if the endpoint was redacted, or its secret is not in the keyring. */
export async function openEndpoint(
  kernel: Pick<Kernel, 'keyring'>,
  tenant_id: string,
  row: WebhookRow,
): Promise<EndpointTexts | null> {
  const [texts = null] = await endpointColumn.openAll(kernel, tenant_id, [row])
  return texts
}

// Written by this service as a list of names.
export const eventsOf = ({ events }: Pick<WebhookRow, 'events'>): string[] => JSON.parse(events)

export function showWebhook(row: WebhookRow, texts: EndpointTexts | null, size: number): Webhook {
  const time = (us: number | null) => (us === null ? null : formatTime(us))
  return {
    webhook_id: row.webhook_id,
    url: texts?.url ?? '',
    events: eventsOf(row),
    enabled: row.state !== 'disabled',
    description: texts?.description ?? '',
    signature: row.signature,
    compatibility: row.compatibility === 1,
    state: row.state,
    disabled_reason: row.disabled_reason,
    cursor_seq: row.cursor_seq,
    lag: Math.max(0, size - row.cursor_seq),
    last_success_at: time(row.last_success_us),
    failing_since: time(row.failing_since_us),
    created_at: formatTime(row.created_us),
  }
}

export const logSize = async (db: TenantDb): Promise<number> => (await findHead(db))?.size ?? 0

/** Refuses a key limited to some stores, because an endpoint gets entries about every store. */
export function refuseLimited({ principal }: { readonly principal: Principal }): void {
  if (principal.allowed_stores.length > 0)
    throw new Refusal('scope_missing', 'webhooks are of all stores; the key is limited to some')
}

/** Refuses unknown events, and events whose records the caller may not read. */
export function requireEvents({ scopes }: Principal, events: readonly string[]): void {
  const [unknown] = findUnknownEvents(events)
  if (unknown) {
    const { position, nearest } = unknown
    const message = `events[${position}] is no event; the nearest is ${nearest}`
    throw new Refusal('rejected', message)
  }
  if (scopeCovers(scopes, 'gcrumbs:read')) return
  for (const event of events) {
    const scope = scopeOfEvent(event)
    if (!scopeCovers(scopes, scope)) throw new Refusal('scope_missing', `${event} needs ${scope}`)
  }
}

type Operation = (typeof contract)[Exclude<
  keyof typeof contract,
  'create' | 'list' | 'event_types'
>]

/** Loads an endpoint. Refuses one that does not exist, and keys that may not use webhooks. */
export async function loadWebhook(
  call: Pick<Call<Operation>, 'principal' | 'refuse'>,
  db: TenantDb,
  webhook_id: string,
): Promise<WebhookRow> {
  refuseLimited(call)
  return (await findWebhook(db, webhook_id)) ?? call.refuse('webhook_not_found')
}

export async function appendChange(
  tx: Tx,
  row: Pick<WebhookRow, 'webhook_id' | 'events' | 'state'>,
  given: { change: 'created' | 'updated' | 'secret_rotated' | 'deleted'; changed_by: string },
): Promise<void> {
  const names = JSON.stringify(eventsOf(row).toSorted())
  await appendCrumb(tx, {
    event_type: 'webhook.changed',
    subject: row.webhook_id,
    payload: {
      ...given,
      enabled: row.state !== 'disabled',
      events_digest: createHash('sha256').update(names).digest('hex'),
    },
  })
}

/** An endpoint whose URL is redacted is disabled, and gets nothing more. */
export const webhookTextSource = textSource<
  WebhookRow,
  { readonly [member: string]: string; readonly url: string; readonly description: string }
>({
  kind: 'webhook',
  list: (db, after, limit) => listWebhooksAfter(db, after?.webhook_id ?? '', limit),
  find: findWebhook,
  idOf: ({ webhook_id }) => webhook_id,
  createdUs: ({ created_us }) => created_us,
  async open(kernel, tenant_id, rows) {
    const opened = await endpointColumn.openAll(kernel, tenant_id, rows)
    return opened.map((texts) => texts && { url: texts.url, description: texts.description })
  },
  async redact(kernel, tenant_id, { row }) {
    const redacted = { url: REDACTED_TEXT, description: REDACTED_TEXT, secrets: [] }
    return [await endpointColumn.sealRedacted(kernel, tenant_id, row, redacted)]
  },
  async update(tx, { webhook_id }, [sealed], kernel) {
    const row = await findWebhook(tx, webhook_id)
    await failOpenDeliveries(tx, webhook_id)
    await updateWebhook(tx, webhook_id, {
      secret_no: REDACTED_SECRET,
      sealed,
      state: 'disabled',
      disabled_reason: 'redacted',
    })
    if (row) await kernel.jobs.wake(tx, row.job_id)
    await appendCrumb(tx, {
      event_type: 'webhook.disabled',
      subject: webhook_id,
      payload: { reason: 'redacted', failing_since: null },
    })
  },
})
