// Queries on parts of plans in the ledger, and on the renewed secrets of their records.

import { sql } from 'kysely'
import { chunksOf, type KeyringQueries, type KeyringTx } from '../core/database.ts'
import type { RenewalRow } from '../core/tables.ts'
import type { LedgerPart, LedgerParts } from '../keyring.ts'
import { KeyringError } from '../keyring-error.ts'

const CHUNK = 500

/**
 * @param process_id the process that adds to the plan in a shared keyring; null if the part is from
 * a ledger copy
 * @returns false if the part exists already
 */
export async function insertPart(
  tx: KeyringTx,
  part: LedgerPart,
  process_id: string | null,
): Promise<boolean> {
  const { parts_id, tenant_id, renewals } = part
  const row = { parts_id, part: part.part, tenant_id, plan: JSON.stringify(part.plan) }
  const query = tx.tables
    .insertInto('ledger_parts')
    .values(process_id === null ? row : { ...row, process_id })
  if ((await tx.run(query.onConflict((on) => on.doNothing()))) === 0) return false
  const rows = renewals.map(({ number, renewed_as, box }) => ({
    parts_id,
    number,
    tenant_id,
    part: part.part,
    renewed_as,
    box,
  }))
  for (const chunk of chunksOf(rows, CHUNK))
    await tx.run(tx.tables.insertInto('ledger_renewals').values(chunk))
  return true
}

async function findPart(
  db: KeyringQueries,
  parts_id: string,
  part: number,
): Promise<LedgerPart | undefined> {
  const row = await db.first(
    db.tables
      .selectFrom('ledger_parts')
      .select(['tenant_id', 'plan'])
      .where('parts_id', '=', parts_id)
      .where('part', '=', part),
  )
  if (!row) return undefined
  const renewals = await db.all(
    db.tables
      .selectFrom('ledger_renewals')
      .select(['number', 'renewed_as', 'box'])
      .where('parts_id', '=', parts_id)
      .where('part', '=', part)
      .orderBy('number'),
  )
  return {
    tenant_id: row.tenant_id,
    parts_id,
    part,
    plan: JSON.parse(row.plan),
    // Copies, because rows of SQLite have no prototype.
    renewals: renewals.map((renewal) => ({ ...renewal })),
  }
}

/** Throws `ledger_parts_missing` if there is no such part. */
export async function loadPart(
  db: KeyringQueries,
  parts_id: string,
  part: number,
): Promise<LedgerPart> {
  const found = await findPart(db, parts_id, part)
  if (!found) throw new KeyringError('ledger_parts_missing', `part ${part} is missing`)
  return found
}

/** Call it in the transaction of the claiming entry. Names the old secrets as destroyed. */
export async function claimParts(tx: KeyringTx, { parts_id, count }: LedgerParts): Promise<void> {
  const row = await tx.first(
    tx.tables
      .selectFrom('ledger_parts')
      .select((eb) => eb.fn.countAll<number>().as('n'))
      .where('parts_id', '=', parts_id),
  )
  if (row?.n !== count)
    throw new KeyringError('ledger_parts_missing', `${row?.n ?? 0} of ${count} parts are here`)
  await tx.run(
    tx.tables
      .insertInto('ledger_secrets')
      .columns(['tenant_id', 'kind', 'number'])
      .expression((eb) =>
        eb
          .selectFrom('ledger_renewals')
          .select(['tenant_id', sql.lit('decision').as('kind'), 'number'])
          .where('parts_id', '=', parts_id),
      )
      .onConflict((on) => on.doNothing()),
  )
}

export async function isClaimed(db: KeyringQueries, parts_id: string): Promise<boolean> {
  const query = db.tables.selectFrom('ledger').select('ledger_id').where('parts_id', '=', parts_id)
  return (await db.first(query.limit(1))) !== undefined
}

/** Parts without an entry; the engines add whether a process may still claim them. */
export const selectUnclaimed = (db: KeyringQueries) =>
  db.tables
    .selectFrom('ledger_parts')
    .select('ledger_parts.parts_id')
    .distinct()
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('ledger')
            .select('ledger_id')
            .whereRef('ledger.parts_id', '=', 'ledger_parts.parts_id'),
        ),
      ),
    )

/** Renewals of one plan with `number > after`, ascending. */
export async function listRenewals(
  db: KeyringQueries,
  parts_id: string,
  page: { after: number; limit: number },
): Promise<RenewalRow[]> {
  return db.all(
    db.tables
      .selectFrom('ledger_renewals')
      .select(['tenant_id', 'number', 'renewed_as', 'box'])
      .where('parts_id', '=', parts_id)
      .where('number', '>', page.after)
      .orderBy('number')
      .limit(page.limit),
  )
}

/** Renewals of plans that an entry claims. */
export const selectClaimedRenewals = (db: KeyringQueries) =>
  db.tables
    .selectFrom('ledger_renewals as r')
    .select(['r.tenant_id', 'r.number', 'r.renewed_as', 'r.box'])
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('ledger').select('ledger_id').whereRef('ledger.parts_id', '=', 'r.parts_id'),
      ),
    )

export async function deleteParts(tx: KeyringTx, parts_id: string): Promise<void> {
  await tx.run(tx.tables.deleteFrom('ledger_renewals').where('parts_id', '=', parts_id))
  await tx.run(tx.tables.deleteFrom('ledger_parts').where('parts_id', '=', parts_id))
}
