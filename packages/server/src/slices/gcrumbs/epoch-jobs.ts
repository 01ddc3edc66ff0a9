// The jobs of checkpoints: each witness cosigns the newest one (C2SP tlog-witness, add-checkpoint),
// and an authority timestamps it (RFC 3161).
//
// Each tenant has one standing job of each kind, in the queue of outbound work. A slow witness
// delays only its job. The timestamp of a newer checkpoint also dates older ones without a
// timestamp, because its log extends theirs.

import type { X509Certificate } from 'node:crypto'
import {
  appendLines,
  formatAddCheckpoint,
  parseWitnessKey,
  verifyCosignatures,
} from '@custos/proof'
import type { JobRunner } from '../../platform/jobs/queue.ts'
import type { Kernel, WitnessPolicy } from '../../platform/kernel/kernel.ts'
import {
  timestampRequest,
  verifyTimestampReply,
} from '../../platform/timestamps/timestamp-token.ts'
import { type EpochRow, findLastEpoch } from './chain.sql.ts'
import {
  findLastCosignature,
  findTimestamp,
  insertCosignature,
  insertTimestamp,
  listCosignatures,
} from './cosignatures.sql.ts'
import { OFFER_EPOCHS, retryDelayMs, STAMP_EPOCHS } from './cosignatures.ts'
import { prefixPath } from './tree.ts'

const NONCE_BYTES = 8
/** A token contains the certificates of its authority; with four of them it has about 8 KiB. */
const REPLY_BYTES_MAX = 32 * 1024
/** Maximum difference between the clocks of the authority and of the service. */
const OFF_US_MAX = 600 * 1_000_000

export function registerLogJobs(kernel: Kernel): void {
  kernel.jobs.register(OFFER_EPOCHS, epochOfferer(kernel), { queue: 'outbound' })
  kernel.jobs.register(STAMP_EPOCHS, epochStamper(kernel), { queue: 'outbound' })
}

/** Waits to be woken once the newest epoch has a timestamp. */
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
    return { again_ms: retryDelayMs(kernel, epoch) }
  }

/** Returns null if the timestamp is stored, else the reason, from a closed list of words. */
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

const WITNESS_REPLY_BYTES_MAX = 4 * 1024
/** A witness that reports another size each time is abandoned until the next offer. */
const TRIES_MAX = 3
/** Maximum that the clock of a witness may be ahead. */
const AHEAD_S_MAX = 600
const SECOND_US = 1_000_000

interface EpochOffer {
  readonly tenant_id: string
  readonly epoch: EpochRow
  readonly witness: WitnessPolicy['witnesses'][number]
  readonly signal: AbortSignal
}

/** Waits to be woken once every witness has cosigned the newest epoch. */
const epochOfferer =
  (kernel: Kernel): JobRunner =>
  async ({ job: { tenant_id }, signal, ...context }) => {
    const policy = kernel.settings.witnesses
    if (!policy) return undefined
    const known = await kernel.db.read(tenant_id, async (db) => {
      const newest = await findLastEpoch(db)
      return newest && { newest, rows: await listCosignatures(db, newest.epoch_number) }
    })
    if (!known) return { again_ms: null }
    const { newest: epoch, rows } = known
    const left = policy.witnesses.filter(({ key }) => !rows.some(({ witness }) => witness === key))
    const offers = left.map((witness) => offer(kernel, { tenant_id, epoch, witness, signal }))
    const ended = await Promise.allSettled(offers)
    if (context.stopping) return { again_ms: 0 }
    // A refusal of the data store is retried like a refusal of a witness.
    const missing = ended.filter((each) => each.status === 'rejected' || !each.value)
    if (missing.length === 0) return { again_ms: null }
    return { again_ms: retryDelayMs(kernel, epoch) }
  }

/** Returns whether the witness cosigned the epoch. Other results are logged and change nothing. */
async function offer(kernel: Kernel, given: EpochOffer): Promise<boolean> {
  const reason = await sendOffer(kernel, given)
  if (reason === null) return true
  const { name } = parseWitnessKey(given.witness.key)
  const { tenant_id, epoch } = given
  const { epoch_number } = epoch
  kernel.logger.warn('witness.not_cosigned', { tenant_id, epoch_number, witness: name, reason })
  return false
}

/** Returns null if the cosignature is stored, else the reason, from a closed list of words. */
async function sendOffer(kernel: Kernel, given: EpochOffer): Promise<string | null> {
  const { tenant_id, epoch, witness, signal } = given
  const last = await kernel.db.read(tenant_id, (db) =>
    findLastCosignature(db, witness.key, epoch.generation),
  )
  let old_size = last?.tree_size ?? 0
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const body = await requestBody(kernel, given, old_size)
    const reply = await kernel.egress.send(`${witness.url}/add-checkpoint`, {
      method: 'POST',
      headers: {
        'content-type': 'text/plain; charset=utf-8',
        'user-agent': `Custos/${kernel.settings.version}`,
      },
      body,
      keep_bytes: WITNESS_REPLY_BYTES_MAX,
      signal,
    })
    if ('fault' in reply) return reply.fault
    const { status } = reply
    const text = reply.body?.toString() ?? ''
    if (status === 200) return storeCosignature(kernel, given, text)
    if (status !== 409) return `status_${status}`
    const told = /^(?:0|[1-9][0-9]{0,15})\n$/.test(text) ? Number(text) : Number.NaN
    if (!Number.isSafeInteger(told)) return 'conflict'
    // The witness cosigned a tree of this size with another root.
    if (told === old_size) return 'conflict'
    if (told > epoch.tree_size) return 'witness_ahead'
    old_size = told
  }
  return 'unstable_size'
}

async function requestBody(
  kernel: Kernel,
  { tenant_id, epoch }: EpochOffer,
  oldSize: number,
): Promise<string> {
  const path = await kernel.db.read(tenant_id, (db) => prefixPath(kernel, db, epoch, oldSize))
  return formatAddCheckpoint({ oldSize, path, checkpoint: epoch.checkpoint })
}

async function storeCosignature(
  kernel: Kernel,
  { tenant_id, epoch, witness }: EpochOffer,
  lines: string,
): Promise<string | null> {
  const verdict = await verifyReply(epoch.checkpoint, witness.key, lines)
  if (!verdict?.ok || !verdict.line || verdict.timestamp === undefined) return 'not_a_cosignature'
  const { timestamp: signed_s, line } = verdict
  if (signed_s > kernel.clock.now() / SECOND_US + AHEAD_S_MAX) return 'clock_ahead'
  const { epoch_number, generation, tree_size } = epoch
  await kernel.db.transact(tenant_id, (tx) =>
    insertCosignature(tx, {
      epoch_number,
      witness: witness.key,
      generation,
      tree_size,
      signature: line.signature,
      signed_s,
      created_us: tx.now(),
    }),
  )
  return null
}

async function verifyReply(checkpoint: string, key: string, lines: string) {
  try {
    const [verdict] = await verifyCosignatures(appendLines(checkpoint, lines), [key])
    return verdict
  } catch {
    // A witness controls these lines.
    return undefined
  }
}
