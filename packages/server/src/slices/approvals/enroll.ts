// POST /v1/hitl/approvers: an approver with a key of their own.

import { APPROVERS_MAX, type approvals as contract } from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import { meter } from '../tenants/index.ts'
import { appendApproverEvent, sealApprover, showApprovers } from './approver.ts'
import { countApprovers, findApprover, findApproverByKey, insertApprover } from './approvers.sql.ts'
import { isSoundPublicKey } from './public-key.ts'

const APPROVER_ID_BYTES = 12

export const enroll: Handler<typeof contract.enroll> = async (call, { body }) => {
  const { kernel, tenant_id, principal } = call
  const public_key = Buffer.from(body.public_key, 'hex')
  if (!isSoundPublicKey(public_key))
    return call.refuse('rejected', 'public_key is not a public key of Ed25519')
  const approver_id = kernel.ids.hex(APPROVER_ID_BYTES)
  const words = { name: body.name, role: body.role ?? null }
  const sealed = await sealApprover(kernel, { tenant_id, approver_id }, words)

  const enrolled = await call.once<string>({
    async run(tx) {
      if (await findApproverByKey(tx, public_key)) return call.refuse('rejected', ENROLLED)
      if ((await countApprovers(tx)) >= APPROVERS_MAX)
        return call.refuse('rejected', `a tenant has ${APPROVERS_MAX} approvers at most`)
      const now = tx.now()
      const times = { created_us: now, changed_us: now }
      const row = { approver_id, public_key, active: 1, ...sealed, ...times }
      if (!(await insertApprover(tx, row))) return call.refuse('rejected', ENROLLED)
      meter(tx, call.operation.id)
      await appendApproverEvent(tx, 'approver.enrolled', { row, changed_by: principal.key_id })
      return { reply: approver_id, ids: { approver_id } }
    },
    // Written by run above.
    replay: async (_, ids) => String(ids['approver_id']),
  })
  const row = await call.read((db) => findApprover(db, enrolled))
  const [shown] = row ? await showApprovers(kernel, tenant_id, [row]) : []
  return shown ?? call.refuse('unavailable')
}

const ENROLLED = 'the key is enrolled already; an approver that was revoked can be made active'
