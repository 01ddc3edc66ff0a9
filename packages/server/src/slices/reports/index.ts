// The face of reports.

import type { reports } from '@custos/contract'
import type { HandlersOf } from '../../platform/call.ts'
import { remove } from './delete.ts'
import { generate } from './generate.ts'
import { download, frameworks, get, list, stats } from './reads.ts'

export const reportsHandlers = {
  stats,
  frameworks,
  generate,
  list,
  get,
  download,
  delete: remove,
} satisfies HandlersOf<typeof reports>
