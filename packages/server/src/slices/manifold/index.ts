// The face of the manifold: handlers for the HTTP layer.

import type { manifold } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { clearCache, exportManifold, field, locate, picture } from './reads.ts'

export const manifoldHandlers = {
  field,
  picture,
  export: exportManifold,
  locate,
  clear_cache: clearCache,
} satisfies HandlersOf<typeof manifold>
