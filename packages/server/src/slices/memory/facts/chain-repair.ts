// Changes to version chains inside a unit of work: new validity versions, and removal of a fact.

import type { Tx } from '../../../platform/db/tenant-db.ts'
import {
  amendVersion,
  closeVersion,
  findCurrentValidity,
  findValidFrom,
  findVersionEndingAt,
  insertValidity,
  type ValidityRow,
} from './validity.sql.ts'

/** Sets changed validity values of the fact, effective from log position `seq` on. */
export async function reviseValidity(
  tx: Tx,
  ref: number,
  seq: number,
  change: Partial<Pick<ValidityRow, 'valid_until_us' | 'predecessor' | 'superseded_by'>>,
): Promise<void> {
  const current = await findCurrentValidity(tx, ref)
  if (!current) return
  if (current.from_seq === seq) return void (await amendVersion(tx, { ...current, ...change }))
  await closeVersion(tx, current, seq)
  await insertValidity(tx, { ...current, ...change, from_seq: seq, until_seq: null })
}

/**
 * Removes a fact from its chain (GMP rule O2). If it was the oldest version, its successor becomes
 * the start of the chain. If it was a middle version, its neighbours are linked and the
 * predecessor's interval keeps its end. If it was the current version, the predecessor becomes
 * current again, and with `reopens` its interval is opened.
 * @returns the predecessor, or null if there is none
 */
export async function removeFromChain(
  tx: Tx,
  removed: ValidityRow,
  { seq, reopens }: { seq: number; reopens: boolean },
): Promise<number | null> {
  const { predecessor, superseded_by } = removed
  await closeVersion(tx, removed, seq)
  if (superseded_by !== null) await reviseValidity(tx, superseded_by, seq, { predecessor })
  if (predecessor !== null) {
    const opens = reopens && superseded_by === null && (await endedBySuccessor(tx, predecessor))
    const opened = opens ? { valid_until_us: null } : {}
    await reviseValidity(tx, predecessor, seq, { superseded_by, ...opened })
  }
  return predecessor
}

// A version that ended by itself before its successor began stays ended. The successor that ended
// it may have left the chain since; the first version with this end still names it.
async function endedBySuccessor(tx: Tx, ref: number): Promise<boolean> {
  const end = (await findCurrentValidity(tx, ref))?.valid_until_us ?? null
  if (end === null) return false
  const successor = (await findVersionEndingAt(tx, ref, end))?.superseded_by ?? null
  return successor !== null && (await findValidFrom(tx, successor)) === end
}
