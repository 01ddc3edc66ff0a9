// What a member is in the tenant's registries: by its id, an artifact also by its name.

import type { FoundMember, JsonObject } from '@custos/proof'
import type { Kernel } from '../../platform/kernel.ts'
import { findByName, findRecord, type OpenRecord } from '../records/index.ts'

/** Whose registries are looked into. */
export interface Where {
  readonly kernel: Kernel
  readonly tenant_id: string
}

export interface LookedUp {
  readonly found: FoundMember | null
  /** The licence that its own record states; null where it states none. */
  readonly license: string | null
  /** Of a composition: what its members' licences leave. Empty for everything else. */
  readonly terms: readonly string[]
}

const ABSENT: LookedUp = { found: null, license: null, terms: [] }
const KINDS = ['artifact', 'landing', 'corpus', 'composition'] as const
type Kind = (typeof KINDS)[number]

const RECORD_ID = /^[0-9a-f]{32}$/

/** The status in which a record of a kind vouches for itself. */
export const STANDING: Readonly<Record<Kind, string>> = {
  artifact: 'certified',
  landing: 'issued',
  corpus: 'sealed',
  composition: 'governed',
}

export async function lookUp(where: Where, ref_id: string): Promise<LookedUp> {
  return (await byId(where, ref_id)) ?? (await byArtifactRef(where, ref_id)) ?? ABSENT
}

async function byId({ kernel, tenant_id }: Where, ref_id: string): Promise<LookedUp | null> {
  if (!RECORD_ID.test(ref_id)) return null
  for (const kind of KINDS) {
    const record = await findRecord(kernel, tenant_id, { kind, record_id: ref_id })
    if (record) return lookedUp(kind, record)
  }
  return null
}

// Many artifacts may have had the name: the newest of those that were registered is meant.
async function byArtifactRef({ kernel, tenant_id }: Where, name: string): Promise<LookedUp | null> {
  const kind = 'artifact'
  const named = await findByName(kernel, tenant_id, { kind, name })
  const registered = ['registered', STANDING.artifact]
  const record = named.find(({ row }) => registered.includes(row.status)) ?? named[0]
  return record ? lookedUp(kind, record) : null
}

function lookedUp(kind: Kind, { row, request, document }: OpenRecord): LookedUp {
  return {
    found: { kind, id: row.record_id, status: row.status },
    license: kind === 'artifact' ? licenseOf(request) : null,
    terms: kind === 'composition' && document !== null ? termsOf(document) : [],
  }
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function licenseOf({ metadata }: JsonObject): string | null {
  const license = isObject(metadata) ? metadata['license'] : undefined
  return typeof license === 'string' && license.trim() !== '' ? license : null
}

function termsOf({ license_verdict }: JsonObject): string[] {
  const terms = isObject(license_verdict) ? license_verdict['terms'] : undefined
  return Array.isArray(terms) ? terms.filter((term) => typeof term === 'string') : []
}
