// SQL of scrubs: how large the documents are that one would have to open, and how often they were
// sealed again.

import { from, type TenantDb } from '../../platform/db/tenant-db.ts'
import { REVISION_BYTES, readRevision } from './document.ts'

/** Bytes of the sealed documents of a page of decisions, ascending by seq. */
export const listSizes = (db: TenantDb, seqs: readonly number[]) =>
  db.all(
    from(db, 'decisions')
      .select((e) => ['seq', e.fn<number>('length', ['sealed']).as('bytes')])
      .where('seq', 'in', seqs)
      .orderBy('seq'),
  )

/** Seq to revision, of those of the decisions that are here. */
export async function findRevisions(
  db: TenantDb,
  seqs: readonly number[],
): Promise<Map<number, number>> {
  const rows = await db.all(
    from(db, 'decisions')
      .select((e) => [
        'seq',
        e.fn<Uint8Array>('substr', ['sealed', e.lit(1), e.lit(REVISION_BYTES)]).as('start'),
      ])
      .where('seq', 'in', seqs),
  )
  return new Map(rows.map(({ seq, start }) => [seq, readRevision(start)]))
}

/** Distinct refs, ascending, that the decision with this seq named. */
export async function listUsed(db: TenantDb, decision_seq: number): Promise<number[]> {
  const rows = await db.all(
    from(db, 'decision_facts')
      .select('ref')
      .where('decision_seq', '=', decision_seq)
      .orderBy('ref'),
  )
  return rows.map(({ ref }) => ref)
}
