// The face of landing certificates: handlers, and the registry for approvals.

import type { landing } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { registryHandlers } from '../records/index.ts'
import { landingRegistry, landingView } from './landing-registry.ts'
import { approve, conformance, issue, verify } from './operations.ts'

export { landingRegistry } from './landing-registry.ts'

export const landingHandlers = {
  ...registryHandlers(landingRegistry, landingView),
  approve,
  conformance,
  issue,
  verify,
} satisfies HandlersOf<typeof landing>
