// Approvals: enrolls, lists, changes and revokes approvers. Also the handlers.

import {
  APPROVERS_MAX,
  type Approver,
  type approvals,
  type approvals as contract,
  type InputOf,
  limits,
} from '@custos/contract'
import { Conflict, retryOnConflict } from '../../platform/concurrency.ts'
import type { Call, Handler, HandlersOf } from '../../platform/kernel/call.ts'
import { pageOf } from '../../platform/page.ts'
import { meter } from '../tenants/index.ts'
import { attest, changeSettings, request, requests, settings, verify } from './approval-requests.ts'
import {
  type ApproverContent,
  type ApproverEvent,
  appendApproverEvent,
  approverColumn,
  openApprovers,
  showApprover,
  showApprovers,
} from './approver.ts'
import {
  type ApproverRow,
  countApprovers,
  findApprover,
  findApproverByKey,
  insertApprover,
  listApprovers,
  updateApproverRow,
} from './approvers.sql.ts'
import { isSoundPublicKey } from './public-key.ts'

const APPROVER_ID_BYTES = 12

/** POST /v1/hitl/approvers: enrolls a person with a public key. */
const enroll: Handler<typeof contract.enroll> = async (call, { body }) => {
  const { kernel, tenant_id, principal } = call
  const public_key = Buffer.from(body.public_key, 'hex')
  if (!isSoundPublicKey(public_key))
    return call.refuse('rejected', 'public_key is not a public key of Ed25519')
  const approver_id = kernel.ids.hex(APPROVER_ID_BYTES)
  const content = { name: body.name, role: body.role ?? null }
  const sealed = await approverColumn.sealNew(kernel, tenant_id, { approver_id }, content)

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
    // Written by `run` above.
    replay: async (_, ids) => String(ids['approver_id']),
  })
  const row = await call.read((db) => findApprover(db, enrolled))
  const [shown] = row ? await showApprovers(kernel, tenant_id, [row]) : []
  return shown ?? call.refuse('unavailable')
}

const ENROLLED = 'the key is enrolled already; an approver that was revoked can be made active'

const approvers: Handler<typeof contract.approvers> = async (call, { query }) => {
  const page = pageOf(query, limits.records_page.default, call.operation.id)
  const rows = await call.read((db) => listApprovers(db, page))
  const last = rows.at(-1)
  const end = last ? { at: last.created_us, id: last.approver_id } : null
  return page.envelope('approvers', await showApprovers(call.kernel, call.tenant_id, rows), end)
}

const approver: Handler<typeof contract.approver> = async (call, { params }) => {
  const row = await call.read((db) => findApprover(db, params.approver_id))
  const [shown] = row ? await showApprovers(call.kernel, call.tenant_id, [row]) : []
  return shown ?? call.refuse('approver_not_found')
}

/** PUT /v1/hitl/approvers/{approver_id}: changes name and role, and enrolls again. */
const updateApprover: Handler<typeof contract.update_approver> = async (call, { params, body }) =>
  (await change(call, params.approver_id, body)).approver

/** DELETE /v1/hitl/approvers/{approver_id}: revokes; the approver stays listed. */
const revokeApprover: Handler<typeof contract.revoke> = async (call, { params }) => {
  const { approver_id } = params
  const { event } = await change(call, approver_id, { active: false })
  return { approver_id, revoked: event === 'approver.revoked' }
}

const APPROVER_RETRY = {
  on: 'approver',
  attempts: 5,
  message: 'the approver is being changed',
} as const

const change = (
  call: Call,
  approver_id: string,
  update: InputOf<typeof contract.update_approver>['body'],
) => retryOnConflict(() => changeOnce(call, approver_id, update), APPROVER_RETRY)

async function changeOnce(
  call: Call,
  approver_id: string,
  update: InputOf<typeof contract.update_approver>['body'],
): Promise<{ readonly approver: Approver; readonly event: ApproverEvent | null }> {
  const { kernel, tenant_id, principal } = call
  const before = await call.read((db) => findApprover(db, approver_id))
  if (!before) return call.refuse('approver_not_found')
  const [opened] = await openApprovers(kernel, tenant_id, [before])
  if (!opened) return call.refuse('approver_not_found')
  const { content: known } = opened
  const content = { name: update.name ?? known.name, role: update.role ?? known.role }
  const active = update.active ?? before.active === 1
  const event = eventOf({ before, known }, { content, active })
  if (event === null) return { approver: showApprover(before, known), event }

  // Sealed under the same secret, so that one redaction destroys every copy of the name.
  const again = await approverColumn.sealAgain(kernel, tenant_id, before, content)
  const sealed = again
    ? { secret_no: before.secret_no, sealed: again }
    : await approverColumn.sealNew(kernel, tenant_id, { approver_id }, content)
  return call.transact(async (tx) => {
    const row = { ...before, ...sealed, active: active ? 1 : 0, changed_us: tx.now() }
    if (!(await updateApproverRow(tx, before, row))) throw new Conflict('approver')
    meter(tx, call.operation.id)
    await appendApproverEvent(tx, event, { row, changed_by: principal.key_id })
    return { approver: showApprover(row, content), event }
  })
}

/** The event that a change logs, or `null` if nothing changes. */
function eventOf(
  { before, known }: { before: ApproverRow; known: ApproverContent },
  { content, active }: { content: ApproverContent; active: boolean },
): ApproverEvent | null {
  if (active !== (before.active === 1)) return active ? 'approver.enrolled' : 'approver.revoked'
  return content.name === known.name && content.role === known.role ? null : 'approver.updated'
}

export { approverTextSource } from './approver.ts'
export const approvalsHandlers = {
  requests,
  request,
  attest,
  verify,
  enroll,
  approvers,
  approver,
  update_approver: updateApprover,
  revoke: revokeApprover,
  settings,
  change_settings: changeSettings,
} satisfies HandlersOf<typeof approvals>
