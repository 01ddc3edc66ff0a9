// The face of landing certificates: handlers for the HTTP layer, the registry for approvals.

import type { landing } from '@custos/contract'
import type { HandlersOf } from '../../platform/call.ts'
import { conformance } from './conformance-op.ts'
import { approve, reject } from './decide.ts'
import { issue } from './issue.ts'
import { get, list, stats } from './reads.ts'
import { verify } from './verify.ts'

export { landingRegistry } from './landing-registry.ts'

export const landingHandlers = {
  conformance,
  issue,
  stats,
  list,
  get,
  verify,
  approve,
  reject,
} satisfies HandlersOf<typeof landing>
