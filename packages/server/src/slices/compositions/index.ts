// The face of compositions: handlers, and the registry for approvals.

import type { compositions } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { registryHandlers } from '../records/index.ts'
import { compositionRegistry, compositionView } from './composition-registry.ts'
import { artifact, compose, verify } from './operations.ts'

export { compositionRegistry } from './composition-registry.ts'

export const compositionsHandlers = {
  ...registryHandlers(compositionRegistry, compositionView),
  compose,
  verify,
  artifact,
} satisfies HandlersOf<typeof compositions>
