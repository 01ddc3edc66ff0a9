// Epochs: checkpoints of a tenant's log in C2SP form, signed once per origin and size. A log that
// does not extend its last checkpoint was restored, and continues under a new origin.

import type { Epoch, EventPayload, gcrumbs } from '@custos/contract'
import {
  assembleNote,
  decodeFrontier,
  formatCheckpointBody,
  frontierRoot,
  noteKeyHash,
} from '@custos/proof'
import { sha256, toHex } from '../../platform/bytes.ts'
import { formatTime } from '../../platform/clock.ts'
import { listServedIds } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { Row } from '../../platform/db/schema/tables.ts'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../platform/kernel/call.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { runUnderLease } from '../../platform/kernel/leases.ts'
import type { StoredCheckpoint } from '../../platform/keys/keyring.ts'
import { Refusal } from '../../platform/refusal.ts'
import { appendCrumb, loadHead, raiseGeneration } from './append.ts'
import {
  type EpochRow,
  findEpoch,
  findEpochBefore,
  findEpochs,
  findHead,
  findLastEpoch,
  listEntries,
  listGrownLogs,
} from './chain.sql.ts'
import { showCosignatures, storeEpoch } from './cosignatures.ts'
import { fitsLog, prefixPath } from './tree.ts'

/** `<origin>/<tenant_id>[/<generation>]`, without the generation if it is 0. */
export function originOf(kernel: Kernel, tenant_id: string, generation: number): string {
  const base = `${kernel.settings.origin}/${tenant_id}`
  return generation === 0 ? base : `${base}/${generation}`
}

/** The epoch as replies show it: the row, its origin and the proof from the previous epoch. */
export async function showEpoch(kernel: Kernel, db: TenantDb, row: EpochRow): Promise<Epoch> {
  const before = await findEpochBefore(db, row)
  const root = toHex(row.root_hash)
  const consistency = before && {
    from_epoch: before.epoch_number,
    from_size: before.tree_size,
    path: (await prefixPath(kernel, db, row, before.tree_size)).map(toHex),
  }
  return {
    epoch_number: row.epoch_number,
    generation: row.generation,
    origin: originOf(kernel, db.tenant_id, row.generation),
    tree_size: row.tree_size,
    root_hash: root,
    checkpoint: row.checkpoint,
    consistency: consistency ?? null,
    ...(await showCosignatures(kernel, db, row)),
    created_at: formatTime(row.created_us),
    merkle_root: root,
    n_leaves: row.tree_size,
  }
}

const rolls = perKernel(() => new Map<string, Promise<unknown>>())

/** Rolls of one tenant run one after another, across all processes. */
export async function rollEpoch(kernel: Kernel, tenant_id: string): Promise<Epoch> {
  const { row, rolled } = await inTurn(kernel, tenant_id, () => rollNow(kernel, tenant_id))
  const epoch = await kernel.db.read(tenant_id, (db) => showEpoch(kernel, db, row))
  return { ...epoch, rolled }
}

/** After this many consecutive failures the database is considered unavailable. */
const FAILED_MAX = 5

/** Tenants whose log could not be signed at the last attempt, least recent failure first. */
const failing = perKernel(() => new Set<string>())

/**
 * For the timer: signs a checkpoint for every tenant whose log has grown. Tenants that failed last
 * time come last, so that they do not delay other tenants. Stops after FAILED_MAX consecutive
 * failures. Throws the last failure.
 */
export async function rollGrownLogs(kernel: Kernel, stopping: AbortSignal): Promise<void> {
  const tenants = await kernel.db.read(PLATFORM, listServedIds)
  const grown = new Set(await listGrownLogs(kernel.db, tenants))
  const failed = failing(kernel)
  for (const tenant_id of failed) if (!grown.has(tenant_id)) failed.delete(tenant_id)
  const ordered = [...[...grown].filter((tenant_id) => !failed.has(tenant_id)), ...failed]
  let [failures, last]: [number, unknown] = [0, undefined]
  for (const tenant_id of ordered) {
    if (stopping.aborted || failures === FAILED_MAX) break
    failed.delete(tenant_id)
    try {
      await inTurn(kernel, tenant_id, () => rollNow(kernel, tenant_id))
      failures = 0
    } catch (error) {
      failed.add(tenant_id)
      last = error
      failures += 1
    }
  }
  if (last !== undefined) throw last
}

/**
 * Waits for running rolls. If the last signed epoch covers only a part of the log and the table
 * lacks it, stores it. After that, the table has every epoch that covers fewer entries than the log
 * had at the call, so later epochs cover at least those entries. Returns the checkpoint that the
 * keyring signed last.
 */
export const storePendingEpochs = (
  kernel: Kernel,
  tenant_id: string,
): Promise<StoredCheckpoint | null> =>
  inTurn(kernel, tenant_id, async () => {
    const head = await kernel.db.read(tenant_id, findHead)
    const stored = await kernel.keyring.checkpoints.last(tenant_id)
    if (head && !(await lacksSigned(kernel, tenant_id, { head, stored })))
      await republishOf(kernel, tenant_id, { head, stored })
    return stored
  })

