// Creates, changes, shows and deletes endpoints, replaces their secrets, and shows deliveries.

import {
  type webhooks as contract,
  limits,
  WEBHOOK_EVENTS,
  type WebhookDelivery,
} from '@custos/contract'
import type { Static } from 'typebox'
import { fromHex } from '../../platform/bytes.ts'
import { formatTime } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { REDACTED_SECRET } from '../../platform/kernel/sealed-column.ts'
import { pageOf } from '../../platform/page.ts'
import { generationAt } from '../gcrumbs/index.ts'
import { meter, planLimits } from '../tenants/index.ts'
import {
  appendChange,
  type EndpointTexts,
  endpointColumn,
  eventsOf,
  loadWebhook,
  logSize,
  openEndpoint,
  refuseLimited,
  requireEvents,
  showWebhook,
  WEBHOOK_DELIVER,
} from './endpoint.ts'
import { formatPublicKey, formatSecret } from './payload.ts'
import { followTenant } from './wake.ts'
import {
  countWebhooks,
  type DeliveryRow,
  deleteWebhook,
  failOpenDeliveries,
  findWebhook,
  insertWebhook,
  listDeliveries,
  listWebhooks,
  updateWebhook,
  type WebhookRow,
} from './webhooks.sql.ts'

type CreatedWebhook = Static<(typeof contract)['create']['reply']>

const ID_BYTES = 12
const SECRET_BYTES = 32
const HOUR_US = 3_600_000_000
/** The most secrets that sign at the same time, including the current one. */
const SECRETS_MAX = 5

/** Refuses a URL that requests would not be sent to. Each request checks it again. */
async function requireUrl(
  call: Call<(typeof contract)['create' | 'update']>,
  url: string,
): Promise<void> {
  if (await call.kernel.egress.isRefused(url)) call.refuse('url_refused')
}

const newSecret = ({ ids }: Kernel): string =>
  formatSecret(Buffer.from(ids.hex(SECRET_BYTES), 'hex'))

export const createWebhook: Handler<typeof contract.create> = async (call, { body }) => {
  refuseLimited(call)
  requireEvents(call.principal, body.events)
  const { kernel, tenant_id } = call
  const signature = body.signature ?? 'v1'
  const compatibility = body.compatibility ?? false
  if (compatibility && signature === 'v1a')
    return call.refuse('rejected', 'compatibility needs a secret: signature v1')
  await requireUrl(call, body.url)

  const webhook_id = kernel.ids.hex(ID_BYTES)
  const secrets = signature === 'v1' ? [{ secret: newSecret(kernel), until_us: null }] : []
  const texts = { url: body.url, description: body.description ?? '', secrets }
  const { secret_no, sealed } = await endpointColumn.sealNew(
    kernel,
    tenant_id,
    { webhook_id },
    texts,
  )
  let created: CreatedWebhook | undefined
  try {
    created = await call.once<CreatedWebhook>({
      async run(tx) {
        const given = { webhook_id, signature, secret_no, sealed, compatibility }
        const row = await insertNew(call, tx, { ...given, body })
        const size = await logSize(tx)
        return {
          reply: { ...showWebhook(row, texts, size), ...credentials(kernel, row, texts) },
          ids: { webhook_id },
        }
      },
      replay: (tx, ids) => showAgain(call, tx, String(ids['webhook_id'])),
    })
    return created
  } finally {
    // The request was refused or repeated, so nothing is sealed under the new secret.
    if (created?.webhook_id !== webhook_id)
      await kernel.keyring.destroySecrets(tenant_id, 'decision', [secret_no])
  }
}

type NewWebhook = Pick<WebhookRow, 'webhook_id' | 'signature' | 'secret_no' | 'sealed'> & {
  readonly compatibility: boolean
  readonly body: Static<(typeof contract)['create']['body']>
}

