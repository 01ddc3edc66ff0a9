// SQL of cosignatures and timestamps: what other parties signed of a tenant's checkpoints.

import type { Row, Tables } from '../../platform/db/schema/tables.ts'
import { statement } from '../../platform/db/statement.ts'
import { from, insertInto, type TenantDb, type Tx } from '../../platform/db/tenant-db.ts'

const COLUMNS = [
  'epoch_number',
  'witness',
  'generation',
  'tree_size',
  'signature',
  'signed_s',
  'created_us',
] as const

const ofEpochStatement = statement<{ epoch_number: number }>()((k, p) =>
  k
    .selectFrom('cosignatures')
    .select(COLUMNS)
    .where('tenant_id', '=', p.tenant_id)
    .where('epoch_number', '=', p.epoch_number)
    .orderBy('created_us')
    .orderBy('witness'),
)

export const listCosignatures = (db: TenantDb, epoch_number: number) =>
  db.allOf(ofEpochStatement, { epoch_number })

/** The newest cosignature of a witness on a generation of the log. */
export const findLastCosignature = (db: TenantDb, witness: string, generation: number) =>
  db.first(
    from(db, 'cosignatures')
      .select(COLUMNS)
      .where('witness', '=', witness)
      .where('generation', '=', generation)
      .orderBy('epoch_number', 'desc')
      .limit(1),
  )

/** Cosignatures of later epochs, at most `limit`, ordered by epoch. */
export const listCosignaturesAfter = (db: TenantDb, epoch_number: number, limit: number) =>
  db.all(
    from(db, 'cosignatures')
      .select(COLUMNS)
      .where('epoch_number', '>', epoch_number)
      .orderBy('epoch_number')
      .orderBy('witness')
      .limit(limit),
  )

/** Keeps the first cosignature of a witness on an epoch. */
export const insertCosignature = (tx: Tx, row: Row<'cosignatures'>) =>
  tx.run(
    insertInto(tx, 'cosignatures', row).onConflict((c) =>
      c.columns(['tenant_id', 'epoch_number', 'witness']).doNothing(),
    ),
  )

const TIMESTAMP_COLUMNS = ['epoch_number', 'token', 'stamped_us', 'created_us'] as const

const timestampStatement = statement<{ epoch_number: number }>()((k, p) =>
  k
    .selectFrom('epoch_timestamps')
    .select(TIMESTAMP_COLUMNS)
    .where('tenant_id', '=', p.tenant_id)
    .where('epoch_number', '=', p.epoch_number),
)

export const findTimestamp = (db: TenantDb, epoch_number: number) =>
  db.firstOf(timestampStatement, { epoch_number })

/** Timestamps of later epochs, at most `limit`, ordered by epoch. */
export const listTimestampsAfter = (db: TenantDb, epoch_number: number, limit: number) =>
  db.all(
    from(db, 'epoch_timestamps')
      .select(TIMESTAMP_COLUMNS)
      .where('epoch_number', '>', epoch_number)
      .orderBy('epoch_number')
      .limit(limit),
  )

/** Keeps the first timestamp of an epoch. */
export const insertTimestamp = (tx: Tx, row: Omit<Tables['epoch_timestamps'], 'tenant_id'>) =>
  tx.run(
    insertInto(tx, 'epoch_timestamps', row).onConflict((c) =>
      c.columns(['tenant_id', 'epoch_number']).doNothing(),
    ),
  )
