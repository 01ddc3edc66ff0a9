// The face of the artifact registry: handlers, and its kind of record for approvals.

import type { artifacts } from '@custos/contract'
import type { HandlersOf } from '../../platform/call.ts'
import { approve, certify, reject } from './decide.ts'
import { get, integrity, list, stats, verify } from './reads.ts'
import { register } from './register.ts'

export { artifactRegistry } from './artifact-registry.ts'

export const artifactsHandlers = {
  register,
  stats,
  list,
  get,
  verify,
  integrity,
  certify,
  approve,
  reject,
} satisfies HandlersOf<typeof artifacts>
