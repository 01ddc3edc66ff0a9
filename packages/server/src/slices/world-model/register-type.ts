// POST /v1/world-model/types: read, proposed, registered; the next version where one is there.

import type { worldModel as contract } from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import { proposeRecord } from '../records/index.ts'
import { openType } from './find-types.ts'
import { isObject } from './schema-keywords.ts'
import { showType, typeRegistry } from './type-registry.ts'
import { readSpec, specRefusal } from './type-spec.ts'

export const registerType: Handler<typeof contract.register_type> = async (call, { body }) => {
  const { kind, name, spec } = body
  if (!isObject(spec)) throw specRefusal(['body', 'spec'], 'must be an object')
  readSpec({ kind, name }, spec)

  const { record } = await proposeRecord(call, typeRegistry(), { kind, name, spec })
  return showType(openType(record), call.tenant_id)
}
