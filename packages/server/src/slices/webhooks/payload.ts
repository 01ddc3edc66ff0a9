// Pure: the body of a delivery, built from a log entry, and its signatures.

import { createHmac } from 'node:crypto'
import { limits, WEBHOOK_ALIASES, WEBHOOK_EVENTS, type WEBHOOK_SIGNATURES } from '@custos/contract'
import type { DeliveryRow } from './webhooks.sql.ts'

export interface DeliveryPayload {
  /** The `webhook-id`, which is the same for every attempt, retry and replay of an entry. */
  readonly id: string
  readonly body: string
}

const ID_HEX = 32

/**
 * Of a log entry and how it goes to an endpoint.
 * @param content.event_type the name the endpoint subscribed to
 * @param content.breadcrumb_id lower hex
 * @param content.record the canonical log entry: its hash is `breadcrumb_id` (RFC 6962 leaf)
 */
export function buildPayload(
  content: Pick<DeliveryRow, 'event_type' | 'generation' | 'previous_seq'> & {
    readonly breadcrumb_id: string
    readonly record: string
  },
): DeliveryPayload {
  const { event_type, generation, previous_seq, breadcrumb_id, record } = content
  // Written by `appendCrumb` only.
  const { tenant_id, seq, payload, created_at }: Record<string, unknown> = JSON.parse(record)
  const id = `evt_${breadcrumb_id.slice(0, ID_HEX)}`
  const write = (data: unknown, entry: string | null) =>
    JSON.stringify({
      type: event_type,
      event: event_type,
      timestamp: created_at,
      id,
      tenant_id,
      generation,
      seq,
      previous_seq,
      breadcrumb_id,
      data,
      entry,
    })
  const bodies = [write(payload, record), write(null, record)]
  const fits = bodies.find((body) => Buffer.byteLength(body) <= limits.webhook_payload_bytes)
  return { id, body: fits ?? write(null, null) }
}

export function buildTestPayload({
  webhook_id,
  tenant_id,
  delivery_id,
  timestamp,
}: {
  readonly webhook_id: string
  readonly tenant_id: string
  readonly delivery_id: string
  readonly timestamp: string
}): DeliveryPayload {
  const id = `evt_${delivery_id}`
  const data = { test: true, message: 'A test delivery', webhook_id }
  const body = JSON.stringify({
    type: 'test',
    event: 'test',
    timestamp,
    id,
    tenant_id,
    generation: null,
    seq: null,
    previous_seq: null,
    breadcrumb_id: null,
    data,
    entry: null,
  })
  return { id, body }
}

const SECRET_PREFIX = 'whsec_'
const PUBLIC_KEY_PREFIX = 'whpk_'

/** @param bytes 32 random bytes */
export const formatSecret = (bytes: Buffer): string => SECRET_PREFIX + bytes.toString('base64')

/** @param public_key 32 bytes Ed25519 */
export const formatPublicKey = (public_key: Uint8Array): string =>
  PUBLIC_KEY_PREFIX + Buffer.from(public_key).toString('base64')

/** The Standard Webhooks `v1` signature: HMAC-SHA256 of the message under the secret's bytes. */
const signSymmetric = (secret: string, message: string): string =>
  `v1,${createHmac('sha256', Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64'))
    .update(message)
    .digest('base64')}`

/** The Standard Webhooks `v1a` signature: Ed25519 of the message. */
const signAsymmetric = (
  signer: { sign(message: Uint8Array): Uint8Array },
  message: string,
): string => `v1a,${Buffer.from(signer.sign(Buffer.from(message))).toString('base64')}`

interface SigningOptions {
  readonly kind: (typeof WEBHOOK_SIGNATURES)[number]
  /** `whsec_…`, current secret first. */
  readonly secrets: readonly string[]
  readonly signer: () => { sign(message: Uint8Array): Uint8Array }
  /** Seconds since 1970. */
  readonly timestamp_s: number
}

/** The headers with which a receiver verifies a body. */
export function signPayload(
  { id, body }: DeliveryPayload,
  { kind, secrets, signer, timestamp_s }: SigningOptions,
): Record<string, string> {
  const message = `${id}.${timestamp_s}.${body}`
  const signatures =
    kind === 'v1a'
      ? [signAsymmetric(signer(), message)]
      : secrets.map((secret) => signSymmetric(secret, message))
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp_s),
    'webhook-signature': signatures.join(' '),
  }
}

/** The headers that verifiers of earlier clients read. Their key is the secret as text. */
export function compatibilityHeaders(
  { event_type, delivery_id }: { readonly event_type: string; readonly delivery_id: string },
  { secret, timestamp_s, body }: { secret: string; timestamp_s: number; body: string },
): Record<string, string> {
  const mac = createHmac('sha256', secret).update(`${timestamp_s}.${body}`).digest('hex')
  return {
    'x-grafomem-event': event_type,
    'x-grafomem-delivery': delivery_id,
    'x-grafomem-signature': `t=${timestamp_s},v1=${mac}`,
  }
}

const known = new Set([...WEBHOOK_EVENTS, '*'])

/**
 * The name under which an endpoint gets an entry, or `null` if it does not. An alias applies only
 * if the endpoint does not subscribe to the event itself.
 */
export function matchEvent(
  events: readonly string[],
  entry: { readonly event_type: string; readonly payload: Readonly<Record<string, unknown>> },
): string | null {
  const { event_type, payload } = entry
  if (events.includes('*') || events.includes(event_type)) return event_type
  for (const [alias, { event, status }] of Object.entries(WEBHOOK_ALIASES))
    if (
      event === event_type &&
      events.includes(alias) &&
      (status === null || payload['status'] === status)
    )
      return alias
  return null
}

/** The positions of unknown event names, each with the nearest known name. */
export const findUnknownEvents = (
  events: readonly string[],
): { readonly position: number; readonly nearest: string }[] =>
  events.flatMap((event, position) =>
    known.has(event) ? [] : [{ position, nearest: nearestEvent(event) }],
  )

function nearestEvent(name: string): string {
  const ranked = WEBHOOK_EVENTS.map((event) => ({ event, distance: editDistance(name, event) }))
  return ranked.reduce((best, next) => (next.distance < best.distance ? next : best)).event
}

/** The Levenshtein distance of two short texts. */
function editDistance(one: string, other: string): number {
  let previous = Array.from({ length: other.length + 1 }, (_, i) => i)
  for (const [i, character] of [...one].entries()) {
    const next = [i + 1]
    for (let j = 0; j < other.length; j += 1) {
      const replaced = (previous[j] ?? 0) + (character === other[j] ? 0 : 1)
      next.push(Math.min(replaced, (previous[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    previous = next
  }
  return previous[other.length] ?? 0
}
