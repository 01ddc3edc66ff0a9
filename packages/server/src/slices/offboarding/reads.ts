// GET /v1/admin/tenants/{tenant_id}/destruction: how far it is, and the certificate.

import type { Destruction, offboarding, TenantCertificate } from '@custos/contract'
import { verifyTenantErasure } from '@custos/proof'
import type { Handler } from '../../platform/call.ts'
import { formatTime } from '../../platform/clock.ts'
import { findTenant } from '../../platform/db/control.sql.ts'
import { findDestruction } from '../../platform/db/destructions.sql.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'

export const destruction: Handler<typeof offboarding.destruction> = async (call, { params }) => {
  const { kernel } = call
  const { tenant_id } = params
  const tenant = await kernel.db.read(tenant_id, (db) => findTenant(db, tenant_id))
  if (!tenant) return call.refuse('tenant_not_found')
  return loadDestruction(kernel, tenant_id)
}

/** Refuses `certificate_not_found` for a tenant that is not off-boarded. */
export async function loadDestruction(kernel: Kernel, tenant_id: string): Promise<Destruction> {
  const row = await kernel.db.read(tenant_id, (db) => findDestruction(db, tenant_id))
  if (!row) throw new Refusal('certificate_not_found', 'the tenant is not off-boarded')
  const { record, destroyed_us, removed_us, job_id } = row
  const certificate: TenantCertificate | null = record === null ? null : JSON.parse(record)
  // Found now: what lies in the data may have been changed since destruction.ts wrote it.
  const keys = kernel.keyring.publishedKeys()
  const verified =
    certificate === null ? null : (await verifyTenantErasure(certificate, keys)).valid
  const removing = job_id === null ? 'waiting' : 'removing'
  return {
    tenant_id,
    status: record === null ? 'destroying' : 'destroyed',
    requested_at: formatTime(row.requested_us),
    destroyed_at: destroyed_us === null ? null : formatTime(destroyed_us),
    certificate,
    verified,
    removal: {
      state: removed_us === null ? removing : 'removed',
      removed_at: removed_us === null ? null : formatTime(removed_us),
    },
  }
}
