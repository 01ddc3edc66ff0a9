// SQL of the consistency check: pages of rows in key order, on one snapshot.

import { SqliteConnection } from '../../platform/db/sqlite/connection.ts'
import { from, type TenantDb } from '../../platform/db/tenant-db.ts'

const IN_MAX = 500
const DAMAGES_MAX = 10

/**
 * The damage that SQLite finds in a file. The other queries read rows by the keys of their tables
 * and would not notice an index that has lost some. Lines name tables, indexes and row numbers.
 */
export function listDamages(path: string): string[] {
  const connection = new SqliteConnection(path, 'read')
  try {
    const rows = connection.all(`pragma integrity_check(${DAMAGES_MAX})`, [])
    const lines = rows.flatMap((row) => Object.values(row ?? {}).map(String))
    return lines.filter((line) => line !== 'ok').map((line) => line.replaceAll('\n', ' '))
  } finally {
    connection.close()
  }
}

export const listRecords = (db: TenantDb, first: number, end: number) =>
  db.all(
    from(db, 'breadcrumbs')
      .select(['seq', 'record'])
      .where('seq', '>=', first)
      .where('seq', '<', end)
      .orderBy('seq'),
  )

export const findRecord = (db: TenantDb, seq: number) =>
  db.first(from(db, 'breadcrumbs').select('record').where('seq', '=', seq))

export const findEpochCheckpoint = (db: TenantDb, epoch_number: number) =>
  db.first(from(db, 'epochs').select('checkpoint').where('epoch_number', '=', epoch_number))

export const listStoreRows = (db: TenantDb) =>
  db.all(from(db, 'stores').select(['store_id', 'secret_no', 'sealed', 'state', 'tokenizer']))

export const listFactRows = (db: TenantDb, after: number, limit: number) =>
  db.all(
    from(db, 'facts')
      .select([
        'ref',
        'store_id',
        'namespace',
        'written_seq',
        'written_us',
        'token_count',
        'state',
        'sealed',
      ])
      .where('ref', '>', after)
      .orderBy('ref')
      .limit(limit),
  )

/** Counts rows; for tombstones, only those of completed erasures. */
export async function countRows(
  db: TenantDb,
  table: 'stores' | 'facts' | 'tombstones' | 'decisions' | 'certificates',
): Promise<number> {
  const row = await db.first(
    table === 'tombstones'
      ? from(db, table)
          .select((e) => e.fn.countAll<number>().as('count'))
          .where('erased_seq', '>=', 0)
      : from(db, table).select((e) => e.fn.countAll<number>().as('count')),
  )
  return Number(row?.count ?? 0)
}

/** The lowest and the highest ref; 0 and 0 if there are none. */
export async function findRefRange(db: TenantDb): Promise<{ first: number; last: number }> {
  const row = await db.first(
    from(db, 'facts').select((e) => [e.fn.min('ref').as('first'), e.fn.max('ref').as('last')]),
  )
  return { first: Number(row?.first ?? 0), last: Number(row?.last ?? 0) }
}

/** Refs of facts with their stores, without the sealed bytes. */
export const listFactPlaces = (db: TenantDb, after: number, limit: number) =>
  db.all(
    from(db, 'facts')
      .select(['ref', 'store_id', 'written_seq'])
      .where('ref', '>', after)
      .orderBy('ref')
      .limit(limit),
  )

/** Lists tombstones of completed erasures, without numbers reserved for erasures in progress. */
export const listTombstoneRows = (db: TenantDb, after: number, limit: number) =>
  db.all(
    from(db, 'tombstones')
      .select(['ref', 'store_id', 'written_seq', 'erased_seq', 'certificate_id'])
      .where('ref', '>', after)
      .where('erased_seq', '>=', 0)
      .orderBy('ref')
      .limit(limit),
  )

export const countTombstonesByEntry = (db: TenantDb) =>
  db.all(
    from(db, 'tombstones')
      .select((e) => ['written_seq', e.fn.countAll<number>().as('count')])
      .where('written_seq', 'is not', null)
      .groupBy('written_seq'),
  )

export const listValidityRows = (db: TenantDb, after: number, limit: number) =>
  db.all(
    from(db, 'validity')
      .select([
        'ref',
        'store_id',
        'from_seq',
        'until_seq',
        'valid_from_us',
        'valid_until_us',
        'superseded_by',
      ])
      .where('ref', '>', after)
      .orderBy('ref')
      .orderBy('from_seq')
      .limit(limit),
  )

/** Those of `refs` that belong to a fact or a tombstone. */
export async function listKnownRefs(db: TenantDb, refs: readonly number[]): Promise<Set<number>> {
  const known = new Set<number>()
  for (let at = 0; at < refs.length; at += IN_MAX) {
    const chunk = refs.slice(at, at + IN_MAX)
    const rows = [
      ...(await db.all(from(db, 'facts').select('ref').where('ref', 'in', chunk))),
      ...(await db.all(from(db, 'tombstones').select('ref').where('ref', 'in', chunk))),
    ]
    for (const { ref } of rows) known.add(ref)
  }
  return known
}

export const listAuditRows = (db: TenantDb, after: number, limit: number) =>
  db.all(
    from(db, 'conformance_audits')
      .select(['seq', 'audit_id', 'rate_e6', 'record'])
      .where('seq', '>', after)
      .orderBy('seq')
      .limit(limit),
  )

export const listRequestRows = (db: TenantDb, after: number, limit: number) =>
  db.all(
    from(db, 'subject_requests')
      .select(['seq', 'request_id', 'kind', 'status', 'completed_us'])
      .where('seq', '>', after)
      .orderBy('seq')
      .limit(limit),
  )

export const findManifest = (db: TenantDb, request_id: Uint8Array) =>
  db.first(from(db, 'subject_requests').select('manifest').where('request_id', '=', request_id))

export const listCertificateRows = (db: TenantDb, after: string, limit: number) =>
  db.all(
    from(db, 'certificates')
      .select([
        'certificate_id',
        'subject_kind',
        'subject',
        'stands',
        'outcome',
        'log_seq',
        'record',
      ])
      .where('certificate_id', '>', after)
      .orderBy('certificate_id')
      .limit(limit),
  )

export const findCertificateSubject = (db: TenantDb, certificate_id: string) =>
  db.first(
    from(db, 'certificates')
      .select(['subject_kind', 'subject', 'stands'])
      .where('certificate_id', '=', certificate_id),
  )

export const findStandingRecord = (db: TenantDb, kind: string, subject: string) =>
  db.first(
    from(db, 'certificates')
      .select('record')
      .where('subject_kind', '=', kind)
      .where('subject', '=', subject)
      .where('stands', '=', 1),
  )

/** Entries that name signing keys, oldest first. A full scan, which runs only when keys change. */
export const listKeyEvents = (db: TenantDb) =>
  db.all(
    from(db, 'breadcrumbs')
      .select('record')
      .where((e) =>
        e.or([
          e('record', 'like', '%"event_type":"signing_key.%'),
          e('record', 'like', '%"event_type":"tenant.created"%'),
        ]),
      )
      .orderBy('seq'),
  )
