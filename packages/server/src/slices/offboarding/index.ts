// Off-boarding of tenants: destroys the keys, starts the job that removes rows, resumes at startup.

import type { Destruction, offboarding, TenantCertificate } from '@custos/contract'
import { verifyTenantErasure } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import { findTenant } from '../../platform/db/control.sql.ts'
import { findDestruction } from '../../platform/db/destructions.sql.ts'
import type { Call, Handler, HandlersOf } from '../../platform/kernel/call.ts'
import { runErasure } from '../../platform/kernel/erasure-queue.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { erasureSigner, finishPendingErasures } from '../erasure/index.ts'
import { showCosignatures } from '../gcrumbs/index.ts'
import { LOCAL_TENANT, loadTenant } from '../tenants/index.ts'
import { continueDestruction, markDestroyed } from './destruction.ts'
import { fillReasons, reportStep } from './plan.ts'
import { TENANT_REMOVE, tenantRemover } from './remove-job.ts'

const CERTIFICATE_ID_BYTES = 16

const destroyKey: Handler<typeof offboarding.destroy_key> = async (call, { params, body }) => {
  const { kernel } = call
  const { tenant_id } = params
  const tenant = await kernel.db.read(tenant_id, (db) => findTenant(db, tenant_id))
  if (!tenant) return call.refuse('tenant_not_found')
  if (body.confirm !== `destroy ${tenant_id}`)
    return call.refuse('rejected', 'confirm must be the text "destroy " and the id of the tenant')
  if (tenant.destroyed_us !== null) return loadDestruction(kernel, tenant_id)
  requirePreconditions(call, tenant_id)

  await runErasure(kernel, tenant_id, async () => {
    const begun = await kernel.db.read(tenant_id, (db) => findDestruction(db, tenant_id))
    if (!begun) {
      await finishPendingErasures(kernel, tenant_id)
      const certificate_id = kernel.ids.hex(CERTIFICATE_ID_BYTES)
      const requested_us = kernel.clock.now()
      const reasons = fillReasons(body)
      const marking = { certificate_id, requested_us, reasons, despite_holds: false }
      await kernel.db.transact(tenant_id, (tx) => markDestroyed(kernel, tx, marking))
      await reportStep(kernel, 'marked')
    }
    await continueDestruction(kernel, tenant_id)
  })
  return loadDestruction(kernel, tenant_id)
}

function requirePreconditions(call: Call<typeof offboarding.destroy_key>, tenant_id: string): void {
  const { kernel } = call
  if (kernel.settings.auth === 'local' && tenant_id === LOCAL_TENANT)
    call.refuse(
      'wrong_state',
      'local mode runs on this tenant: stop the service and delete its data directory instead',
    )
  // No certificate can be signed without these keys, so check before the first step.
  erasureSigner(kernel)
  kernel.keyring.signer('checkpoint')
}

const destruction: Handler<typeof offboarding.destruction> = async (call, { params }) => {
  const { kernel } = call
  const { tenant_id } = params
  await kernel.db.read(tenant_id, loadTenant)
  return loadDestruction(kernel, tenant_id)
}

/** Refuses `certificate_not_found` if the tenant is not off-boarded. */
async function loadDestruction(kernel: Kernel, tenant_id: string): Promise<Destruction> {
  const row = await kernel.db.read(tenant_id, (db) => findDestruction(db, tenant_id))
  if (!row) throw new Refusal('certificate_not_found', 'the tenant is not off-boarded')
  const { record, destroyed_us, removed_us, job_id } = row
  const certificate: TenantCertificate | null = record === null ? null : JSON.parse(record)
  // Verified now: the data may have been changed since destruction.ts wrote them.
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
    last_checkpoint: certificate && (await showLastCheckpoint(kernel, certificate)),
    removal: {
      state: removed_us === null ? removing : 'removed',
      removed_at: removed_us === null ? null : formatTime(removed_us),
    },
  }
}

/** Witnesses and authorities may answer after the certificate was signed. */
async function showLastCheckpoint(
  kernel: Kernel,
  { tenant_id, last_checkpoint: { epoch_number } }: TenantCertificate,
): Promise<NonNullable<Destruction['last_checkpoint']>> {
  const cosigners = await kernel.db.read(tenant_id, (db) =>
    showCosignatures(kernel, db, { epoch_number }),
  )
  return { epoch_number, ...cosigners }
}

export { resumeDestructions } from './destruction.ts'
export type { MovePlan } from './plan.ts'
export { removedTables } from './remove-job.ts'

export const offboardingHandlers = {
  destroy_key: destroyKey,
  destruction,
} satisfies HandlersOf<typeof offboarding>

/** Call this before the worker starts, as it resumes removals that the last stop interrupted. */
export function registerOffboardingJobs(kernel: Kernel): void {
  kernel.jobs.register(TENANT_REMOVE, tenantRemover(kernel))
}
