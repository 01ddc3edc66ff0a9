// Cosignatures as they are shown with an epoch, and whether they are enough for the policy.

import type { Epoch } from '@custos/contract'
import { addSignatures, assembleNote, type NoteSignature, parseWitnessKey } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import { findOpenJobs } from '../../platform/db/jobs.sql.ts'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel, WitnessPolicy } from '../../platform/kernel/kernel.ts'
import { type EpochRow, insertEpoch } from './chain.sql.ts'
import { type CosignatureRow, listCosignatures } from './cosignatures.sql.ts'

export const OFFER_EPOCHS = 'epochs.offer'

const SECOND_US = 1_000_000

const lineOf = ({ witness, signature }: CosignatureRow): NoteSignature => {
  const { name, keyHash } = parseWitnessKey(witness)
  return { name, keyHash, signature }
}

/** Whether the cosignatures are enough; null: there is no policy. */
export function isWitnessed(
  policy: WitnessPolicy | null,
  rows: readonly Pick<CosignatureRow, 'witness'>[],
): boolean | null {
  if (!policy) return null
  const signed = new Set(rows.map(({ witness }) => witness))
  return policy.witnesses.filter(({ key }) => signed.has(key)).length >= policy.required
}

/** The members of an epoch that say who cosigned it. */
export async function showCosignatures(
  { settings }: Kernel,
  db: TenantDb,
  epoch_number: number,
): Promise<Pick<Epoch, 'cosignatures' | 'witnessed'>> {
  const rows = await listCosignatures(db, epoch_number)
  const cosignatures = rows.map((row) => ({
    witness: row.witness,
    signed_at: formatTime(row.signed_s * SECOND_US),
    // The line of a note that has no other.
    line: assembleNote('-\n', [lineOf(row)])
      .trimEnd()
      .slice(3),
  }))
  return { cosignatures, witnessed: isWitnessed(settings.witnesses, rows) }
}

/** The checkpoint of an epoch with every cosignature on it. */
export async function cosignedCheckpoint(
  db: TenantDb,
  { epoch_number, checkpoint }: EpochRow,
): Promise<string> {
  const rows = await listCosignatures(db, epoch_number)
  return rows.length === 0 ? checkpoint : addSignatures(checkpoint, rows.map(lineOf))
}

/** Stores a signed checkpoint; where there are witnesses, their job offers it to them. */
export async function storeEpoch({ settings, jobs }: Kernel, tx: Tx, epoch: EpochRow) {
  const stored = await insertEpoch(tx, epoch)
  if (settings.witnesses === null || stored === 'exists') return
  const [open] = await findOpenJobs(tx, OFFER_EPOCHS)
  if (open) await jobs.wake(tx, open.job_id)
  else await jobs.enqueue(tx, OFFER_EPOCHS, {})
}
