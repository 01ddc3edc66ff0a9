// PUT and DELETE /v1/hitl/approvers/{approver_id}: other words, revoked, active again.

import type { Approver, approvals as contract } from '@custos/contract'
import type { Call, Handler } from '../../platform/call.ts'
import { Refusal } from '../../platform/refusal.ts'
import { meter } from '../tenants/index.ts'
import {
  type ApproverContent,
  type ApproverEvent,
  appendApproverEvent,
  openApprovers,
  sealApprover,
  showApprover,
} from './approver.ts'
import { type ApproverRow, findApprover, updateApproverRow } from './approvers.sql.ts'

interface ApproverUpdate {
  readonly name?: string | null | undefined
  readonly role?: string | null | undefined
  readonly active?: boolean | null | undefined
}

export const updateApprover: Handler<typeof contract.update_approver> = async (
  call,
  { params, body },
) => (await change(call, params.approver_id, body)).approver

export const revokeApprover: Handler<typeof contract.revoke> = async (call, { params }) => {
  const { approver_id } = params
  const { event } = await change(call, approver_id, { active: false })
  return { approver_id, revoked: event === 'approver.revoked' }
}

const ATTEMPTS_MAX = 5

async function change(call: Call, approver_id: string, wanted: ApproverUpdate) {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const changed = await tryToChange(call, approver_id, wanted)
    if (changed) return changed
  }
  throw new Refusal('unavailable', 'the approver is being changed', { retry_after_s: 1 })
}

interface ApproverUpdateResult {
  readonly approver: Approver
  readonly event: ApproverEvent | null
}

/** Null: it has changed between the look at it and the unit. */
async function tryToChange(
  call: Call,
  approver_id: string,
  wanted: ApproverUpdate,
): Promise<ApproverUpdateResult | null> {
  const { kernel, tenant_id, principal } = call
  const before = await call.read((db) => findApprover(db, approver_id))
  if (!before) throw new Refusal('approver_not_found')
  const [opened] = await openApprovers(kernel, tenant_id, [before])
  if (!opened) throw new Refusal('approver_not_found')
  const known = opened.words
  const words = { name: wanted.name ?? known.name, role: wanted.role ?? known.role }
  const active = wanted.active ?? before.active === 1
  const event = eventOf({ before, known }, { words, active })
  if (event === null) return { approver: showApprover(before, known), event }

  const sealed = await sealApprover(kernel, { tenant_id, approver_id }, words)
  return call.transact(async (tx) => {
    const row = { ...before, ...sealed, active: active ? 1 : 0, changed_us: tx.now() }
    if (!(await updateApproverRow(tx, before, row))) return null
    meter(tx, call.operation.id)
    await appendApproverEvent(tx, event, { row, changed_by: principal.key_id })
    return { approver: showApprover(row, words), event }
  })
}

/** Null: nothing changes. */
function eventOf(
  { before, known }: { before: ApproverRow; known: ApproverContent },
  { words, active }: { words: ApproverContent; active: boolean },
): ApproverEvent | null {
  if (active !== (before.active === 1)) return active ? 'approver.enrolled' : 'approver.revoked'
  return words.name === known.name && words.role === known.role ? null : 'approver.updated'
}
