// The face of provenance: handlers for the HTTP layer.

import type { provenance } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { registryReads } from '../records/index.ts'
import { corpusIdentity, corpusView } from './corpus-registry.ts'
import { block, proof, register, stats, verify } from './operations.ts'

export const provenanceHandlers = {
  ...registryReads(corpusIdentity, corpusView),
  register,
  stats,
  verify,
  proof,
  block,
} satisfies HandlersOf<typeof provenance>
