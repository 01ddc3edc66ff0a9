// SQL of what an erasure looks at directly: where a ref stands in rows, tombstones and decisions.

import {
  deleteFrom,
  from,
  insertInto,
  type TenantDb,
  type Tx,
} from '../../platform/db/tenant-db.ts'

const IN_MAX = 500

/** Rows of live and erasing facts among `refs`. */
export const findPlaces = (db: TenantDb, refs: readonly number[]) =>
  inChunks(refs, (chunk) =>
    db.all(from(db, 'facts').select(['ref', 'store_id', 'state']).where('ref', 'in', chunk)),
  )

export const findTombstones = (db: TenantDb, refs: readonly number[]) =>
  inChunks(refs, (chunk) =>
    db.all(
      from(db, 'tombstones')
        .select(['ref', 'store_id', 'erased_seq', 'certificate_id'])
        .where('ref', 'in', chunk),
    ),
  )

/** For a ref without a row: it is kept out of use, and contents arriving for it are refused. */
export const insertBareTombstone = (
  tx: Tx,
  { ref, store_id, seq, us }: { ref: number; store_id: string | null; seq: number; us: number },
) =>
  tx.run(
    insertInto(tx, 'tombstones', {
      ref,
      store_id,
      written_seq: null,
      erased_seq: seq,
      erased_us: us,
      certificate_id: null,
    }).onConflict((conflict) => conflict.doNothing()),
  )

/** Stands for the log position of an erasure that has not come to step 4. */
export const HELD_SEQ = -1

/** Numbers that step 1 took out of use; at start only those whose erasure was cut off. */
export const listHeldNumbers = (db: TenantDb) =>
  db.all(
    from(db, 'tombstones')
      .select('ref')
      .where('store_id', 'is', null)
      .where('erased_seq', '=', HELD_SEQ),
  )

/** Puts back in use, or makes room for the tombstone that stays. */
export async function deleteHeldNumbers(tx: Tx, refs: readonly number[]): Promise<void> {
  for (let at = 0; at < refs.length; at += IN_MAX)
    await tx.run(
      deleteFrom(tx, 'tombstones')
        .where('ref', 'in', refs.slice(at, at + IN_MAX))
        .where('erased_seq', '=', HELD_SEQ),
    )
}

export async function isNamedByDecision(db: TenantDb, ref: number): Promise<boolean> {
  const row = await db.first(
    from(db, 'decision_facts').select('decision_seq').where('ref', '=', ref).limit(1),
  )
  return row !== undefined
}

/** Decisions that used the refs, whether their text has been scrubbed or not. */
export const listUses = (db: TenantDb, refs: readonly number[]) =>
  inChunks(refs, (chunk) =>
    db.all(
      from(db, 'decision_facts')
        .innerJoin('decisions', (join) =>
          join
            .onRef('decisions.tenant_id', '=', 'decision_facts.tenant_id')
            .onRef('decisions.seq', '=', 'decision_facts.decision_seq'),
        )
        .select(['decision_facts.ref', 'decisions.decision_id', 'decision_facts.bound'])
        .where('decision_facts.ref', 'in', chunk)
        .orderBy('decision_facts.decision_seq'),
    ),
  )

/** Facts hidden for an erasure; at start only those whose erasure was cut off. */
export const listErasing = (db: TenantDb) =>
  db.all(
    from(db, 'facts')
      .select('ref')
      .where((e) => e('state', '=', e.lit(1))),
  )

async function inChunks<T>(
  refs: readonly number[],
  look: (chunk: number[]) => Promise<T[]>,
): Promise<T[]> {
  const found: T[] = []
  for (let at = 0; at < refs.length; at += IN_MAX)
    found.push(...(await look(refs.slice(at, at + IN_MAX))))
  return found
}

export async function countFactsOf(db: TenantDb, store_id: string): Promise<number> {
  const row = await db.first(
    from(db, 'facts')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('store_id', '=', store_id),
  )
  return Number(row?.count ?? 0)
}

export const listStoreSecrets = (db: TenantDb) =>
  db.all(from(db, 'stores').select(['store_id', 'secret_no']).orderBy('store_id'))

export const findDecisionStore = (db: TenantDb, decision_id: string) =>
  db.first(
    from(db, 'decisions')
      .select('store_id')
      .where('decision_id', '=', Buffer.from(decision_id, 'hex')),
  )

/** Where the log, from `seq` on, records the redaction a certificate is for. */
export const findRedactionEntry = (db: TenantDb, seq: number, certificate_id: string) =>
  db.first(
    from(db, 'breadcrumbs')
      .select('seq')
      .where('seq', '>=', seq)
      .where('record', 'like', `%"certificate_id":"${certificate_id}"%`)
      .orderBy('seq')
      .limit(1),
  )
