// The face of the artifact registry: handlers, and the registry for approvals.

import type { artifacts } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { registryHandlers } from '../records/index.ts'
import { artifactRegistry, artifactView } from './artifact-registry.ts'
import { certify, integrity, register, verify } from './operations.ts'

export { artifactRegistry } from './artifact-registry.ts'

export const artifactsHandlers = {
  ...registryHandlers(artifactRegistry, artifactView),
  register,
  verify,
  integrity,
  certify,
} satisfies HandlersOf<typeof artifacts>
