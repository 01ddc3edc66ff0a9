// Plain reads: compositions, what they are registered as, how many there are, and verification.

import type { compositions as contract } from '@custos/contract'
import type { Call, Handler } from '../../platform/call.ts'
import { pageOf } from '../../platform/page.ts'
import { Refusal } from '../../platform/refusal.ts'
import {
  checksOf,
  countByStatus,
  findRecord,
  listRecords,
  type OpenRecord,
  showRow,
  verifyDocument,
} from '../records/index.ts'
import { compositionRegistry } from './composition-registry.ts'
import { documentOf, requestOf, showComposition, showListed } from './show-composition.ts'

type Op<K extends keyof typeof contract> = (typeof contract)[K]

const PAGE = 50

async function load({ kernel, tenant_id }: Call, composition_id: string): Promise<OpenRecord> {
  const wanted = { kind: 'composition', record_id: composition_id } as const
  const record = await findRecord(kernel, tenant_id, wanted)
  if (record === null) throw new Refusal('composition_not_found')
  return record
}

export const list: Handler<Op<'list'>> = async (call, { query }) => {
  const page = pageOf(query, PAGE)
  const { kernel, tenant_id } = call
  const show = (record: OpenRecord) => showListed(record, tenant_id)
  const listed = await listRecords(kernel, tenant_id, { kind: 'composition', page }, show)
  return page.envelope('compositions', listed)
}

export const stats: Handler<Op<'stats'>> = (call) =>
  call.read((db) => countByStatus(db, 'composition'))

export const get: Handler<Op<'get'>> = async (call, { params }) =>
  showComposition(await load(call, params.composition_id), call.tenant_id)

export const verify: Handler<Op<'verify'>> = async (call, { params }) => {
  const record = await load(call, params.composition_id)
  const { status } = showRow(record, call.tenant_id)
  const { composition_kind, members, target_ref, authority } = requestOf(record)
  const verdict = await verifyDocument(call.kernel, compositionRegistry, record)
  const unsigned = { signature: false, members_consistent: false, licenses_compatible: false }
  return {
    passed: verdict?.valid ?? false,
    checks: verdict === null ? unsigned : checksOf(verdict),
    attestation: {
      kind: composition_kind,
      members: members.map(({ ref_id }) => ref_id),
      target: target_ref,
      by: authority.human_principal,
      licenses: members.map(({ license }) => license),
    },
    status,
    unverified_members: members.filter(({ found }) => found === null).map(({ ref_id }) => ref_id),
    not_checked: [...(verdict?.not_checked ?? [])],
    reason: verdict === null ? `it is ${status}: nothing is signed` : (verdict.reason ?? null),
  }
}

export const artifact: Handler<Op<'artifact'>> = async (call, { params }) => {
  const record = await load(call, params.composition_id)
  const { status } = showRow(record, call.tenant_id)
  const document = documentOf(record)
  return {
    artifact_ref: document?.target_ref ?? null,
    composition_id: record.row.record_id,
    members: document === null ? null : [...document.member_ids],
    kind: document?.composition_kind ?? null,
    status,
  }
}
