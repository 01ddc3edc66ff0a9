// Examples of webhooks.

import type { Sent } from '../table.ts'
import type { Ids } from '../world.ts'

export const ofWebhook = ({ webhook_id }: Ids) => ({ params: { webhook_id } })
const nothing = () => ({})

/** By operation id. */
export const webhookExamples: Readonly<Record<string, (ids: Ids) => Sent>> = {
  // Of events that need no further scope.
  'webhooks.create': () => ({
    body: { url: 'https://hooks.invalid/', events: ['webhook.disabled', 'webhook.changed'] },
  }),
  'webhooks.list': () => ({ query: { limit: 10, offset: 0 } }),
  'webhooks.event_types': nothing,
  'webhooks.get': ofWebhook,
  'webhooks.update': (ids) => ({ ...ofWebhook(ids), body: { description: 'of the archive' } }),
  'webhooks.delete': ofWebhook,
  'webhooks.rotate_secret': ofWebhook,
  'webhooks.deliveries': (ids) => ({ ...ofWebhook(ids), query: { status: 'pending', limit: 10 } }),
  'webhooks.retry': ({ webhook_id, delivery_id }) => ({ params: { webhook_id, delivery_id } }),
  // Of events that need no further scope.
  'webhooks.replay': (ids) => ({
    ...ofWebhook(ids),
    body: { from_seq: 0, events: ['webhook.changed'] },
  }),
  'webhooks.test': ofWebhook,
}
