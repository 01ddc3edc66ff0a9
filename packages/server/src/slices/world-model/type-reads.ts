// Plain reads of types: pages, versions, and what a verifier finds in one.

import type { worldModel as contract } from '@custos/contract'
import type { Call, Handler } from '../../platform/call.ts'
import { pageOf } from '../../platform/page.ts'
import { Refusal } from '../../platform/refusal.ts'
import { checksOf, verifyDocument } from '../records/index.ts'
import { findVersion, listTitles, type OpenType, openInBatches } from './find-types.ts'
import { showListedType, showType, typeRegistry } from './type-registry.ts'
import { typeKindOf } from './type-spec.ts'

type Op<K extends keyof typeof contract> = (typeof contract)[K]

const PAGE = 50

export const listTypes: Handler<Op<'list_types'>> = async (call, { query }) => {
  const { kernel, tenant_id } = call
  const page = pageOf(query, PAGE)
  const titles = await listTitles(kernel, tenant_id)
  const ids = titles
    .filter(({ kind }) => query.kind === undefined || kind === query.kind)
    .slice(page.offset, page.offset + page.limit)
    .map(({ record_id }) => record_id)
  const show = (type: OpenType) => showListedType(type, tenant_id)
  return page.envelope('types', await openInBatches(kernel, tenant_id, ids, show))
}

async function loadType(
  { kernel, tenant_id }: Call,
  wanted: { type_id: string; version?: number | undefined },
): Promise<OpenType> {
  const type = await findVersion(kernel, tenant_id, wanted)
  if (!type) throw new Refusal('type_not_found')
  return type
}

export const getType: Handler<Op<'get_type'>> = async (call, { params, query }) =>
  showType(await loadType(call, { ...params, ...query }), call.tenant_id)

export const verifyType: Handler<Op<'verify_type'>> = async (call, { params, query }) => {
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
