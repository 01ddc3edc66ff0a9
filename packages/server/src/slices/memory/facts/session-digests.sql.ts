// SQL of sessions in stores that make digests: their memories, their digests, and the memories that
// each digest was made from.

import { insertRowsStatement, refsStatement } from '../../../platform/db/bulk-statements.ts'
import type { Row } from '../../../platform/db/schema/tables.ts'
import { statement } from '../../../platform/db/statement.ts'
import {
  deleteFrom,
  from,
  insertInto,
  type TenantDb,
  type Tx,
  update,
} from '../../../platform/db/tenant-db.ts'

type SessionKey = Pick<Row<'digest_sessions'>, 'store_id' | 'session_mac'>

const COLUMNS = ['store_id', 'session_mac', 'changed_seq', 'due_us', 'digest_ref'] as const

export const insertSessionFacts = insertRowsStatement<Row<'session_facts'>>((k, rows, tenant_id) =>
  k.insertInto('session_facts').values(
    rows.map((row) => ({
      tenant_id,
      ref: row.ref,
      store_id: row.store_id,
      session_mac: row.session_mac,
    })),
  ),
)

export const insertDigestSources = insertRowsStatement<Row<'digest_sources'>>(
  (k, rows, tenant_id) =>
    k
      .insertInto('digest_sources')
      .values(
        rows.map(({ ref, digest_ref, extracted }) => ({ tenant_id, ref, digest_ref, extracted })),
      ),
)

/** Inserts the session; an existing one keeps its digest. */
export function upsertSession(tx: Tx, row: Row<'digest_sessions'>): Promise<number> {
  const { changed_seq, due_us } = row
  return tx.run(
    insertInto(tx, 'digest_sessions', row).onConflict((conflict) =>
      conflict
        .columns(['tenant_id', 'store_id', 'session_mac'])
        .doUpdateSet({ changed_seq, due_us }),
    ),
  )
}

export const updateSession = (
  tx: Tx,
  { store_id, session_mac }: SessionKey,
  change: Partial<Omit<Row<'digest_sessions'>, keyof SessionKey>>,
) =>
  tx.run(
    update(tx, 'digest_sessions')
      .set(change)
      .where('store_id', '=', store_id)
      .where('session_mac', '=', session_mac),
  )

export const findSessionRow = (db: TenantDb, { store_id, session_mac }: SessionKey) =>
  db.first(
    from(db, 'digest_sessions')
      .select(COLUMNS)
      .where('store_id', '=', store_id)
      .where('session_mac', '=', session_mac),
  )

/** Sessions whose digest is due at `at_us`, earliest due time first. */
export const listDueSessions = (
  db: TenantDb,
  { at_us, limit }: { at_us: number; limit: number },
): Promise<Row<'digest_sessions'>[]> =>
  db.all(
    from(db, 'digest_sessions')
      .select(COLUMNS)
      .where('due_us', '<=', at_us)
      .orderBy('due_us')
      .limit(limit),
  )

/** For `listTenantsWith`: a session of the tenant whose digest is due. */
export const anyDueStatement = statement<{ at_us: number }>()((k, p) =>
  k
    .selectFrom('digest_sessions')
    .select('store_id')
    .where('tenant_id', '=', p.tenant_id)
    .where('due_us', '<=', p.at_us)
    .limit(1),
)

/** The newest memories of a session, in the order in which they were written. */
export async function listNewestRefs(
  db: TenantDb,
  { store_id, session_mac }: SessionKey,
  limit: number,
): Promise<number[]> {
  const rows = await db.all(
    from(db, 'session_facts')
      .select('ref')
      .where('store_id', '=', store_id)
      .where('session_mac', '=', session_mac)
      .orderBy('ref', 'desc')
      .limit(limit),
  )
  return rows.map(({ ref }) => ref).reverse()
}

const sessionsStatement = refsStatement()((k, p, isListed) =>
  k
    .selectFrom('session_facts')
    .select(['store_id', 'session_mac'])
    .distinct()
    .where('tenant_id', '=', p.tenant_id)
    .where(isListed),
)

/** The sessions of the memories; a session may be listed more than once. */
export const listSessionsOf = (db: TenantDb, refs: readonly number[]): Promise<SessionKey[]> =>
  sessionsStatement.all(db, refs, {})

const usesStatement = refsStatement()((k, p, isListed) =>
  k
    .selectFrom('digest_sources')
    .select(['ref', 'digest_ref', 'extracted'])
    .where('tenant_id', '=', p.tenant_id)
    .where(isListed),
)

/** Digests (all versions) and extracted facts made from the memories, each with its source. */
export const listDigestsUsing = (db: TenantDb, refs: readonly number[]) =>
  usesStatement.all(db, refs, {})

/** Maximum number of refs in one query of `listDigestsAmong`. */
const IN_MAX = 500

/** Returns the refs that are digests. */
export async function listDigestsAmong(
  db: TenantDb,
  refs: readonly number[],
): Promise<Set<number>> {
  const found = new Set<number>()
  for (let at = 0; at < refs.length; at += IN_MAX) {
    const rows = await db.all(
      from(db, 'digest_sources')
        .select('digest_ref')
        .distinct()
        .where('digest_ref', 'in', refs.slice(at, at + IN_MAX))
        .where('extracted', 'is', null),
    )
    for (const { digest_ref } of rows) found.add(digest_ref)
  }
  return found
}

/** Deletes the records of what extracted facts were made from. */
export async function deleteExtractedSources(tx: Tx, refs: readonly number[]): Promise<void> {
  for (let at = 0; at < refs.length; at += IN_MAX)
    await tx.run(
      deleteFrom(tx, 'digest_sources')
        .where('digest_ref', 'in', refs.slice(at, at + IN_MAX))
        .where('extracted', 'is not', null),
    )
}

const deleteFactsStatement = refsStatement()((k, p, isListed) =>
  k.deleteFrom('session_facts').where('tenant_id', '=', p.tenant_id).where(isListed),
)

const deleteUsesStatement = refsStatement()((k, p, isListed) =>
  k.deleteFrom('digest_sources').where('tenant_id', '=', p.tenant_id).where(isListed),
)

export async function deleteSessionFacts(tx: Tx, refs: readonly number[]): Promise<void> {
  await deleteFactsStatement.run(tx, refs, {})
  await deleteUsesStatement.run(tx, refs, {})
}

/** Deletes the records of a digest's sources and its session's link to it. */
export async function deleteDigest(tx: Tx, digest_ref: number): Promise<void> {
  await tx.run(deleteFrom(tx, 'digest_sources').where('digest_ref', '=', digest_ref))
  await tx.run(
    update(tx, 'digest_sessions').set({ digest_ref: null }).where('digest_ref', '=', digest_ref),
  )
}
