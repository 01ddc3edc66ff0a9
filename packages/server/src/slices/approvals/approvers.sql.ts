// SQL of approvers: the people who may sign decisions, including revoked ones.

import { pageByTime } from '../../platform/db/page-by-time.ts'
import type { Tables } from '../../platform/db/schema/tables.ts'
import { from, insertInto, type TenantDb, type Tx, update } from '../../platform/db/tenant-db.ts'
import type { Page } from '../../platform/page.ts'

export type ApproverRow = Omit<Tables['approvers'], 'tenant_id'>

const COLUMNS = [
  'approver_id',
  'public_key',
  'active',
  'secret_no',
  'sealed',
  'created_us',
  'changed_us',
] as const

export const findApprover = (db: TenantDb, approver_id: string): Promise<ApproverRow | undefined> =>
  db.first(from(db, 'approvers').select(COLUMNS).where('approver_id', '=', approver_id))

export const findApproverByKey = (
  db: TenantDb,
  public_key: Uint8Array,
): Promise<ApproverRow | undefined> =>
  db.first(from(db, 'approvers').select(COLUMNS).where('public_key', '=', public_key))

/** Newest first. */
export const listApprovers = (
  db: TenantDb,
  page: Pick<Page, 'limit' | 'offset' | 'after'>,
): Promise<ApproverRow[]> =>
  db.all(
    pageByTime(
      from(db, 'approvers').select(COLUMNS),
      { time: 'created_us', order: 'newest', id: 'approver_id' },
      page,
    ),
  )

export async function countApprovers(db: TenantDb): Promise<number> {
  const row = await db.first(
    from(db, 'approvers').select((e) => e.fn.countAll<number>().as('count')),
  )
  return Number(row?.count ?? 0)
}

/** Returns false if the key is already enrolled. */
export async function insertApprover(tx: Tx, row: ApproverRow): Promise<boolean> {
  const inserted = await tx.run(
    insertInto(tx, 'approvers', row).onConflict((conflict) => conflict.doNothing()),
  )
  return inserted === 1
}

/** A batch of all approvers, ordered by id. */
export const listAllApprovers = (
  db: TenantDb,
  after: string,
  limit: number,
): Promise<ApproverRow[]> =>
  db.all(
    from(db, 'approvers')
      .select(COLUMNS)
      .where('approver_id', '>', after)
      .orderBy('approver_id')
      .limit(limit),
  )

export const updateRedactedApprover = (
  tx: Tx,
  approver_id: string,
  left: Pick<ApproverRow, 'secret_no' | 'sealed'>,
) => tx.run(update(tx, 'approvers').set(left).where('approver_id', '=', approver_id))

/** Returns false if the row has changed since `before` was read. */
export async function updateApproverRow(tx: Tx, before: ApproverRow, row: ApproverRow) {
  const { active, secret_no, sealed, changed_us } = row
  const changed = await tx.run(
    update(tx, 'approvers')
      .set({ active, secret_no, sealed, changed_us })
      .where('approver_id', '=', before.approver_id)
      .where('changed_us', '=', before.changed_us)
      .where('secret_no', '=', before.secret_no),
  )
  return changed === 1
}
