// GET and PUT /v1/hitl/settings: what the tenant asks of an approval.

import {
  APPROVAL_SECONDS,
  type ApprovalSettings,
  type approvals as contract,
} from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { findSettings, loadSettings, upsertSettings } from '../records/index.ts'
import { meter } from '../tenants/index.ts'

export const settings: Handler<typeof contract.settings> = async (call) => ({
  ...(await loadSettings(call.kernel, call.tenant_id)),
})

export const changeSettings: Handler<typeof contract.change_settings> = (call, { body }) =>
  // Units of a tenant run one after another: what is read here is what is changed.
  call.transact(async (tx) => {
    const before = await findSettings(tx)
    const wanted: ApprovalSettings = {
      different_credential: body.different_credential ?? before?.different_credential === 1,
      attestation_required: body.attestation_required ?? before?.attestation_required === 1,
      expires_after_seconds:
        body.expires_after_seconds ?? before?.expires_after_s ?? APPROVAL_SECONDS.default,
    }
    const changed_by = call.principal.key_id
    await upsertSettings(tx, {
      different_credential: wanted.different_credential ? 1 : 0,
      attestation_required: wanted.attestation_required ? 1 : 0,
      expires_after_s: wanted.expires_after_seconds,
      changed_us: tx.now(),
      changed_by,
    })
    meter(tx, call.operation.id)
    await appendCrumb(tx, {
      event_type: 'approval.settings_changed',
      subject: tx.tenant_id,
      payload: { ...wanted, changed_by },
    })
    return wanted
  })
