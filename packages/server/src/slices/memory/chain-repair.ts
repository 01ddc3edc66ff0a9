// Version chains inside a unit of work: new versions of validity, and repair around a gap.

import type { Tx } from '../../platform/db/tenant-db.ts'
import {
  amendVersion,
  closeVersion,
  findBeginning,
  findCurrent,
  findFirstWithEnd,
  insertValidity,
  type ValidityRow,
} from './validity.sql.ts'

type Change = Partial<Pick<ValidityRow, 'valid_until_us' | 'predecessor' | 'superseded_by'>>

/** Puts a changed version of the fact on record from log position `seq` on. */
export async function reviseValidity(
  tx: Tx,
  ref: number,
  seq: number,
  change: Change,
): Promise<void> {
  const current = await findCurrent(tx, ref)
  if (!current) return
  if (current.from_seq === seq) return void (await amendVersion(tx, { ...current, ...change }))
  await closeVersion(tx, current, seq)
  await insertValidity(tx, { ...current, ...change, from_seq: seq, until_seq: null })
}

/**
 * Takes a fact out of its chain (GMP rule O2): the oldest leaves its successor as the start; a
 * middle one is skipped, and its predecessor's interval keeps its end; after the current one the
 * survivor before it is current again, with an open interval.
 */
export async function closeGap(tx: Tx, gone: ValidityRow, seq: number): Promise<number | null> {
  const { predecessor, superseded_by } = gone
  await closeVersion(tx, gone, seq)
  if (superseded_by !== null) await reviseValidity(tx, superseded_by, seq, { predecessor })
  if (predecessor !== null) {
    const opens = superseded_by === null && (await endedBySuccessor(tx, predecessor))
    const opened = opens ? { valid_until_us: null } : {}
    await reviseValidity(tx, predecessor, seq, { superseded_by, ...opened })
  }
  return predecessor
}

// One that had ended by itself before its successor began stays ended. The successor that ended it
// may be gone from the chain since: what was on record when the end was set says which it was.
async function endedBySuccessor(tx: Tx, ref: number): Promise<boolean> {
  const end = (await findCurrent(tx, ref))?.valid_until_us ?? null
  if (end === null) return false
  const successor = (await findFirstWithEnd(tx, ref, end))?.superseded_by ?? null
  return successor !== null && (await findBeginning(tx, successor)) === end
}
