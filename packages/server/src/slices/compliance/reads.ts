// Reads of audits: a tenant's history, the newest of every tenant, and the public badges.

import { type AuditRecord, type compliance as contract, limits } from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import { findTenant, listTenantIds } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { Handler } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { pageOf } from '../../platform/page.ts'
import { Refusal } from '../../platform/refusal.ts'
import { type AuditSummary, findNewestAudit, findNewestAudits, listAudits } from './audits.sql.ts'
import { badgeJson, badgeSvg } from './badge.ts'

const MILLION = 1_000_000

function show(
  tenant_id: string,
  row: AuditSummary,
  report_json: AuditRecord['report_json'],
): AuditRecord {
  // Written by recordAudit.
  const capabilities: string[] = JSON.parse(row.capabilities)
  return {
    id: row.audit_id,
    tenant_id,
    store_id: row.store_id,
    conformance_rate: row.rate_e6 / MILLION,
    capabilities,
    audited_at: formatTime(row.audited_us),
    report_json,
  }
}

export const history: Handler<typeof contract.history> = async (call, { query }) => {
  const { tenant_id, principal } = call
  if (principal.allowed_stores.length > 0)
    throw new Refusal('scope_missing', 'an audit is of a tenant; the key is limited to some stores')
  if (principal.kind === 'operator' && !(await call.read((db) => findTenant(db, tenant_id))))
    return call.refuse('tenant_not_found')
  const rows = await call.read((db) => listAudits(db, query.limit ?? limits.audits_page.default))
  return rows.map((row) => show(tenant_id, row, JSON.parse(row.record)))
}

export const status: Handler<typeof contract.status> = async (call, { query }) => {
  const { db } = call.kernel
  const page = pageOf(query, limits.page.default)
  const all = await db.read(PLATFORM, listTenantIds)
  const ids = all.slice(page.offset, page.offset + page.limit)
  const newest = await findNewestAudits(db, ids)
  const tenants = [...newest].map(([tenant_id, row]) => show(tenant_id, row, null))
  const { next_cursor } = page.envelope('ids', ids)
  return { ...page.envelope('tenants', tenants), next_cursor }
}

/** The form of every id there is: anything else is nobody's, and never reaches a query. */
const TENANT_ID = /^[\w-]{1,256}$/

/** Null for a tenant that does not exist as for one without an audit. */
async function newestRate(kernel: Kernel, tenant_id: string): Promise<number | null> {
  if (!TENANT_ID.test(tenant_id)) return null
  return (await kernel.db.read(tenant_id, findNewestAudit))?.rate_e6 ?? null
}

export const badgeSvgOf: Handler<typeof contract.badge_svg> = async ({ kernel }, { params }) =>
  badgeSvg(await newestRate(kernel, params.tenant_id))

export const badgeJsonOf: Handler<typeof contract.badge_json> = async ({ kernel }, { params }) =>
  badgeJson(await newestRate(kernel, params.tenant_id))