async function insertNew(
  call: Call<typeof contract.create>,
  tx: Tx,
  { body, compatibility, ...given }: NewWebhook,
): Promise<WebhookRow> {
  const { webhooks } = await planLimits(call.kernel, tx)
  if (webhooks !== null && (await countWebhooks(tx)) >= webhooks) return call.refuse('too_many')
  const size = await logSize(tx)
  const cursor_seq = body.from_seq ?? size
  if (cursor_seq > size) return call.refuse('rejected', 'from_seq is past the end of the log')
  const job = await call.kernel.jobs.enqueue(tx, WEBHOOK_DELIVER, { webhook_id: given.webhook_id })
  const row: WebhookRow = {
    ...given,
    state: 'active',
    disabled_reason: null,
    compatibility: Number(compatibility),
    events: JSON.stringify([...new Set(body.events)]),
    cursor_seq,
    previous_seq: null,
    generation: await generationAt(tx, cursor_seq),
    failures: 0,
    failing_since_us: null,
    next_probe_us: 0,
    last_success_us: null,
    job_id: job.job_id,
    created_us: tx.now(),
  }
  await insertWebhook(tx, row)
  tx.afterCommit(() => followTenant(call.kernel, tx.tenant_id))
  meter(tx, call.operation.id)
  await appendChange(tx, row, { change: 'created', changed_by: call.principal.key_id })
  return row
}

const credentials = (kernel: Kernel, { signature }: WebhookRow, texts: EndpointTexts | null) => ({
  secret: texts?.secrets[0]?.secret ?? null,
  public_key: signature === 'v1a' ? publicKeyOf(kernel) : null,
})

/** Returns `null` if there is no key until the next rotation. */
function publicKeyOf({ keyring }: Kernel): string | null {
  const current = keyring
    .publishedKeys()
    .find(({ purpose, retired_at }) => purpose === 'webhook' && retired_at === null)
  return current ? formatPublicKey(fromHex(current.public_key)) : null
}

/** Shows a created endpoint again without its secret, which only the first reply contains. */
async function showAgain(
  call: Call<typeof contract.create>,
  tx: Tx,
  webhook_id: string,
): Promise<CreatedWebhook> {
  const row = await findWebhook(tx, webhook_id)
  if (!row) return call.refuse('idempotency_key_reused')
  const texts = await openEndpoint(call.kernel, tx.tenant_id, row)
  const shown = showWebhook(row, texts, await logSize(tx))
  return { ...shown, ...credentials(call.kernel, row, null) }
}

export const updateWebhookById: Handler<typeof contract.update> = async (
  call,
  { params, body },
) => {
  const { kernel, tenant_id } = call
  const events = body.events ?? null
  if (events !== null) requireEvents(call.principal, events)
  const known = await call.read((db) => loadWebhook(call, db, params.webhook_id))
  if (body.url) await requireUrl(call, body.url)
  const texts = await openEndpoint(kernel, tenant_id, known)
  if (!texts || known.disabled_reason === 'redacted')
    return call.refuse('wrong_state', 'its URL was erased: delete it')
  const { url, description } = body
  return call.transact(async (tx) => {
    const row = await loadWebhook(call, tx, params.webhook_id)
    // A caller who redirects or extends an endpoint's events must be allowed to read them.
    if (url || events !== null || body.enabled)
      requireEvents(call.principal, events ?? eventsOf(row))
    const current = await openEndpoint(kernel, tenant_id, row)
    // A subject request may have redacted the endpoint since the first check.
    if (!current || row.disabled_reason === 'redacted')
      return call.refuse('wrong_state', 'its URL was erased: delete it')
    const changed = {
      ...current,
      url: url ?? current.url,
      description: description ?? current.description,
    }
    const sealed = await endpointColumn.sealAgain(kernel, tenant_id, row, changed)
    const change: Partial<WebhookRow> = {
      ...(url || typeof description === 'string' ? { sealed } : {}),
      ...(events === null ? {} : { events: JSON.stringify([...new Set(events)]) }),
      ...(await switchState(kernel, tx, row, body.enabled ?? null)),
    }
    if (Object.keys(change).length > 0) {
      await updateWebhook(tx, row.webhook_id, change)
      meter(tx, call.operation.id)
    }
    const after = { ...row, ...change }
    if (Object.keys(change).length > 0)
      await appendChange(tx, after, { change: 'updated', changed_by: call.principal.key_id })
    return showWebhook(after, changed, await logSize(tx))
  })
}

