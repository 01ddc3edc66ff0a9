// POST /v1/erasure/subject/{request_id}/extend: two further months, once, before it is due.

import type { subjects } from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import { formatTime } from '../../platform/clock.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { meter } from '../tenants/index.ts'
import { extendedDue } from './due.ts'
import { findVisible } from './reads.ts'
import { sealReason } from './sealed-words.ts'
import { bytesOf, showRequest } from './show.ts'
import { findRequest, type RequestRow, updateOpen } from './subjects.sql.ts'

export const extend: Handler<typeof subjects.extend> = async (call, { params, body }) => {
  const { kernel, tenant_id } = call
  const { request_id } = params
  const seen = await findVisible(call, request_id)
  if (!seen) return call.refuse('subject_request_not_found')
  const { secret_no } = seen
  const sealed = { request_id, secret_no, reason: body.reason }
  const sealed_reason = await sealReason(kernel, tenant_id, sealed)
  return call.transact(async (tx) => {
    const row = await findRequest(tx, bytesOf(request_id))
    const fault = row && faultOf(row, tx.now())
    if (!row || fault || !sealed_reason) return call.refuse('wrong_state', fault ?? DONE)
    meter(tx, call.operation.id)
    const due_us = extendedDue(row.received_us, row.due_us)
    const change = { due_us, extended_us: tx.now(), sealed_reason }
    await updateOpen(tx, row.request_id, change)
    await appendCrumb(tx, {
      event_type: 'subject.extended',
      subject: request_id,
      payload: {
        due_at: formatTime(due_us),
        previous_due_at: formatTime(row.due_us),
        extended_by: call.principal.key_id,
      },
    })
    return showRequest(tenant_id, { ...row, ...change }, tx.now())
  })
}

const DONE = 'the request is done'

/** Null: it may be extended. */
function faultOf({ completed_us, extended_us, due_us }: RequestRow, now_us: number): string | null {
  if (completed_us !== null) return DONE
  if (extended_us !== null) return 'the request has been extended once already'
  return due_us <= now_us ? 'the request was due before it was extended' : null
}
