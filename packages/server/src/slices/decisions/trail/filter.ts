// Filters of list and export: what a request selects, limited to the stores its credential reaches.

import { DAY_US, parseDateOrTime } from '../../../platform/clock.ts'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import type { Principal } from '../../../platform/kernel/call.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { seqAt } from '../../gcrumbs/index.ts'
import type { DecisionFilter, DecisionRow } from './decisions.sql.ts'

interface DecisionQuery {
  readonly store_id?: string
  readonly session_id?: string
  readonly model_id?: string
  readonly from?: string
  readonly to?: string
}

/** `none` if no decision can match, because the credential may not see the store. */
export type VisibleFilter = DecisionFilter | 'none'

/** Maximum delay between the time that a decision shows and its log entry (see log.ts). */
const LOG_DELAY_US = 60_000_000

export async function buildDecisionFilter(
  kernel: Kernel,
  principal: Principal,
  db: TenantDb,
  query: DecisionQuery,
): Promise<VisibleFilter> {
  const store_ids = visibleStores(principal, query.store_id)
  if (store_ids?.length === 0) return 'none'
  const { session_id, model_id } = query
  const session =
    session_id === undefined
      ? {}
      : { session_label: await sessionLabel(kernel, db.tenant_id, session_id) }
  return {
    ...(store_ids === undefined ? {} : { store_ids }),
    ...session,
    ...(model_id === undefined ? {} : { model_id }),
    ...(await timeFilter(db, query)),
  }
}

/** Whether a credential limited to stores may read the decision. */
export const isVisible = (principal: Principal, row: Pick<DecisionRow, 'store_id'>): boolean =>
  principal.allowed_stores.length === 0 || principal.allowed_stores.includes(row.store_id)

function visibleStores(
  principal: Principal,
  store_id: string | undefined,
): readonly string[] | undefined {
  const allowed = principal.allowed_stores
  if (store_id === undefined) return allowed.length === 0 ? undefined : allowed
  return isVisible(principal, { store_id }) ? [store_id] : []
}

async function sessionLabel(kernel: Kernel, tenant_id: string, text: string): Promise<Buffer> {
  return Buffer.from((await kernel.keyring.tenant(tenant_id)).label(text), 'hex')
}

// Times have no index, so they are mapped to a range of log positions.
async function timeFilter(db: TenantDb, { from, to }: DecisionQuery): Promise<DecisionFilter> {
  const first = parseDateOrTime(from ?? '')
  const last = parseDateOrTime(to ?? '')
  const to_us = last && (last.is_day ? last.us + DAY_US - 1 : last.us)
  return {
    ...(first && { from_us: first.us, after_seq: await seqAt(db, first.us - 1) }),
    ...(to_us !== null && { to_us, before_seq: (await seqAt(db, to_us + LOG_DELAY_US)) + 1 }),
  }
}
