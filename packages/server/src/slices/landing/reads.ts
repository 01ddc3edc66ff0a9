// Plain reads: certificates of every status, and how many there are.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { landing as contract, LandingCertificate } from '@custos/contract'
import type { Call, Handler } from '../../platform/call.ts'
import { pageOf } from '../../platform/page.ts'
import { Refusal } from '../../platform/refusal.ts'
import { countByStatus, findRecord, listRecords, type OpenRecord } from '../records/index.ts'
import { showLanding, showListed } from './show-landing.ts'

type Op<K extends keyof typeof contract> = (typeof contract)[K]

/** Opened at a time: a certificate may name ten thousand sources. */
const OPENED_AT_ONCE = 10
const PAGE = 50

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
  const page = pageOf(query, PAGE)
  const certificates: LandingCertificate[] = []
  while (certificates.length < page.limit) {
    const limit = Math.min(OPENED_AT_ONCE, page.limit - certificates.length)
    const part = pageOf({ limit, offset: page.offset + certificates.length }, limit)
    const records = await listRecords(kernel, tenant_id, { kind: 'landing', page: part })
    certificates.push(...records.map((record) => showListed(record, tenant_id)))
    if (records.length < limit) break
    await nextTurn()
  }
  return page.envelope('certificates', certificates)
}

export const stats: Handler<Op<'stats'>> = (call) => call.read((db) => countByStatus(db, 'landing'))
