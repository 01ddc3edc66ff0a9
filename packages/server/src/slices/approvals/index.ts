// The face of approvals: handlers, and what the clock does to requests.

import type { approvals } from '@custos/contract'
import type { HandlersOf } from '../../platform/call.ts'
import { attest } from './attest.ts'
import { revokeApprover, updateApprover } from './change-approver.ts'
import { enroll } from './enroll.ts'
import * as reads from './reads.ts'
import { changeSettings, settings } from './settings.ts'
import { verify } from './verify.ts'

export { expireApprovals } from '../records/expire-requests.ts'

export const approvalsHandlers = {
  requests: reads.requests,
  request: reads.request,
  attest,
  verify,
  enroll,
  approvers: reads.approvers,
  approver: reads.approver,
  update_approver: updateApprover,
  revoke: revokeApprover,
  settings,
  change_settings: changeSettings,
} satisfies HandlersOf<typeof approvals>
