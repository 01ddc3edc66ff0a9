// Sends one delivery. Its payload is rebuilt from the log for each attempt.

import { toHex } from '../../platform/bytes.ts'
import type { EgressReply } from '../../platform/egress/connection.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { findCrumb } from '../gcrumbs/index.ts'
import type { EndpointTexts } from './endpoint.ts'
import { buildPayload, compatibilityHeaders, type DeliveryPayload, signPayload } from './payload.ts'
import type { DeliveryRow, WebhookRow } from './webhooks.sql.ts'

const SECOND_US = 1_000_000

/** A delivery with the endpoint it is sent to. */
export interface OutgoingDelivery {
  readonly row: Pick<WebhookRow, 'signature' | 'compatibility'>
  readonly texts: EndpointTexts
  readonly delivery: Pick<DeliveryRow, 'delivery_id' | 'event_type'>
  readonly payload: DeliveryPayload
}

/** The payload of a log entry, or `null` if the log does not have it. */
export async function loadPayload(
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

/** Sends the delivery. Rejects only once `signal` is aborted. */
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
