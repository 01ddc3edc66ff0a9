// GET /v1/templates: what can be installed.

import type { templates as contract } from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import { pageOf } from '../../platform/page.ts'
import { listTemplates } from './catalogue.ts'

const PAGE = 50

export const list: Handler<typeof contract.list> = async (_call, { query }) => {
  const page = pageOf(query, PAGE)
  const shown = listTemplates()
    .slice(page.offset, page.offset + page.limit)
    .map(({ id, name, version, description }) => ({ id, name, version, description }))
  return page.envelope('templates', shown)
}
