// The face of templates: handlers for the HTTP layer.

import type { templates } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { install, list } from './operations.ts'

export const templatesHandlers = { list, install } satisfies HandlersOf<typeof templates>
