// Webhooks: handlers, the job of each endpoint, and what follows the log for them.

import type { webhooks } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import {
  createWebhook,
  deleteWebhookById,
  rotateSecret,
  updateWebhookById,
} from './change-webhooks.ts'
import { endpointDeliverer } from './deliver.ts'
import { WEBHOOK_DELIVER } from './endpoint.ts'
import { getOne, listAll, listEventTypes, listOfWebhook } from './reads.ts'
import { logReplayer, replayLog, retryDelivery, testWebhook, WEBHOOK_REPLAY } from './send-again.ts'

export { webhookTextSource } from './endpoint.ts'
export {
  deleteEndedDeliveries,
  followEndpoints,
  followNewEndpoints,
  stopFollowing,
} from './wake.ts'

export const webhooksHandlers = {
  create: createWebhook,
  list: listAll,
  event_types: listEventTypes,
  get: getOne,
  update: updateWebhookById,
  delete: deleteWebhookById,
  rotate_secret: rotateSecret,
  deliveries: listOfWebhook,
  retry: retryDelivery,
  replay: replayLog,
  test: testWebhook,
} satisfies HandlersOf<typeof webhooks>

export function registerWebhookJobs(kernel: Kernel): void {
  kernel.jobs.register(WEBHOOK_DELIVER, endpointDeliverer(kernel), { queue: 'outbound' })
  kernel.jobs.register(WEBHOOK_REPLAY, logReplayer(kernel))
}
