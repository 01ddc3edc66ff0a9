// SQL of erasures: certificates, rows and tombstones of memories, and the survey at startup.

import { insertRowsStatement, refsStatement } from '../../platform/db/bulk-statements.ts'
import type { Database } from '../../platform/db/database.ts'
import { firstRowPerTenant, type TenantParams } from '../../platform/db/engines/first-of-each.ts'
import type { Row } from '../../platform/db/schema/tables.ts'
import { statement } from '../../platform/db/statement.ts'
import { from, insertInto, type TenantDb, type Tx } from '../../platform/db/tenant-db.ts'
import type { Page } from '../../platform/page.ts'

/** A unique index allows one standing certificate per subject; a second one is not inserted. */
export const insertCertificates = insertRowsStatement<Row<'certificates'>>((k, rows, tenant_id) =>
  k
    .insertInto('certificates')
    .values(
      rows.map((row) => ({
        tenant_id,
        certificate_id: row.certificate_id,
        subject_kind: row.subject_kind,
        subject: row.subject,
        stands: row.stands,
        outcome: row.outcome,
        completed_us: row.completed_us,
        log_seq: row.log_seq,
        record: row.record,
      })),
    )
    .onConflict((conflict) => conflict.doNothing()),
)

export const insertSelfTestCertificate = (tx: Tx, certificate_id: string) =>
  tx.run(
    insertInto(tx, 'self_test_certificates', { certificate_id }).onConflict((conflict) =>
      conflict.doNothing(),
    ),
  )

export const countSelfTests = (db: TenantDb) =>
  from(db, 'self_test_certificates').select((e) => e.fn.countAll<number>().as('count'))

const certificateStatement = statement<{ certificate_id: string }>()((k, p) =>
  k
    .selectFrom('certificates')
    .select('record')
    .where('tenant_id', '=', p.tenant_id)
    .where('certificate_id', '=', p.certificate_id),
)

export const findCertificate = (db: TenantDb, certificate_id: string) =>
  db.firstOf(certificateStatement, { certificate_id })

type CertifiedKind = 'fact' | 'decision' | 'text'

const standingCertificateStatement = statement<{ kind: CertifiedKind; subject: string }>()((k, p) =>
  k
    .selectFrom('certificates')
    .select(['certificate_id', 'record'])
    .where('tenant_id', '=', p.tenant_id)
    .where('subject_kind', '=', p.kind)
    .where('subject', '=', p.subject)
    .where((e) => e('stands', '=', e.lit(1))),
)

/** The standing certificate of a fact's ref, a decision's id, or another record. */
export const findStandingCertificate = (db: TenantDb, kind: CertifiedKind, subject: string) =>
  db.firstOf(standingCertificateStatement, { kind, subject })

const IN_MAX = 500

/** Standing certificates of subjects of one kind, unordered. */
export async function listStandingCertificates(
  db: TenantDb,
  kind: CertifiedKind,
  subjects: readonly string[],
): Promise<{ subject: string; record: string }[]> {
  const found: { subject: string; record: string }[] = []
  for (let at = 0; at < subjects.length; at += IN_MAX)
    found.push(
      ...(await db.all(
        from(db, 'certificates')
          .select(['subject', 'record'])
          .where('subject_kind', '=', kind)
          .where('subject', 'in', subjects.slice(at, at + IN_MAX))
          .where((e) => e('stands', '=', e.lit(1))),
      )),
    )
  return found
}

