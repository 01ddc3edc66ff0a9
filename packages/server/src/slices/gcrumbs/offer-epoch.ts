// Offers the newest checkpoint of a tenant to each witness (C2SP tlog-witness, add-checkpoint).
//
// One standing job for each tenant, in the queue of outbound work: a witness keeps nothing waiting
// but this job.

import {
  appendLines,
  formatAddCheckpoint,
  parseWitnessKey,
  verifyCosignatures,
} from '@custos/proof'
import type { JobRunner } from '../../platform/jobs/queue.ts'
import type { Kernel, WitnessPolicy } from '../../platform/kernel/kernel.ts'
import { type EpochRow, findLastEpoch } from './chain.sql.ts'
import { findLastCosignature, insertCosignature, listCosignatures } from './cosignatures.sql.ts'
import { retryAfter } from './cosignatures.ts'
import { prefixPath } from './tree.ts'

/** A witness that names another size each time is given up until the next offer. */
const REPLY_BYTES_MAX = 4 * 1024
const TRIES_MAX = 3
/** How far the clock of a witness may be ahead. */
const AHEAD_S_MAX = 600
const SECOND_US = 1_000_000

interface EpochOffer {
  readonly tenant_id: string
  readonly epoch: EpochRow
  readonly witness: WitnessPolicy['witnesses'][number]
  readonly signal: AbortSignal
}

/** Waits until it is woken once every witness has cosigned the newest epoch. */
export const epochOfferer =
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
    // What the data store refused is tried again like what a witness refused.
    const missing = ended.filter((each) => each.status === 'rejected' || !each.value)
    if (missing.length === 0) return { again_ms: null }
    return { again_ms: retryAfter(kernel, epoch) }
  }

/** Whether the witness cosigned it. What it did otherwise is logged and changes nothing. */
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
      keep_bytes: REPLY_BYTES_MAX,
      signal,
    })
    if ('fault' in reply) return reply.fault
    const { status } = reply
    const text = reply.body?.toString() ?? ''
    if (status === 200) return storeCosignature(kernel, given, text)
    if (status !== 409) return `status_${status}`
    const told = /^(?:0|[1-9][0-9]{0,15})\n$/.test(text) ? Number(text) : Number.NaN
    if (!Number.isSafeInteger(told)) return 'conflict'
    // It cosigned a tree of this size with another root.
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
    // The lines are the witness's.
    return undefined
  }
}
