// The face of approvals: handlers for the HTTP layer.

import type { approvals } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { changeSettings, request, requests, settings } from './approval-requests.ts'
import {
  approver,
  approvers,
  enroll,
  revokeApprover,
  updateApprover,
} from './approver-operations.ts'
import { attest } from './attest.ts'
import { verify } from './verify.ts'

export { approverTextSource } from './text-sources.ts'
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
