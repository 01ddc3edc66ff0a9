// Plain reads: certificates of every status, and how many there are.

import { type landing as contract, limits } from '@custos/contract'
import type { Call, Handler } from '../../platform/call.ts'
import { pageOf } from '../../platform/page.ts'
import { Refusal } from '../../platform/refusal.ts'
import { countByStatus, findRecord, listRecords, type OpenRecord } from '../records/index.ts'
import { showLanding, showListed } from './landing-registry.ts'

type Op<K extends keyof typeof contract> = (typeof contract)[K]

/** Refuses where there is none. */
export async function loadLanding(
  { kernel, tenant_id }: Pick<Call, 'kernel' | 'tenant_id'>,
  record_id: string,
): Promise<OpenRecord> {
  const record = await findRecord(kernel, tenant_id, { kind: 'landing', record_id })
  if (record === null) throw new Refusal('landing_not_found')
  return record
}

export const get: Handler<Op<'get'>> = async (call, { params }) =>
  showLanding(await loadLanding(call, params.certificate_id), call.tenant_id)

export const list: Handler<Op<'list'>> = async (call, { query }) => {
  const { kernel, tenant_id } = call
  const page = pageOf(query, limits.records_page.default)
  const wanted = { kind: 'landing', page } as const
  const show = (record: OpenRecord) => showListed(record, tenant_id)
  return page.envelope('certificates', await listRecords(kernel, tenant_id, wanted, show))
}

export const stats: Handler<Op<'stats'>> = (call) => call.read((db) => countByStatus(db, 'landing'))
