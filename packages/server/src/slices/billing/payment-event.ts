// Events of the payment provider: HMAC-SHA256 over time and body signs them, as Stripe does
// (https://docs.stripe.com/webhooks#verify-manually), and of what they say only ids count.

import { createHmac, timingSafeEqual } from 'node:crypto'
import { Refusal } from '../../platform/refusal.ts'

const TOLERANCE_S = 300
/** A header with more signatures than this is not of a provider. */
const SIGNATURES_MAX = 16

/** Whether the header signs the body with one of the secrets, at most five minutes from `now_s`. */
export function isSigned(
  header: string,
  body: Uint8Array,
  { secrets, now_s }: { readonly secrets: readonly string[]; readonly now_s: number },
): boolean {
  const parts = header.split(',').map((part) => part.trim().split('=', 2))
  const time = parts.find(([name]) => name === 't')?.[1] ?? ''
  if (!/^\d{1,12}$/.test(time) || Math.abs(now_s - Number(time)) > TOLERANCE_S) return false
  const given = parts.flatMap(([name, value = '']) => (name === 'v1' ? [value] : []))
  const signatures = given
    .filter((value) => /^[0-9a-f]{64}$/.test(value))
    .slice(0, SIGNATURES_MAX)
    .map((value) => Buffer.from(value, 'hex'))
  const expected = secrets.map((secret) =>
    createHmac('sha256', secret).update(`${time}.`).update(body).digest(),
  )
  // Every pair is compared: the time tells nothing of which secret it was.
  const matches = signatures.flatMap((one) => expected.map((other) => timingSafeEqual(one, other)))
  return matches.includes(true)
}

export interface PaymentEvent {
  readonly event_id: string
  readonly type: string
  readonly created_us: number
  /** Ids of what it is about: the checkout, the subscription, the customer. */
  readonly object_ids: readonly string[]
}

const ID = /^[A-Za-z0-9_.:-]{1,255}$/

/** Refuses `payment_signature_invalid` where the signed bytes are no event. */
export function parseEvent(body: Uint8Array): PaymentEvent {
  const event = parseObject(Buffer.from(body).toString('utf8'))
  const data = memberOf(memberOf(event, 'data'), 'object')
  const { id, type, created } = event
  const isEvent = typeof id === 'string' && ID.test(id) && typeof type === 'string' && ID.test(type)
  if (!isEvent) throw new Refusal('payment_signature_invalid')
  const ids = [data['id'], data['subscription'], data['customer']]
  const object_ids = ids.filter((one) => typeof one === 'string').filter((one) => ID.test(one))
  const created_us = typeof created === 'number' ? Math.floor(created) * 1_000_000 : 0
  if (!Number.isSafeInteger(created_us) || created_us < 0)
    throw new Refusal('payment_signature_invalid')
  return { event_id: id, type, created_us, object_ids }
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    return memberOf({ parsed: JSON.parse(text) }, 'parsed')
  } catch {
    return {}
  }
}

function memberOf(of: Readonly<Record<string, unknown>>, name: string): Record<string, unknown> {
  const value = of[name]
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
