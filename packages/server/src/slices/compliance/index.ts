// The public interface of the compliance slice: conformance audits and their reports.

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