/** Ids of standing certificates of memories, by ref. */
export async function findStandingByRef(
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

/** Returns certificates by id, unordered. Pass at most 500 ids. */
export const findCertificates = (db: TenantDb, certificate_ids: readonly string[]) =>
  db.all(
    from(db, 'certificates')
      .select(['certificate_id', 'record'])
      .where('certificate_id', 'in', certificate_ids),
  )

/** Newest first. */
export function listCertificates(
  db: TenantDb,
  { limit, offset, after }: Pick<Page, 'limit' | 'offset' | 'after'>,
) {
  const rows = from(db, 'certificates')
    .select(['certificate_id', 'completed_us', 'record'])
    .orderBy('completed_us', 'desc')
    .orderBy('certificate_id', 'desc')
    .limit(limit)
  if (after === null) return db.all(rows.offset(offset))
  const { at, id } = after
  return db.all(
    rows
      .where('completed_us', '<=', at)
      .where((e) => e.or([e('completed_us', '<', at), e('certificate_id', '<', id)])),
  )
}

/** Counts certificates by outcome, except those of self-tests. */
export const countByOutcome = (db: TenantDb) =>
  from(db, 'certificates')
    .select((e) => [
      'subject_kind',
      'outcome',
      e.fn.countAll<number>().as('count'),
      e.fn.min('completed_us').as('first_us'),
      e.fn.max('completed_us').as('last_us'),
    ])
    .where('certificate_id', 'not in', from(db, 'self_test_certificates').select('certificate_id'))
    .groupBy(['subject_kind', 'outcome'])

export async function countStanding(db: TenantDb): Promise<number> {
  const row = await db.first(
    from(db, 'certificates')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where((e) => e('stands', '=', e.lit(1))),
  )
  return Number(row?.count ?? 0)
}

const factRowsStatement = refsStatement()((k, p, isListed) =>
  k
    .selectFrom('facts')
    .select(['ref', 'store_id', 'namespace', 'state'])
    .where('tenant_id', '=', p.tenant_id)
    .where(isListed),
)

/** Rows of the `refs` that are live or being erased. */
export const findFactRows = (db: TenantDb, refs: readonly number[]) =>
  factRowsStatement.all(db, refs, {})

const tombstonesStatement = refsStatement()((k, p, isListed) =>
  k
    .selectFrom('tombstones')
    .select(['ref', 'store_id', 'erased_seq', 'certificate_id'])
    .where('tenant_id', '=', p.tenant_id)
    .where(isListed),
)

export const findTombstones = (db: TenantDb, refs: readonly number[]) =>
  tombstonesStatement.all(db, refs, {})

/** Blocks a ref without a row: no write takes the number, and contents for it are refused. */
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

/** Stands for the log position until the erasure is applied. */
export const RESERVED_SEQ = -1

/** Numbers reserved by marking; at startup these belong to interrupted erasures. */
export const listReservedRefs = (db: TenantDb) =>
  db.all(
    from(db, 'tombstones')
      .select('ref')
      .where('store_id', 'is', null)
      .where('erased_seq', '=', RESERVED_SEQ),
  )

const deleteReservationsStatement = refsStatement()((k, p, isListed) =>
  k
    .deleteFrom('tombstones')
    .where('tenant_id', '=', p.tenant_id)
    .where(isListed)
    .where((e) => e('erased_seq', '=', e.lit(RESERVED_SEQ))),
)

/** Deletes reservations, to free the numbers or to make room for the final tombstones. */
export const deleteReservations = (tx: Tx, refs: readonly number[]) =>
  deleteReservationsStatement.run(tx, refs, {})

export async function isNamedByDecision(db: TenantDb, ref: number): Promise<boolean> {
  const row = await db.first(
    from(db, 'decision_facts').select('decision_seq').where('ref', '=', ref).limit(1),
  )
  return row !== undefined
}

const usesStatement = refsStatement()((k, p, isListed) =>
  k
    .selectFrom('decision_facts')
    .innerJoin('decisions', (join) =>
      join
        .onRef('decisions.tenant_id', '=', 'decision_facts.tenant_id')
        .onRef('decisions.seq', '=', 'decision_facts.decision_seq'),
    )
    .select(['decision_facts.ref', 'decisions.decision_id'])
    .where('decision_facts.tenant_id', '=', p.tenant_id)
    .where(isListed)
    .orderBy('decision_facts.decision_seq'),
)

/** Decisions that used the refs, scrubbed or not, oldest first. */
export const listUses = (db: TenantDb, refs: readonly number[]) => usesStatement.all(db, refs, {})

/** Memories hidden for an erasure; at startup these belong to interrupted erasures. */
export const listMarkedFacts = (db: TenantDb) =>
  db.all(
    from(db, 'facts')
      .select('ref')
      .where((e) => e('state', '=', e.lit(1))),
  )

export async function countFacts(db: TenantDb, store_id: string): Promise<number> {
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

/** The log entry, at or after `seq`, of the redaction that a certificate is for. */
export const findRedactionEntry = (db: TenantDb, seq: number, certificate_id: string) =>
  db.first(
    from(db, 'breadcrumbs')
      .select('seq')
      .where('seq', '>=', seq)
      .where('record', 'like', `%"certificate_id":"${certificate_id}"%`)
      .orderBy('seq')
      .limit(1),
  )

const marksStatement = statement<{ epoch_number: number }>()((k, p) =>
  k
    .selectFrom('chain_heads')
    .select(['generation', 'size', 'frontier', 'last_id', 'last_us'])
    .select((e) => [
      e
        .selectFrom('facts')
        .select('facts.ref')
        .where('facts.tenant_id', '=', p.tenant_id)
        .where('facts.state', '=', e.lit(1))
        .limit(e.lit(1))
        .as('erasing'),
      e
        .selectFrom('tombstones')
        .select('tombstones.ref')
        .where('tombstones.tenant_id', '=', p.tenant_id)
        .where('tombstones.store_id', 'is', null)
        .where('tombstones.erased_seq', '=', e.lit(RESERVED_SEQ))
        .limit(e.lit(1))
        .as('held'),
      e
        .selectFrom('epochs')
        .select('epochs.epoch_number')
        .where('epochs.tenant_id', '=', p.tenant_id)
        .where('epochs.epoch_number', '=', p.epoch_number)
        .as('epoch'),
    ])
    .where('chain_heads.tenant_id', '=', p.tenant_id),
)

/** The log head, marks of unfinished erasures and existence of an epoch, for each tenant. */
export const findTenantMarks = (
  db: Database,
  asked: readonly TenantParams<{ epoch_number: number }>[],
) => firstRowPerTenant(db, marksStatement, asked)

const standingStatement = statement<object>()((k, p) =>
  k
    .selectFrom('certificates')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('tenant_id', '=', p.tenant_id)
    .where((e) => e('stands', '=', e.lit(1))),
)

/** Number of standing certificates by tenant. */
export async function countStandingByTenant(
  db: Database,
  tenants: readonly string[],
): Promise<Map<string, number>> {
  const asked = tenants.map((tenant_id) => ({ tenant_id, params: {} }))
  const counts = await firstRowPerTenant(db, standingStatement, asked)
  return new Map([...counts].map(([tenant_id, { count }]) => [tenant_id, Number(count)]))
}
