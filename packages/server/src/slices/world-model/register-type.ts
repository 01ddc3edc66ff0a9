// POST /v1/world-model/types: read, proposed, registered; the next version where one is there.

import type { worldModel as contract } from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import { propose } from '../records/index.ts'
import { openType } from './find-types.ts'
import { isObject } from './schema-keywords.ts'
import { showType } from './show-type.ts'
import { typeRegistry } from './type-registry.ts'
import { readSpec, refusedSpec } from './type-spec.ts'

export const registerType: Handler<typeof contract.register_type> = async (call, { body }) => {
  const { kind, name, spec } = body
  if (!isObject(spec)) throw refusedSpec(['body', 'spec'], 'must be an object')
  readSpec({ kind, name }, spec)

  const { record } = await propose(call, typeRegistry(), { kind, name, spec })
  return showType(openType(record), call.tenant_id)
}
