// Payment of plans: checkout, events of the payment provider, subscriptions (interface 4.2).

import Type from 'typebox'
import {
  about,
  boolean,
  Nullable,
  OptionalNullable,
  TenantParams,
  text,
  time,
} from '../core/common.ts'
import { operation } from '../core/operation.ts'

/** The statuses, in the order in which a subscription passes through them. */
export const SUBSCRIPTION_STATUSES = [
  'none',
  'checkout_open',
  'trialing',
  'active',
  'canceling',
  'past_due',
  'unpaid',
  'canceled',
] as const
export type SubscriptionStatus = (typeof SUBSCRIPTION_STATUSES)[number]

const Status = Type.Enum(SUBSCRIPTION_STATUSES, {
  title: 'SubscriptionStatus',
  description: 'State of the subscription; `canceling` ends with its period',
})

const ReturnUrl = (description: string) =>
  OptionalNullable(Type.String({ maxLength: 2_048, description }))

const ofTenant = {
  access: 'operator_or_self',
  params: TenantParams,
  status: 200,
} as const

export const billing = {
  checkout: operation({
    id: 'billing.checkout',
    method: 'POST',
    path: '/v1/cloud/billing/checkout',
    summary: 'Opens a checkout page of the payment provider for a plan',
    description: 'Use it to begin a paid plan. The plan changes once the provider was paid.',
    access: 'either',
    scope: 'keys:admin',
    body: Type.Object({
      tenant_id: OptionalNullable(text('The tenant; an operator names it')),
      plan: Type.Optional(
        Type.Enum(['pro'], { default: 'pro', description: 'The plan to pay for' }),
      ),
      success_url: ReturnUrl('Where the page leads after payment: on an allowed origin'),
      cancel_url: ReturnUrl('Where the page leads without payment: on an allowed origin'),
    }),
    body_optional: true,
    example: { plan: 'pro', success_url: 'https://console.example/billing' },
    reply: Type.Object({
      checkout_url: text('The page of the payment provider'),
      session_id: text('Id of the checkout'),
      expires_at: time('When the page closes'),
    }),
    status: 200,
    refuses: [
      'tenant_not_found',
      'tenant_destroyed',
      'rejected',
      'wrong_state',
      'billing_not_configured',
      'payment_unavailable',
    ],
  }),
  webhook: operation({
    id: 'billing.webhook',
    method: 'POST',
    path: '/v1/cloud/billing/webhook',
    summary: 'Takes an event of the payment provider',
    description:
      'The provider calls it, with `Payment-Signature` or `Stripe-Signature`: `t=<unix seconds>,' +
      'v1=<hex HMAC-SHA256 of "<t>.<body>">`. An event is a hint to fetch what it is about.',
    access: 'public',
    raw_body: true,
    headers: {
      'payment-signature': 'Signature of the event',
      'stripe-signature': 'Same as `payment-signature`',
    },
    body_bytes_max: 256 * 1024,
    reply: Type.Object({
      status: Type.Literal('ok', { description: 'The event was taken' }),
      event_type: text('Type of the event'),
    }),
    status: 200,
    refuses: ['payment_signature_invalid', 'billing_not_configured'],
  }),
  subscription: operation({
    ...ofTenant,
    id: 'billing.subscription',
    method: 'GET',
    path: '/v1/cloud/billing/subscription/{tenant_id}',
    summary: 'Returns the subscription of a tenant',
    description: 'Use it to show plan, state and period. Without one the status is `none`.',
    reply: Type.Object({
      tenant_id: Type.String(),
      plan: text('The plan in force'),
      configured: boolean('Whether this service takes payments'),
      status: Status,
      subscription_id: Nullable(text('Id at the payment provider')),
      stripe_subscription_id: Nullable(text('Same as `subscription_id`')),
      current_period_start: Nullable(time('Start of the paid period')),
      current_period_end: Nullable(time('End of the paid period')),
      cancel_at_period_end: boolean('Whether it ends with its period'),
      grace_until: Nullable(time('How long the plan stays in force although payment failed')),
    }),
    refuses: ['tenant_not_found'],
  }),
  cancel: operation({
    ...ofTenant,
    id: 'billing.cancel',
    method: 'POST',
    path: '/v1/cloud/billing/cancel/{tenant_id}',
    summary: 'Cancels the subscription of a tenant',
    description: 'Use it to end a paid plan. Data stay; the limits of `starter` hold afterwards.',
    scope: 'keys:admin',
    body: Type.Object({
      at: Type.Optional(
        Type.Enum(['period_end', 'now'], { default: 'period_end', description: 'When it ends' }),
      ),
    }),
    body_optional: true,
    example: { at: 'period_end' },
    reply: Type.Object({
      tenant_id: Type.String(),
      status: about(Status, '`canceling` or `canceled`'),
    }),
    refuses: [
      'tenant_not_found',
      'subscription_not_found',
      'billing_not_configured',
      'payment_unavailable',
    ],
  }),
  portal: operation({
    ...ofTenant,
    id: 'billing.portal',
    method: 'POST',
    path: '/v1/cloud/billing/portal/{tenant_id}',
    summary: 'Opens the page of the payment provider for invoices and cards',
    description: 'Use it to let a tenant see invoices and change how it pays.',
    scope: 'keys:admin',
    reply: Type.Object({ portal_url: text('The page of the payment provider') }),
    refuses: [
      'tenant_not_found',
      'subscription_not_found',
      'billing_not_configured',
      'payment_unavailable',
    ],
  }),
} as const
