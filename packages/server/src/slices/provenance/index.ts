// The face of provenance: handlers for the HTTP layer.

import type { provenance } from '@custos/contract'
import type { HandlersOf } from '../../platform/call.ts'
import { proof } from './prove.ts'
import { block, get, list, stats } from './reads.ts'
import { register } from './register.ts'
import { verify } from './verify.ts'

export const provenanceHandlers = {
  register,
  list,
  stats,
  get,
  verify,
  proof,
  block,
} satisfies HandlersOf<typeof provenance>
