// URLs and descriptions of webhooks: how requests of data subjects reach them.

import { REDACTED_SECRET } from '../../platform/kernel/sealed-column.ts'
import { REDACTED_TEXT, textSource } from '../../platform/kernel/text-source.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { endpointColumn } from './endpoint.ts'
import {
  failOpenDeliveries,
  findWebhook,
  listWebhooksAfter,
  updateWebhook,
  type WebhookRow,
} from './webhooks.sql.ts'

interface OpenedTexts {
  readonly [member: string]: string
  readonly url: string
  readonly description: string
}

/** An endpoint without its URL gets nothing more: it is disabled. */
export const webhookTextSource = textSource<WebhookRow, OpenedTexts>({
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