function inTurn<T>(kernel: Kernel, tenant_id: string, act: () => Promise<T>): Promise<T> {
  const waiting = rolls(kernel)
  const before = waiting.get(tenant_id) ?? Promise.resolve()
  const next = () => runUnderLease(kernel, `roll/${tenant_id}`, act)
  const roll = before.then(next, next)
  waiting.set(tenant_id, roll)
  const forget = () => {
    if (waiting.get(tenant_id) === roll) waiting.delete(tenant_id)
  }
  roll.then(forget, forget)
  return roll
}

// Signs only rows that are already durable, and stores each signature in the keyring before anybody
// sees it, so that no crash can make a second tree for one origin and size.
// `rolled` says whether there was something new to sign.
async function rollNow(
  kernel: Kernel,
  tenant_id: string,
): Promise<{ row: EpochRow; rolled: boolean }> {
  const [head, last] = await kernel.db.read(tenant_id, async (db) => [
    await findHead(db),
    await findLastEpoch(db),
  ])
  if (!head || head.size === 0) throw new Refusal('chain_empty')
  if (last && last.generation === head.generation && last.tree_size === head.size)
    return { row: last, rolled: false }
  const stored = await kernel.keyring.checkpoints.last(tenant_id)
  if (await lacksSigned(kernel, tenant_id, { head, stored })) {
    kernel.logger.error('log.lacks_signed_entries', { tenant_id, advice: 'restart every process' })
    const retry_after_s = 60
    throw new Refusal('unavailable', 'the log lacks signed entries', { retry_after_s })
  }
  // The next signature replaces the last checkpoint in the keyring. If the table did not have that
  // checkpoint by then, its epoch number would be missing for ever.
  await republishOf(kernel, tenant_id, { head, stored })
  const last_number = last?.epoch_number ?? 0
  const epoch = await signHead(kernel, tenant_id, { head, last_number, stored })
  await kernel.db.transact(tenant_id, (tx) => storeEpoch(kernel, tx, epoch))
  return { row: epoch, rolled: true }
}

/**
 * A log that does not extend the checkpoint was replaced under a running service by a backup or a
 * standby that lacks its last entries. A signature over it would prove a fork. The next start
 * continues it under a new origin, in a later generation.
 */
async function lacksSigned(
  kernel: Kernel,
  tenant_id: string,
  { head, stored }: Pick<CheckpointDraft, 'head' | 'stored'>,
): Promise<boolean> {
  if (!stored || head.generation > stored.generation) return false
  return !(await kernel.db.read(tenant_id, (db) => fitsLog(db, stored)))
}

/**
 * Stores the last checkpoint of the keyring if it covers only a part of the log. If it covers the
 * whole log, the next roll stores it.
 */
async function republishOf(
  kernel: Kernel,
  tenant_id: string,
  { head, stored }: Pick<CheckpointDraft, 'head' | 'stored'>,
): Promise<void> {
  if (stored?.generation === head.generation && stored.tree_size < head.size)
    await republish(kernel, tenant_id, stored)
}

/** A crash or failure between signing and storing leaves an epoch that only the keyring knows. */
async function republish(
  kernel: Kernel,
  tenant_id: string,
  stored: StoredCheckpoint,
): Promise<void> {
  const { epoch_number, generation, tree_size, checkpoint } = stored
  const known = await kernel.db.read(tenant_id, (db) => findEpoch(db, epoch_number))
  if (known) return
  const root_hash = Buffer.from(stored.root_hash, 'hex')
  const row = { epoch_number, generation, tree_size, root_hash, checkpoint }
  await kernel.db.transact(tenant_id, (tx) =>
    storeEpoch(kernel, tx, { ...row, created_us: tx.now() }),
  )
}

interface CheckpointDraft {
  readonly head: Row<'chain_heads'>
  readonly last_number: number
  /** The last checkpoint that the keyring signed. */
  readonly stored: StoredCheckpoint | null
}

async function signHead(
  kernel: Kernel,
  tenant_id: string,
  { head, last_number, stored }: CheckpointDraft,
): Promise<EpochRow> {
  const { generation, size: tree_size } = head
  const root_hash = frontierRoot(decodeFrontier(head.frontier), sha256)
  const checkpoint = signCheckpoint(kernel, {
    origin: originOf(kernel, tenant_id, generation),
    size: tree_size,
    root: root_hash,
  })
  const again = stored?.generation === generation && stored.tree_size === tree_size
  const epoch_number = again
    ? stored.epoch_number
    : Math.max(last_number, stored?.epoch_number ?? 0) + 1
  await kernel.keyring.checkpoints.save(tenant_id, {
    generation,
    epoch_number,
    tree_size,
    root_hash: toHex(root_hash),
    checkpoint,
  })
  const created_us = kernel.clock.now()
  return { epoch_number, generation, tree_size, root_hash, checkpoint, created_us }
}

