// Decisions named by their places on the log, as every read shows them.

import type { Decision } from '@custos/contract'
import type { Kernel } from '../../platform/kernel.ts'
import { listBySeqs } from './decisions.sql.ts'
import { whenSettled } from './open.ts'
import { showRows } from './reads.ts'

/** At most a page of them, in the order of the log. */
export const showBySeqs = (
  kernel: Kernel,
  tenant_id: string,
  seqs: readonly number[],
): Promise<Decision[]> =>
  whenSettled(() =>
    kernel.db.read(tenant_id, async (db) => showRows(kernel, db, await listBySeqs(db, seqs))),
  )
