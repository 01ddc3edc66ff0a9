// The face of compliance: audits of conformance, and what is told of them.

import type { compliance } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { badgeJsonOf, badgeSvgOf, history, status } from './reads.ts'

export { type AuditMeasure, recordAudit, type SignedAudit, signAudit } from './record-audit.ts'

export const complianceHandlers = {
  history,
  status,
  badge_svg: badgeSvgOf,
  badge_json: badgeJsonOf,
} satisfies HandlersOf<typeof compliance>
