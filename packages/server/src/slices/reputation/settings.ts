// GET and PUT /v1/cgr/settings: what the tenant asks of judgments, outcomes and reviews.

import type { reputation } from '@custos/contract'
import type { Handler } from '../../platform/kernel/call.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { meter } from '../tenants/index.ts'
import { findSettings, saveSettings } from './agents.sql.ts'

export const settings: Handler<typeof reputation.settings> = async (call) => ({
  ...(await call.read(findSettings)),
})

export const changeSettings: Handler<typeof reputation.change_settings> = (call, { body }) =>
  // Units of a tenant run one after another: what is read here is what is changed.
  call.transact(async (tx) => {
    const before = await findSettings(tx)
    const wanted = {
      compare_credentials: body.compare_credentials ?? before.compare_credentials,
      judgments_final: body.judgments_final ?? before.judgments_final,
    }
    const changed_by = call.principal.key_id
    await saveSettings(tx, {
      compare_credentials: wanted.compare_credentials ? 1 : 0,
      judgments_final: wanted.judgments_final ? 1 : 0,
      changed_us: tx.now(),
      changed_by,
    })
    meter(tx, call.operation.id)
    await appendCrumb(tx, {
      event_type: 'cgr.settings_changed',
      subject: tx.tenant_id,
      payload: { ...wanted, changed_by },
    })
    return wanted
  })
