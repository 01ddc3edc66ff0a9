// Cosignatures and timestamp of a checkpoint: how replies show them, whether the cosignatures
// satisfy the witness policy, and the jobs that obtain them: each witness cosigns the newest one
// (C2SP tlog-witness, add-checkpoint), and an authority dates it (RFC 3161).
//
// Each tenant has one standing job of each kind, in the queue of outbound work. A slow witness
// delays only its job. The timestamp of a newer checkpoint also dates older ones without a
// timestamp, because its log extends theirs.

import type { X509Certificate } from 'node:crypto'
import type { Epoch } from '@custos/contract'
import {
  addSignatures,
  appendLines,
  assembleNote,
  formatAddCheckpoint,
  type NoteSignature,
  parseWitnessKey,
  verifyCosignatures,
} from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import { findOpenJobs } from '../../platform/db/jobs.sql.ts'
import type { Row } from '../../platform/db/schema/tables.ts'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import type { JobRunner } from '../../platform/jobs/queue.ts'
import type { Kernel, WitnessPolicy } from '../../platform/kernel/kernel.ts'
import {
  timestampRequest,
  verifyTimestampReply,
} from '../../platform/timestamps/timestamp-token.ts'
import { type EpochRow, type findEpoch, findLastEpoch, insertEpoch } from './chain.sql.ts'
import {
  findLastCosignature,
  findTimestamp,
  insertCosignature,
  insertTimestamp,
  listCosignatures,
} from './cosignatures.sql.ts'
import { prefixPath } from './tree.ts'

const OFFER_EPOCHS = 'epochs.offer'
const STAMP_EPOCHS = 'epochs.timestamp'
/** Kinds of jobs that continue after their tenant is destroyed, as the log stays. No payload. */
export const LOG_JOBS = [OFFER_EPOCHS, STAMP_EPOCHS]

const SECOND_US = 1_000_000

/**
 * A witness that did not answer is retried after a delay equal to the checkpoint's age, within
 * these bounds.
 */
const RETRY_MS_MIN = 1_000
const RETRY_MS_MAX = 10 * 60_000

const retryDelayMs = ({ clock }: Kernel, { created_us }: EpochRow): number =>
  Math.min(RETRY_MS_MAX, Math.max(RETRY_MS_MIN, (clock.now() - created_us) / 1_000))

const signatureOf = ({ witness, signature }: Row<'cosignatures'>): NoteSignature => {
  const { name, keyHash } = parseWitnessKey(witness)
  return { name, keyHash, signature }
}

/** Whether the cosignatures satisfy the policy; `null` without a policy. */
export function isWitnessed(
  policy: WitnessPolicy | null,
  rows: readonly Pick<Row<'cosignatures'>, 'witness'>[],
): boolean | null {
  if (!policy) return null
  const signed = new Set(rows.map(({ witness }) => witness))
  return policy.witnesses.filter(({ key }) => signed.has(key)).length >= policy.required
}

/**
 * The fields of an epoch in a reply that show its cosignatures and its timestamp. Reads nothing if
 * the row says that there are none.
 */
export async function showCosignatures(
  { settings }: Kernel,
  db: TenantDb,
  row: Pick<EpochRow, 'epoch_number'> &
    Partial<Pick<NonNullable<Awaited<ReturnType<typeof findEpoch>>>, 'cosigned_us' | 'stamped_us'>>,
): Promise<Pick<Epoch, 'cosignatures' | 'witnessed' | 'timestamp'>> {
  const { epoch_number, cosigned_us, stamped_us } = row
  const rows = cosigned_us === null ? [] : await listCosignatures(db, epoch_number)
  const cosignatures = rows.map((row) => ({
    witness: row.witness,
    signed_at: formatTime(row.signed_s * SECOND_US),
    // A signature line of a note: the note has the text `-` and this single signature.
    line: assembleNote('-\n', [signatureOf(row)])
      .trimEnd()
      .slice(3),
  }))
  const stamp = stamped_us === null ? undefined : await findTimestamp(db, epoch_number)
  const timestamp = stamp && {
    stamped_at: formatTime(stamp.stamped_us),
    token: Buffer.from(stamp.token).toString('base64'),
  }
  const witnessed = isWitnessed(settings.witnesses, rows)
  return { cosignatures, witnessed, timestamp: timestamp ?? null }
}

/** The checkpoint of an epoch as a note with all its cosignatures. */
export async function loadCosignedCheckpoint(
  db: TenantDb,
  { epoch_number, checkpoint }: EpochRow,
): Promise<string> {
  const rows = await listCosignatures(db, epoch_number)
  return rows.length === 0 ? checkpoint : addSignatures(checkpoint, rows.map(signatureOf))
}

/**
 * Stores a signed checkpoint and starts the jobs that have it cosigned and timestamped, if
 * configured.
 */
export async function storeEpoch({ settings, jobs }: Kernel, tx: Tx, epoch: EpochRow) {
  const stored = await insertEpoch(tx, epoch)
  if (stored === 'exists') return
  const kinds = [
    ...(settings.witnesses === null ? [] : [OFFER_EPOCHS]),
    ...((settings.timestamps?.url ?? null) === null ? [] : [STAMP_EPOCHS]),
  ]
  for (const kind of kinds) {
    const [open] = await findOpenJobs(tx, kind)
    if (open) await jobs.wake(tx, open.job_id)
    else await jobs.enqueue(tx, kind, {})
  }
}

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

const WITNESS_REPLY_BYTES_MAX = 4 * 1024
/** A witness that reports another size each time is abandoned until the next offer. */
const TRIES_MAX = 3
/** Maximum that the clock of a witness may be ahead. */
const AHEAD_S_MAX = 600

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

/** Null: it is stored. Otherwise the reason, one of a closed list of words. */
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
