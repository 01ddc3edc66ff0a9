// SQL of certificates: one row per signed statement, at most one standing for a subject.

import type { Tables } from '../../platform/db/tables.ts'
import { from, insertInto, type TenantDb, type Tx } from '../../platform/db/tenant-db.ts'

export type CertificateRow = Omit<Tables['certificates'], 'tenant_id'>
export type SubjectKind = 'fact' | 'decision'

/** The unique index on standing subjects decides races: the second one inserts nothing. */
export async function insertCertificate(
  tx: Tx,
  row: CertificateRow,
): Promise<'inserted' | 'exists'> {
  const changed = await tx.run(
    insertInto(tx, 'certificates', row).onConflict((conflict) => conflict.doNothing()),
  )
  return changed === 1 ? 'inserted' : 'exists'
}

export const findCertificate = (db: TenantDb, certificate_id: string) =>
  db.first(from(db, 'certificates').select('record').where('certificate_id', '=', certificate_id))

/** The certificate that stands for a fact's ref or a decision's id. */
export const findStanding = (db: TenantDb, kind: SubjectKind, subject: string) =>
  db.first(
    from(db, 'certificates')
      .select(['certificate_id', 'record'])
      .where('subject_kind', '=', kind)
      .where('subject', '=', subject)
      .where((e) => e('stands', '=', e.lit(1))),
  )

const IN_MAX = 500

/** Ids of the certificates that stand for memories, by ref. */
export async function findStandingFacts(
  db: TenantDb,
  refs: readonly number[],
): Promise<Map<number, string>> {
  const found = new Map<number, string>()
  for (let at = 0; at < refs.length; at += IN_MAX) {
    const rows = await db.all(
      from(db, 'certificates')
        .select(['subject', 'certificate_id'])
        .where('subject_kind', '=', 'fact')
        .where('subject', 'in', refs.slice(at, at + IN_MAX).map(String))
        .where((e) => e('stands', '=', e.lit(1))),
    )
    for (const { subject, certificate_id } of rows) found.set(Number(subject), certificate_id)
  }
  return found
}

/** At most 500 of them, in no order. */
export const findRecords = (db: TenantDb, certificate_ids: readonly string[]) =>
  db.all(
    from(db, 'certificates')
      .select(['certificate_id', 'record'])
      .where('certificate_id', 'in', certificate_ids),
  )

/** Newest first. */
export const listCertificates = (db: TenantDb, limit: number, offset: number) =>
  db.all(
    from(db, 'certificates')
      .select('record')
      .orderBy('completed_us', 'desc')
      .orderBy('certificate_id', 'desc')
      .limit(limit)
      .offset(offset),
  )

export const countByOutcome = (db: TenantDb) =>
  db.all(
    from(db, 'certificates')
      .select((e) => [
        'subject_kind',
        'outcome',
        e.fn.countAll<number>().as('count'),
        e.fn.min('completed_us').as('first_us'),
        e.fn.max('completed_us').as('last_us'),
      ])
      .groupBy(['subject_kind', 'outcome']),
  )

export async function countStanding(db: TenantDb): Promise<number> {
  const row = await db.first(
    from(db, 'certificates')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where((e) => e('stands', '=', e.lit(1))),
  )
  return Number(row?.count ?? 0)
}
