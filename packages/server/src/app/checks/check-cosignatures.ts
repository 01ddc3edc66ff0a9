// Cosignatures: each is by the key it names, on a checkpoint that is here.

import { addSignatures, parseWitnessKey, verifyCosignatures } from '@custos/proof'
import { listAppliedMigrations } from '../../platform/db/control.sql.ts'
import { cosignatures } from '../../platform/db/migrations/0036-cosignatures.ts'
import {
  type CosignatureRow,
  isWitnessed,
  listCosignaturesAfter,
} from '../../slices/gcrumbs/index.ts'
import type { CheckContext, CheckFinding } from './check-context.ts'
import { findEpochCheckpoint } from './fsck.sql.ts'

const PAGE = 500

/** Also counts the epochs that enough witnesses of the present policy cosigned. */
export async function* checkCosignatures(check: CheckContext): AsyncGenerator<CheckFinding> {
  const { kernel, db, counts } = check
  // Data of an earlier version, which has none, are checked before they are migrated.
  if (!(await listAppliedMigrations(db)).includes(cosignatures.name)) return
  for await (const [epoch_number, rows] of byEpoch(check)) {
    const epoch = await findEpochCheckpoint(db, epoch_number)
    const sound: CosignatureRow[] = []
    for (const row of rows)
      if (epoch && (await isSound(epoch.checkpoint, row))) sound.push(row)
      else yield { kind: 'log', id: `epoch ${epoch_number}`, what: 'has an invalid cosignature' }
    if (isWitnessed(kernel.settings.witnesses, sound)) counts.witnessed += 1
  }
}

async function* byEpoch({ db }: CheckContext): AsyncGenerator<[number, CosignatureRow[]]> {
  for (let after = 0; ; ) {
    const rows = await listCosignaturesAfter(db, after, PAGE)
    const groups = [...Map.groupBy(rows, (row) => row.epoch_number)]
    // The last epoch of a full page may have more rows: it comes again with the next.
    const whole = rows.length < PAGE || groups.length === 1 ? groups : groups.slice(0, -1)
    yield* whole
    if (rows.length < PAGE) return
    after = whole.at(-1)?.[0] ?? after
  }
}

async function isSound(checkpoint: string, row: CosignatureRow): Promise<boolean> {
  try {
    const { name, keyHash } = parseWitnessKey(row.witness)
    const note = addSignatures(checkpoint, [{ name, keyHash, signature: row.signature }])
    const [verdict] = await verifyCosignatures(note, [row.witness])
    return verdict?.ok === true && verdict.timestamp === row.signed_s
  } catch {
    // A row is untrusted data: its key may be none.
    return false
  }
}
