// The face of templates: handlers for the HTTP layer.

import type { templates } from '@custos/contract'
import type { HandlersOf } from '../../platform/call.ts'
import { install } from './install.ts'
import { list } from './list.ts'

export const templatesHandlers = { list, install } satisfies HandlersOf<typeof templates>
