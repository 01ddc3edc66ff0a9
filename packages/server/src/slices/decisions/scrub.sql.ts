// SQL of scrubs: how large the documents are that one would have to open.

import { from, type TenantDb } from '../../platform/db/tenant-db.ts'

/** Bytes of the sealed documents of a page of decisions, ascending by seq. */
export const listSizes = (db: TenantDb, seqs: readonly number[]) =>
  db.all(
    from(db, 'decisions')
      .select((e) => ['seq', e.fn<number>('length', ['sealed']).as('bytes')])
      .where('seq', 'in', seqs)
      .orderBy('seq'),
  )
