// SQL of rotations of keys, and of attestations.

import type { Row } from '../../../platform/db/schema/tables.ts'
import { statement } from '../../../platform/db/statement.ts'
import { from, insertInto, type TenantDb, type Tx, update } from '../../../platform/db/tenant-db.ts'
import { REDACTED_SECRET } from '../../../platform/kernel/sealed-column.ts'
import type { Page } from '../../../platform/page.ts'

export type RotationRow = Row<'cgr_rotations'>
export type AttestationRow = Row<'cgr_attestations'>

/** The links that lead to a key and from it. */
export interface LinksOfKey {
  readonly into: RotationRow | undefined
  readonly out: RotationRow | undefined
}

const ROTATION_COLUMNS = [
  'seq',
  'anchor',
  'position',
  'prev_key',
  'new_key',
  'not_before_us',
  'secret_no',
  'sealed',
] as const

const intoStatement = statement<{ key: Uint8Array }>()((k, p) =>
  k
    .selectFrom('cgr_rotations')
    .select(ROTATION_COLUMNS)
    .where('tenant_id', '=', p.tenant_id)
    .where('new_key', '=', p.key),
)

const outStatement = statement<{ key: Uint8Array }>()((k, p) =>
  k
    .selectFrom('cgr_rotations')
    .select(ROTATION_COLUMNS)
    .where('tenant_id', '=', p.tenant_id)
    .where('prev_key', '=', p.key),
)

export async function findLinks(db: TenantDb, key: Uint8Array): Promise<LinksOfKey> {
  const [into, out] = await Promise.all([
    db.firstOf(intoStatement, { key }),
    db.firstOf(outStatement, { key }),
  ])
  return { into, out }
}

/** The first key of the chain, or the key itself. */
export const anchorOf = (key: Uint8Array, { into, out }: LinksOfKey): Uint8Array =>
  into?.anchor ?? out?.anchor ?? key

const chainStatement = statement<{ anchor: Uint8Array }>()((k, p) =>
  k
    .selectFrom('cgr_rotations')
    .select(ROTATION_COLUMNS)
    .where('tenant_id', '=', p.tenant_id)
    .where('anchor', '=', p.anchor)
    .orderBy('position'),
)

/** The links of a chain, in order. */
export const listChain = (db: TenantDb, anchor: Uint8Array): Promise<RotationRow[]> =>
  db.allOf(chainStatement, { anchor })

/** Returns `taken` if the chain already continues with another key, or the key is in a chain. */
export async function insertRotation(tx: Tx, row: RotationRow): Promise<'inserted' | 'taken'> {
  const inserted = await tx.run(
    insertInto(tx, 'cgr_rotations', row).onConflict((conflict) => conflict.doNothing()),
  )
  return inserted === 1 ? 'inserted' : 'taken'
}

/** Oldest first. Limited to one chain if an anchor is given. */
export function listRotations(
  db: TenantDb,
  anchor: Uint8Array | null,
  page: { limit: number; offset: number },
): Promise<RotationRow[]> {
  let query = from(db, 'cgr_rotations').select(ROTATION_COLUMNS)
  if (anchor !== null) query = query.where('anchor', '=', anchor)
  return db.all(query.orderBy('seq').limit(page.limit).offset(page.offset))
}

const ATTESTATION_COLUMNS = ['seq', 'attestation_id', 'agent_no', 'secret_no', 'sealed'] as const

export const insertAttestation = (tx: Tx, row: AttestationRow) =>
  tx.run(insertInto(tx, 'cgr_attestations', row))

export const findAttestation = (
  db: TenantDb,
  attestation_id: Uint8Array,
): Promise<AttestationRow | undefined> =>
  db.first(
    from(db, 'cgr_attestations')
      .select(ATTESTATION_COLUMNS)
      .where('attestation_id', '=', attestation_id),
  )

export const findNewestAttestation = (
  db: TenantDb,
  agent_no: number,
): Promise<AttestationRow | undefined> =>
  db.first(
    from(db, 'cgr_attestations')
      .select(ATTESTATION_COLUMNS)
      .where('agent_no', '=', agent_no)
      .orderBy('seq', 'desc')
      .limit(1),
  )

/** Newest first. */
export const listAttestations = (
  db: TenantDb,
  { limit, offset, after }: Pick<Page, 'limit' | 'offset' | 'after'>,
): Promise<AttestationRow[]> => {
  const query = from(db, 'cgr_attestations').select(ATTESTATION_COLUMNS)
  const paged = after === null ? query.offset(offset) : query.where('seq', '<', after.at)
  return db.all(paged.orderBy('seq', 'desc').limit(limit))
}

/** A batch of all attestations in log order. */
export const listAttestationsAfter = (
  db: TenantDb,
  seq: number,
  limit: number,
): Promise<AttestationRow[]> =>
  db.all(
    from(db, 'cgr_attestations')
      .select(ATTESTATION_COLUMNS)
      .where('seq', '>', seq)
      .orderBy('seq')
      .limit(limit),
  )

export const updateRedactedAttestation = (tx: Tx, seq: number, sealed: Uint8Array) =>
  tx.run(
    update(tx, 'cgr_attestations')
      .set({ sealed, secret_no: REDACTED_SECRET })
      .where('seq', '=', seq),
  )

/** The id of the log entry at this position: its leaf hash. */
export async function findEntryId(db: TenantDb, seq: number): Promise<string | null> {
  const row = await db.first(from(db, 'breadcrumbs').select('breadcrumb_id').where('seq', '=', seq))
  return row ? Buffer.from(row.breadcrumb_id).toString('hex') : null
}
