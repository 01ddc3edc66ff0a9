// What a member is in the tenant's registries: by its id, or by its name.

import { type FoundMember, MEMBER_STANDING } from '@custos/proof'
import { findByName, findRecord, type OpenRecord } from '../records/index.ts'
import { statedLicenses, type Where } from './stated-licenses.ts'

export interface LookedUp {
  readonly found: FoundMember | null
  /** The licence that its own record states; null where it states none. */
  readonly license: string | null
}

const ABSENT: LookedUp = { found: null, license: null }
const KINDS = ['artifact', 'landing', 'corpus', 'composition'] as const
type Kind = (typeof KINDS)[number]

interface Found {
  readonly kind: Kind
  readonly record: OpenRecord
}

const RECORD_ID = /^[0-9a-f]{32}$/

/** Looks one member after the other up. */
export function lookUps(where: Where): (ref_id: string) => Promise<LookedUp> {
  const statedBy = statedLicenses(where)
  return async (ref_id) => {
    const hit = (await byId(where, ref_id)) ?? (await byName(where, ref_id))
    if (hit === null) return ABSENT
    const { kind, record } = hit
    const { license, licenses } = await statedBy(kind, record)
    const { record_id: id, status } = record.row
    return { found: { kind, id, status, licenses }, license }
  }
}

async function byId({ kernel, tenant_id }: Where, record_id: string): Promise<Found | null> {
  if (!RECORD_ID.test(record_id)) return null
  for (const kind of KINDS) {
    const record = await findRecord(kernel, tenant_id, { kind, record_id })
    if (record) return { kind, record }
  }
  return null
}

/** An artifact by its artifact_ref, or else a composition by its target_ref. */
async function byName({ kernel, tenant_id }: Where, name: string): Promise<Found | null> {
  for (const kind of ['artifact', 'composition'] as const) {
    const named = await findByName(kernel, tenant_id, { kind, name })
    // Many may have the name: the newest of those that do not wait is meant.
    const record = named.find(({ document }) => document !== null) ?? named[0]
    if (record) return { kind, record }
  }
  return null
}

/** Whether a record that was found vouches for itself. */
export const isStanding = ({ kind, status }: FoundMember): boolean =>
  MEMBER_STANDING[kind] === status
