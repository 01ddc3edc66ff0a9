// Cosignatures and timestamp of a checkpoint: how replies show them, whether the cosignatures
// satisfy the witness policy, and the jobs that request them.

import type { Epoch } from '@custos/contract'
import { addSignatures, assembleNote, type NoteSignature, parseWitnessKey } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import { findOpenJobs } from '../../platform/db/jobs.sql.ts'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel, WitnessPolicy } from '../../platform/kernel/kernel.ts'
import { type EpochRow, type findEpoch, insertEpoch } from './chain.sql.ts'
import { type CosignatureRow, findTimestamp, listCosignatures } from './cosignatures.sql.ts'

export const OFFER_EPOCHS = 'epochs.offer'
export const STAMP_EPOCHS = 'epochs.timestamp'
/** Kinds of jobs that continue after their tenant is destroyed, as the log stays. No payload. */
export const LOG_JOBS = [OFFER_EPOCHS, STAMP_EPOCHS]

const SECOND_US = 1_000_000

/**
 * A witness that did not answer is retried after a delay equal to the checkpoint's age, within
 * these bounds.
 */
const RETRY_MS_MIN = 1_000
const RETRY_MS_MAX = 10 * 60_000

export const retryDelayMs = ({ clock }: Kernel, { created_us }: EpochRow): number =>
  Math.min(RETRY_MS_MAX, Math.max(RETRY_MS_MIN, (clock.now() - created_us) / 1_000))

const signatureOf = ({ witness, signature }: CosignatureRow): NoteSignature => {
  const { name, keyHash } = parseWitnessKey(witness)
  return { name, keyHash, signature }
}

/** Whether the cosignatures satisfy the policy; `null` without a policy. */
export function isWitnessed(
  policy: WitnessPolicy | null,
  rows: readonly Pick<CosignatureRow, 'witness'>[],
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
