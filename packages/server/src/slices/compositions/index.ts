// The face of compositions: handlers for the HTTP layer, the registry for approvals.

import type { compositions } from '@custos/contract'
import type { HandlersOf } from '../../platform/call.ts'
import { compose } from './compose.ts'
import { approve, reject } from './decide.ts'
import { artifact, get, list, stats, verify } from './reads.ts'

export { compositionRegistry } from './composition-registry.ts'

export const compositionsHandlers = {
  compose,
  list,
  stats,
  get,
  verify,
  artifact,
  approve,
  reject,
} satisfies HandlersOf<typeof compositions>