function signCheckpoint(
  kernel: Kernel,
  tree: { origin: string; size: number; root: Uint8Array },
): string {
  const signer = kernel.keyring.signer('checkpoint')
  const body = formatCheckpointBody(tree)
  const signature = signer.sign(Buffer.from(body))
  const keyHash = noteKeyHash(tree.origin, signer.public_key)
  return assembleNote(body, [{ name: tree.origin, keyHash, signature }])
}

/**
 * The log at the first request with an idempotency key. It determines the epoch that this request
 * and its retries return.
 */
interface RollSnapshot {
  readonly generation: number
  readonly size: number
  /** Whether there was something new to sign. */
  readonly rolled: boolean
}

// Signing waits for the disk, which a unit of work must not do, so the unit of work only claims the
// idempotency key.
export const roll: Handler<typeof gcrumbs.roll> = async (call) => {
  const repeated = await call.once<RollSnapshot | null>({
    run: async (tx) => ({ reply: null, ids: { ...(await findAsked(tx)) } }),
    replay: async (_tx, { generation, size, rolled }) => ({
      generation: Number(generation),
      size: Number(size),
      rolled: rolled === true,
    }),
  })
  if (repeated === null) return rollEpoch(call.kernel, call.tenant_id)
  const answer = await findAnswer(call, repeated)
  if (answer) return answer
  // The first request has not signed yet, or was interrupted before it could.
  const epoch = await rollEpoch(call.kernel, call.tenant_id)
  return (await findAnswer(call, repeated)) ?? epoch
}

async function findAsked(tx: Tx): Promise<RollSnapshot> {
  const { generation, frontier } = await loadHead(tx)
  if (frontier.size === 0) throw new Refusal('chain_empty')
  const last = await findLastEpoch(tx)
  const rolled = last?.generation !== generation || last.tree_size !== frontier.size
  return { generation, size: frontier.size, rolled }
}

const findAnswer = (
  call: Call<typeof gcrumbs.roll>,
  asked: RollSnapshot,
): Promise<Epoch | undefined> =>
  call.read(async (db) => {
    const epochs = await findEpochs(db, asked.size)
    const row = epochs.find(({ generation }) => generation === asked.generation)
    return row && { ...(await showEpoch(call.kernel, db, row)), rolled: asked.rolled }
  })

/**
 * Compares the log with the last checkpoint that the keyring holds or has taken from the ledger
 * copy. A log that does not extend it, or that lacks a certificate, was restored from a backup: it
 * continues under the next generation, whose first entry carries the last checkpoint of the old
 * one. Call it before serving. `generation_floor` is set if the keyring is from a backup. Since
 * that backup, checkpoints that it does not know may have been signed, so a log with entries always
 * continues in a generation above the floor.
 */
export async function reconcileLog(
  kernel: Kernel,
  tenant_id: string,
  options: { certificates_missing: boolean; generation_floor?: number },
): Promise<'intact' | 'restored'> {
  const stored = await kernel.keyring.checkpoints.last(tenant_id)
  const fits = await kernel.db.read(
    tenant_id,
    async (db) =>
      (await fitsLog(db, stored)) &&
      (options.generation_floor === undefined || !(await findHead(db))),
  )
  if (fits && !options.certificates_missing) {
    if (stored) await republish(kernel, tenant_id, stored)
    return 'intact'
  }
  await continueRestored(kernel, tenant_id, { stored, floor: options.generation_floor ?? 0 })
  kernel.logger.warn('log.restored', { tenant_id })
  await rollEpoch(kernel, tenant_id)
  return 'restored'
}

async function continueRestored(
  kernel: Kernel,
  tenant_id: string,
  { stored, floor }: { stored: StoredCheckpoint | null; floor: number },
): Promise<void> {
  await kernel.db.transact(tenant_id, async (tx) => {
    const head = await findHead(tx)
    const generation = Math.max(head?.generation ?? 0, stored?.generation ?? 0, floor) + 1
    await raiseGeneration(tx, generation)
    await appendCrumb(tx, {
      event_type: 'log.restored',
      subject: tenant_id,
      payload: {
        generation,
        epoch_number: stored?.epoch_number ?? 0,
        tree_size: stored?.tree_size ?? 0,
        root_hash: stored?.root_hash ?? null,
      },
    })
  })
}

/** The generation of the entry before a log position. */
export async function generationAt(db: TenantDb, seq: number): Promise<number> {
  const head = await findHead(db)
  if (!head || head.generation === 0) return 0
  const filter = { first_seq: 0, limit: head.generation, events: ['log.restored'] } as const
  const last = (await listEntries(db, filter, seq)).at(-1)
  return last ? restoredGeneration(last) : 0
}

/** The generation that a `log.restored` entry begins. */
export function restoredGeneration({ record }: Pick<Row<'breadcrumbs'>, 'record'>): number {
  // Only `appendCrumb` writes records.
  return (JSON.parse(record) as { payload: EventPayload<'log.restored'> }).payload.generation
}
