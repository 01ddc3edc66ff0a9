// Conformance audits of a tenant: records and shows them and their badge.

import assert from 'node:assert/strict'
import {
  type AuditRecord,
  type compliance,
  type compliance as contract,
  limits,
} from '@custos/contract'
import { type JsonObject, signedBytes, verifyEnvelope } from '@custos/proof'
import { sha256 } from '../../platform/bytes.ts'
import { formatTime } from '../../platform/clock.ts'
import { findTenant, listTenantIds } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Handler, HandlersOf } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { pageOf } from '../../platform/page.ts'
import { Refusal } from '../../platform/refusal.ts'
import { appendCrumb, nextSeq } from '../gcrumbs/index.ts'
import {
  type AuditSummary,
  findNewestAudit,
  findNewestAudits,
  insertAudit,
  listAudits,
} from './audits.sql.ts'
import { badgeJson, badgeSvg } from './badge.ts'

const ID_BYTES = 16

/** The members of a conformance result that are read; the others are stored unchanged. */
export interface AuditMeasure {
  readonly store_ids: readonly string[]
  readonly capabilities: readonly { readonly capability: string; readonly verdict: string }[]
  readonly passed: number
  readonly tested: number
}

/** Signs before the unit of work that stores the audit, and verifies before it is published. */
export async function signAudit(
  kernel: Kernel,
  tenant_id: string,
  { result, measured }: { result: JsonObject; measured: AuditMeasure },
) {
  const signer = kernel.keyring.signer('record')
  const audit_id = kernel.ids.hex(ID_BYTES)
  const audited_us = kernel.clock.now()
  const document: JsonObject = {
    ...result,
    record_kind: 'conformance_result',
    audit_id,
    tenant_id,
    created_at: formatTime(audited_us),
  }
  const message = signedBytes('conformance_result', document)
  const record: JsonObject = {
    ...document,
    signature: signer.sign(message).toString('base64'),
    public_key: signer.public_key.toString('base64'),
    key_id: signer.key_id,
  }
  const keys = kernel.keyring.publishedKeys()
  const envelope = { type: 'record', kind: 'conformance_result', record } as const
  const verdict = await verifyEnvelope(envelope, { keys })
  assert(verdict.valid, `an audit that does not verify was made: ${verdict.reason}`)
  const record_digest = Buffer.from(sha256(message)).toString('hex')
  return { audit_id, audited_us, record, record_digest, measured }
}

/** Runs in the unit of work that ends the run. */
export async function recordAudit(
  tx: Tx,
  run_id: string,
  audit: Awaited<ReturnType<typeof signAudit>>,
): Promise<void> {
  const { passed, tested, capabilities, store_ids } = audit.measured
  const rate_e6 = tested === 0 ? 0 : Math.round((passed * MILLION) / tested)
  const passing = capabilities.filter(({ verdict }) => verdict === 'pass')
  await insertAudit(tx, {
    seq: await nextSeq(tx),
    audit_id: audit.audit_id,
    run_id,
    store_id: store_ids[0] ?? null,
    rate_e6,
    capabilities: JSON.stringify(passing.map(({ capability }) => capability)),
    audited_us: audit.audited_us,
    record: JSON.stringify(audit.record),
  })
  await appendCrumb(tx, {
    event_type: 'conformance.audited',
    subject: audit.audit_id,
    payload: { run_id, rate_e6, passed, tested, record_digest: audit.record_digest },
  })
}

const MILLION = 1_000_000

function show(
  tenant_id: string,
  row: AuditSummary,
  report_json: AuditRecord['report_json'],
): AuditRecord {
  // Written by `recordAudit`.
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

const history: Handler<typeof contract.history> = async (call, { query }) => {
  const { tenant_id, principal } = call
  if (principal.allowed_stores.length > 0)
    throw new Refusal('scope_missing', 'an audit is of a tenant; the key is limited to some stores')
  if (principal.kind === 'operator' && !(await call.read((db) => findTenant(db, tenant_id))))
    return call.refuse('tenant_not_found')
  const rows = await call.read((db) => listAudits(db, query.limit ?? limits.audits_page.default))
  return rows.map((row) => show(tenant_id, row, JSON.parse(row.record)))
}

const status: Handler<typeof contract.status> = async (call, { query }) => {
  const { db } = call.kernel
  const page = pageOf(query, limits.page.default, call.operation.id)
  const all = await db.read(PLATFORM, listTenantIds)
  const { after, offset, limit } = page
  const from = after === null ? offset : all.findIndex((tenant_id) => tenant_id > after.id)
  const ids = from < 0 ? [] : all.slice(from, from + limit)
  const newest = await findNewestAudits(db, ids)
  const tenants = [...newest].map(([tenant_id, row]) => show(tenant_id, row, null))
  const last = ids.at(-1)
  const { next_cursor } = page.envelope('ids', ids, last === undefined ? null : { at: 0, id: last })
  return { ...page.envelope('tenants', tenants), next_cursor }
}

/** The format of tenant ids. Other values never reach a query. */
const TENANT_ID = /^[\w-]{1,256}$/

/** Returns `null` both for a tenant that does not exist and for one without an audit. */
async function newestRate(kernel: Kernel, tenant_id: string): Promise<number | null> {
  if (!TENANT_ID.test(tenant_id)) return null
  return (await kernel.db.read(tenant_id, findNewestAudit))?.rate_e6 ?? null
}

const badgeSvgOf: Handler<typeof contract.badge_svg> = async ({ kernel }, { params }) =>
  badgeSvg(await newestRate(kernel, params.tenant_id))

const badgeJsonOf: Handler<typeof contract.badge_json> = async ({ kernel }, { params }) =>
  badgeJson(await newestRate(kernel, params.tenant_id))

export const complianceHandlers = {
  history,
  status,
  badge_svg: badgeSvgOf,
  badge_json: badgeJsonOf,
} satisfies HandlersOf<typeof compliance>
