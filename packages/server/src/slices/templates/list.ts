// GET /v1/templates: what can be installed.

import type { templates as contract } from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import { listTemplates } from './catalogue.ts'

export const list: Handler<typeof contract.list> = async () => ({
  templates: listTemplates().map(({ id, name, version, description }) => ({
    ...{ id, name, version, description },
  })),
})