/** Enabling starts at the next log entry. Disabling gives up open deliveries. */
async function switchState(
  kernel: Kernel,
  tx: Tx,
  row: WebhookRow,
  enabled: boolean | null,
): Promise<Partial<WebhookRow>> {
  const { webhook_id } = row
  if (enabled === null || enabled === (row.state !== 'disabled')) return {}
  if (!enabled) {
    await failOpenDeliveries(tx, webhook_id)
    await kernel.jobs.wake(tx, row.job_id)
    return { state: 'disabled', disabled_reason: 'requested' }
  }
  const cursor_seq = await logSize(tx)
  const job = await kernel.jobs.enqueue(tx, WEBHOOK_DELIVER, { webhook_id })
  return {
    state: 'active',
    disabled_reason: null,
    cursor_seq,
    previous_seq: null,
    generation: await generationAt(tx, cursor_seq),
    failures: 0,
    failing_since_us: null,
    next_probe_us: 0,
    job_id: job.job_id,
  }
}

// Destroys the secret first: a crash then leaves an unreadable row that can be deleted again.
export const deleteWebhookById: Handler<typeof contract.delete> = async (call, { params }) => {
  const { kernel, tenant_id } = call
  const { webhook_id } = params
  const { secret_no } = await call.read((db) => loadWebhook(call, db, webhook_id))
  if (secret_no !== REDACTED_SECRET)
    await kernel.keyring.destroySecrets(tenant_id, 'decision', [secret_no])
  return call.transact(async (tx) => {
    const row = await loadWebhook(call, tx, webhook_id)
    await deleteWebhook(tx, webhook_id)
    await kernel.jobs.wake(tx, row.job_id)
    meter(tx, call.operation.id)
    const gone = { ...row, state: 'disabled' } as const
    await appendChange(tx, gone, { change: 'deleted', changed_by: call.principal.key_id })
    return { deleted: true as const, webhook_id }
  })
}

export const rotateSecret: Handler<typeof contract.rotate_secret> = async (
  call,
  { params, body },
) => {
  const { kernel, tenant_id } = call
  const overlap_us = (body.overlap_hours ?? limits.webhook_overlap_h.default) * HOUR_US
  const secret = newSecret(kernel)
  return call.transact(async (tx) => {
    const row = await loadWebhook(call, tx, params.webhook_id)
    if (row.signature === 'v1a')
      return call.refuse('wrong_state', 'v1a signs with the key of this service')
    const texts = await openEndpoint(kernel, tenant_id, row)
    if (!texts || row.disabled_reason === 'redacted')
      return call.refuse('wrong_state', 'its URL was erased: delete it')
    const now_us = tx.now()
    const until_us = now_us + overlap_us
    const kept = texts.secrets.flatMap((old) => {
      const ends_us = Math.min(old.until_us ?? until_us, until_us)
      return ends_us > now_us ? [{ secret: old.secret, until_us: ends_us }] : []
    })
    const secrets = [{ secret, until_us: null }, ...kept].slice(0, SECRETS_MAX)
    const sealed = await endpointColumn.sealAgain(kernel, tenant_id, row, { ...texts, secrets })
    await updateWebhook(tx, row.webhook_id, { sealed })
    meter(tx, call.operation.id)
    await appendChange(tx, row, { change: 'secret_rotated', changed_by: call.principal.key_id })
    return { webhook_id: row.webhook_id, secret, previous_valid_until: formatTime(until_us) }
  })
}

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
