// A webhook whose host does not exist, so that nothing leaves.

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import type { Tenant } from './tenant.ts'

/** An endpoint with one delivery. */
export async function buildWebhook(tenant: Tenant, word: string) {
  const { webhook_id } = await tenant.ok('webhooks.create', {
    body: {
      url: `https://hooks.invalid/${word}`,
      description: `${word} wants to know`,
      // Once, and never again.
      events: ['tenant.created'],
      from_seq: 0,
    },
  })
  const params = { webhook_id }
  for (let attempt = 0; attempt < 400; attempt += 1) {
    const { deliveries } = await tenant.ok('webhooks.deliveries', { params })
    const [delivery] = deliveries
    if (delivery) return { webhook_id, delivery_id: String(delivery.delivery_id) }
    await delay(10)
  }
  return assert.fail('no delivery was made')
}
