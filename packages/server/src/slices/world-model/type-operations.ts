// The operations of types: register, list, get and verify.

import { type worldModel as contract, limits } from '@custos/contract'
import { isObject } from '@custos/proof'
import type { Call, Handler } from '../../platform/kernel/call.ts'
import { pageOf } from '../../platform/page.ts'
import { checksOf, proposeRecord, verifyDocument } from '../records/index.ts'
import {
  findVersion,
  listTitles,
  type OpenType,
  openType,
  openTypesInBatches,
} from './find-types.ts'
import { showListedType, showType, typeRegistry } from './type-registry.ts'
import { readSpec, specRefusal, typeKindOf } from './type-spec.ts'

/** POST /v1/world-model/types: the first version of a type, or the next one. */
export const registerType: Handler<typeof contract.register_type> = async (call, { body }) => {
  const { kind, name, spec } = body
  if (!isObject(spec)) throw specRefusal(['body', 'spec'], 'must be an object')
  readSpec({ kind, name }, spec)

  const record = await proposeRecord(call, typeRegistry(), { kind, name, spec })
  return showType(openType(record), call.tenant_id)
}

export const listTypes: Handler<typeof contract.list_types> = async (call, { query }) => {
  const { kernel, tenant_id } = call
  const page = pageOf(query, limits.records_page.default)
  const titles = await listTitles(kernel, tenant_id)
  const ids = titles
    .filter(({ kind }) => query.kind === undefined || kind === query.kind)
    .slice(page.offset, page.offset + page.limit)
    .map(({ record_id }) => record_id)
  const show = (type: OpenType) => showListedType(type, tenant_id)
  return page.envelope('types', await openTypesInBatches(kernel, tenant_id, ids, show))
}

const loadType = async (
  call: Call,
  version: { type_id: string; version?: number | undefined },
): Promise<OpenType> =>
  (await findVersion(call.kernel, call.tenant_id, version)) ?? call.refuse('type_not_found')

export const getType: Handler<typeof contract.get_type> = async (call, { params, query }) =>
  showType(await loadType(call, { ...params, ...query }), call.tenant_id)

export const verifyType: Handler<typeof contract.verify_type> = async (call, { params, query }) => {
  const type = await loadType(call, { ...params, ...query })
  const verdict = await verifyDocument(call.kernel, typeRegistry(), type.record)
  return {
    passed: verdict?.valid ?? false,
    checks: checksOf(verdict),
    not_checked: [...(verdict?.not_checked ?? [])],
    reason: verdict?.reason ?? null,
    kind: typeKindOf(type.request),
    name: type.request.name,
    version: type.record.row.version,
  }
}
