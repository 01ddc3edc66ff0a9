// POST /v1/admin/tenants/{tenant_id}/destroy-key: what comes before anything is destroyed.

import type { offboarding } from '@custos/contract'
import type { Call, Handler } from '../../platform/call.ts'
import { findTenant } from '../../platform/db/control.sql.ts'
import { findDestruction } from '../../platform/db/destructions.sql.ts'
import { inErasureTurn } from '../../platform/erasure-turn.ts'
import { erasureSigner, finishPending } from '../erasure/index.ts'
import { LOCAL_TENANT } from '../tenants/index.ts'
import { continueDestruction } from './destruction.ts'
import { markDestroyed } from './mark.ts'
import { reasonsOf } from './plan.ts'
import { loadDestruction } from './reads.ts'
import { passed } from './steps.ts'

type Destroy = typeof offboarding.destroy_key

const CERTIFICATE_ID_BYTES = 16

export const destroyKey: Handler<Destroy> = async (call, { params, body }) => {
  const { kernel } = call
  const { tenant_id } = params
  const tenant = await kernel.db.read(tenant_id, (db) => findTenant(db, tenant_id))
  if (!tenant) return call.refuse('tenant_not_found')
  if (body.confirm !== `destroy ${tenant_id}`)
    return call.refuse('rejected', 'confirm must be the text "destroy " and the id of the tenant')
  if (tenant.destroyed_us !== null) return loadDestruction(kernel, tenant_id)
  requirePossible(call, tenant_id)

  await inErasureTurn(kernel, tenant_id, async () => {
    const begun = await kernel.db.read(tenant_id, (db) => findDestruction(db, tenant_id))
    if (!begun) {
      await finishPending(kernel, tenant_id)
      const certificate_id = kernel.ids.hex(CERTIFICATE_ID_BYTES)
      const requested_us = kernel.clock.now()
      const reasons = reasonsOf(body)
      const marking = { certificate_id, requested_us, reasons, despite_holds: false }
      await kernel.db.transact(tenant_id, (tx) => markDestroyed(kernel, tx, marking))
      await passed(kernel, 'marked')
    }
    await continueDestruction(kernel, tenant_id)
  })
  return loadDestruction(kernel, tenant_id)
}

function requirePossible(call: Call<Destroy>, tenant_id: string): void {
  const { kernel } = call
  if (kernel.settings.auth === 'local' && tenant_id === LOCAL_TENANT)
    call.refuse(
      'wrong_state',
      'local mode runs on this tenant: stop the service and delete its data directory instead',
    )
  // Without them there would be no certificate: asked before the first step.
  erasureSigner(kernel)
  kernel.keyring.signer('checkpoint')
}
