// SQL of approvals: approval requests, the decision on each, and the tenant's settings.

import type { Database } from '../../platform/db/database.ts'
import { listTenantsWith } from '../../platform/db/engines/first-of-each.ts'
import { pageByTime } from '../../platform/db/page-by-time.ts'
import type { Row } from '../../platform/db/schema/tables.ts'
import { statement } from '../../platform/db/statement.ts'
import { from, insertInto, type TenantDb, type Tx, update } from '../../platform/db/tenant-db.ts'
import { REDACTED_SECRET } from '../../platform/kernel/sealed-column.ts'
import type { Page } from '../../platform/page.ts'

export type ApprovalRow = Row<'approvals'>

const COLUMNS = [
  'request_id',
  'kind',
  'record_id',
  'state',
  'proposal_digest',
  'policy_set',
  'escalations',
  'requested_by',
  'nonce',
  'issued_us',
  'expires_us',
  'decided_us',
  'decided_by',
  'approver_id',
  'secret_no',
  'sealed',
] as const

export const insertApproval = (tx: Tx, row: ApprovalRow) => tx.run(insertInto(tx, 'approvals', row))

export const findApproval = (db: TenantDb, request_id: string): Promise<ApprovalRow | undefined> =>
  db.first(from(db, 'approvals').select(COLUMNS).where('request_id', '=', request_id))

interface ApprovalPage extends Pick<Page, 'limit' | 'offset' | 'after'> {
  /** `pending` and `expired` are relative to `now_us`, because the row's `state` may lag behind. */
  readonly state: 'pending' | 'approved' | 'denied' | 'expired' | 'all'
  readonly now_us: number
}

/** Newest first. */
export function listApprovals(db: TenantDb, page: ApprovalPage): Promise<ApprovalRow[]> {
  const { state, now_us } = page
  let query = from(db, 'approvals').select(COLUMNS)
  if (state === 'pending')
    query = query.where('state', '=', 'pending').where('expires_us', '>', now_us)
  // An overdue row keeps its old state until `updateExpired`.
  else if (state === 'expired')
    query = query.where((e) =>
      e.or([
        e('state', '=', 'expired'),
        e.and([e('state', '=', 'pending'), e('expires_us', '<=', now_us)]),
      ]),
    )
  else if (state !== 'all') query = query.where('state', '=', state)
  return db.all(pageByTime(query, { time: 'issued_us', order: 'newest', id: 'request_id' }, page))
}

/** Pending approval requests that are overdue, oldest first. */
export const listOverdue = (db: TenantDb, now_us: number, limit: number): Promise<ApprovalRow[]> =>
  db.all(
    from(db, 'approvals')
      .select(COLUMNS)
      .where('state', '=', 'pending')
      .where('expires_us', '<=', now_us)
      .orderBy('expires_us')
      .limit(limit),
  )

export const updateRedactedApproval = (tx: Tx, request_id: string, sealed: Uint8Array) =>
  tx.run(
    update(tx, 'approvals')
      .set({ sealed, secret_no: REDACTED_SECRET })
      .where('request_id', '=', request_id),
  )

interface ApprovalDecisionRow {
  readonly request_id: string
  /** The secret that the row was opened with; a redaction replaces it. */
  readonly secret_no: number
  readonly state: 'approved' | 'denied'
  readonly decided_us: number
  readonly decided_by: string
  readonly approver_id: string | null
  readonly sealed: Uint8Array
}

/**
 * Records the decision; one conditional update decides races. Returns false if the request is
 * already decided or overdue.
 */
export async function updateDecided(tx: Tx, decided: ApprovalDecisionRow): Promise<boolean> {
  const { request_id, secret_no, ...row } = decided
  const changed = await tx.run(
    update(tx, 'approvals')
      .set(row)
      .where('request_id', '=', request_id)
      .where('secret_no', '=', secret_no)
      .where('state', '=', 'pending')
      .where('expires_us', '>', tx.now()),
  )
  return changed === 1
}

/**
 * Marks a request as expired. Returns false if it was decided, or is not overdue.
 * @param due_us requests that expire by this time are overdue
 */
export async function updateExpired(tx: Tx, request_id: string, due_us: number): Promise<boolean> {
  const changed = await tx.run(
    update(tx, 'approvals')
      .set({ state: 'expired' })
      .where('request_id', '=', request_id)
      .where('state', '=', 'pending')
      .where('expires_us', '<=', due_us),
  )
  return changed === 1
}

export const findSettings = (db: TenantDb): Promise<Row<'approval_settings'> | undefined> =>
  db.first(
    from(db, 'approval_settings').select([
      'different_credential',
      'attestation_required',
      'expires_after_s',
      'changed_us',
      'changed_by',
    ]),
  )

export const upsertSettings = (tx: Tx, row: Row<'approval_settings'>) =>
  tx.run(
    insertInto(tx, 'approval_settings', row).onConflict((conflict) =>
      conflict.columns(['tenant_id']).doUpdateSet(row),
    ),
  )

/** One page of all approval requests by id, for the consistency check. */
export const listAllApprovals = (
  db: TenantDb,
  after: string,
  limit: number,
): Promise<ApprovalRow[]> =>
  db.all(
    from(db, 'approvals')
      .select(COLUMNS)
      .where('request_id', '>', after)
      .orderBy('request_id')
      .limit(limit),
  )

const overdueStatement = statement<{ now_us: number }>()((k, p) =>
  k
    .selectFrom('approvals')
    .select('request_id')
    .where('tenant_id', '=', p.tenant_id)
    .where('state', '=', 'pending')
    .where('expires_us', '<=', p.now_us)
    .orderBy('expires_us')
    .limit((e) => e.lit(1)),
)

/** Returns those of `tenants` that have an overdue approval request. */
export const findOverdueTenants = (
  db: Database,
  tenants: readonly string[],
  now_us: number,
): Promise<string[]> =>
  listTenantsWith(db, tenants, { statement: overdueStatement, params: { now_us } })
