// Has the newest checkpoint of a tenant dated by an authority (RFC 3161).
//
// One standing job for each tenant, in the queue of outbound work. An older checkpoint that has no
// timestamp is dated by that of a newer one, whose log extends its own.

import type { X509Certificate } from 'node:crypto'
import type { JobRunner } from '../../platform/jobs/queue.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import {
  timestampRequest,
  verifyTimestampReply,
} from '../../platform/timestamps/timestamp-token.ts'
import { type EpochRow, findLastEpoch } from './chain.sql.ts'
import { findTimestamp, insertTimestamp } from './cosignatures.sql.ts'
import { OFFER_EPOCHS, retryAfter, STAMP_EPOCHS } from './cosignatures.ts'
import { epochOfferer } from './offer-epoch.ts'

const NONCE_BYTES = 8
/** A token has the certificates of its authority; with four of them it has some 8 KiB. */
const REPLY_BYTES_MAX = 32 * 1024
/** How far the clock of the authority may be from ours. */
const OFF_US_MAX = 600 * 1_000_000

export function registerLogJobs(kernel: Kernel): void {
  kernel.jobs.register(OFFER_EPOCHS, epochOfferer(kernel), { queue: 'outbound' })
  kernel.jobs.register(STAMP_EPOCHS, epochStamper(kernel), { queue: 'outbound' })
}

/** Waits until it is woken once the newest epoch has a timestamp. */
const epochStamper =
  (kernel: Kernel): JobRunner =>
  async ({ job: { tenant_id }, signal, ...context }) => {
    const { url = null, certificates = [] } = kernel.settings.timestamps ?? {}
    if (url === null) return undefined
    const known = await kernel.db.read(tenant_id, async (db) => {
      const newest = await findLastEpoch(db)
      return newest && { newest, stamp: await findTimestamp(db, newest.epoch_number) }
    })
    if (!known || known.stamp) return { again_ms: null }
    const { newest: epoch } = known
    const authority = { url, trusted: certificates }
    const reason = await stamp(kernel, { tenant_id, epoch, authority, signal })
    if (context.stopping) return { again_ms: 0 }
    if (reason === null) return { again_ms: null }
    const { epoch_number } = epoch
    kernel.logger.warn('epoch.not_stamped', { tenant_id, epoch_number, reason })
    return { again_ms: retryAfter(kernel, epoch) }
  }

/** Null: it is stored. Otherwise the reason, one of a closed list of words. */
async function stamp(
  kernel: Kernel,
  asked: {
    readonly tenant_id: string
    readonly epoch: EpochRow
    readonly authority: { readonly url: string; readonly trusted: readonly X509Certificate[] }
    readonly signal: AbortSignal
  },
): Promise<string | null> {
  const { tenant_id, epoch, authority, signal } = asked
  const message = Buffer.from(epoch.checkpoint)
  const nonce = Buffer.from(kernel.ids.hex(NONCE_BYTES), 'hex')
  const reply = await kernel.egress.send(authority.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/timestamp-query',
      'user-agent': `Custos/${kernel.settings.version}`,
    },
    body: timestampRequest(message, nonce),
    keep_bytes: REPLY_BYTES_MAX,
    signal,
  })
  if ('fault' in reply) return reply.fault
  if (reply.status !== 200) return `status_${reply.status}`
  const { trusted } = authority
  const answer = reply.body ?? Buffer.alloc(0)
  const verdict = verifyTimestampReply(answer, { message, trusted, nonce })
  if (!verdict.ok) return verdict.reason
  const { token, stamped_us } = verdict
  const off_us = stamped_us - kernel.clock.now()
  if (off_us > OFF_US_MAX) return 'clock_ahead'
  if (off_us < -OFF_US_MAX) return 'clock_behind'
  const { epoch_number } = epoch
  await kernel.db.transact(tenant_id, (tx) =>
    insertTimestamp(tx, { epoch_number, token, stamped_us, created_us: tx.now() }),
  )
  return null
}
