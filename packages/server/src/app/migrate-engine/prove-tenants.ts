// Compares each tenant on both engines: its whole log, its stores, and the sealed content of a
// sample of its facts and decisions.

import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../../config/config.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { loadKeys } from '../../platform/kernel/sealed-column.ts'
import { SealError } from '../../platform/keys/seal.ts'
import { OfflineError } from '../../platform/operator-error.ts'
import { digestDocuments } from '../../slices/decisions/index.ts'
import { UNVERIFIED, verifyLog } from '../../slices/gcrumbs/index.ts'
import { descriptionColumn, loadFactsForErasure } from '../../slices/memory/index.ts'
import { listFactPlaces, listStoreRows } from '../checks/fsck.sql.ts'
import type { TenantReport } from '../checks/fsck.ts'
import { openReadOnly, type ReadOnlyKernel } from '../open/open-read-only.ts'

export interface TenantProof {
  readonly tenant_id: string
  /** Number of log entries. */
  readonly tree_size: number
  /** Lower-case hex, computed from the entries on both engines; null if there is no log yet. */
  readonly root_hash: string | null
  /** Size of the last signed checkpoint, which the log extends; null if there is none. */
  readonly checkpoint_size: number | null
  /** Number of compared facts, whose seals open to the same content under both keyrings. */
  readonly facts: number
  readonly decisions: number
  readonly stores: number
}

interface Comparison {
  readonly from: Config
  readonly to: Config
  /** One report for each tenant, from the check of the source. It has the row counts. */
  readonly reports: readonly TenantReport[]
  progress(text: string): void
}

/** At least this many facts and decisions per tenant are compared; all, if below twice as many. */
const SAMPLE = 1_000
const CHUNK = 500

/** Throws OfflineError if a tenant differs; the error names the difference. */
export async function proveTenants(comparison: Comparison): Promise<TenantProof[]> {
  const source = await openReadOnly(comparison.from)
  try {
    const copy = await openReadOnly(comparison.to)
    try {
      const proofs: TenantProof[] = []
      for (const report of comparison.reports) {
        comparison.progress(`${report.tenant_id}, comparing`)
        proofs.push(await proveTenant(source.kernel, copy, report))
      }
      return proofs
    } finally {
      await copy.close()
    }
  } finally {
    await source.close()
  }
}

async function proveTenant(
  source: Kernel,
  copy: ReadOnlyKernel,
  { tenant_id, counts }: TenantReport,
): Promise<TenantProof> {
  const both = async <T>(what: string, query: (kernel: Kernel) => Promise<T>): Promise<T> => {
    const one = await query(source)
    const other = await query(copy.kernel).catch((error: unknown) => {
      if (!(error instanceof SealError)) throw error
      throw new OfflineError(`tenant ${tenant_id}: a seal of the copy does not open (${what})`)
    })
    // The next query reads the source first. Meanwhile the snapshots of the copy would be idle, and
    // PostgreSQL ends idle transactions.
    await copy.snapshots.release()
    if (isDeepStrictEqual(one, other)) return one
    throw new OfflineError(`tenant ${tenant_id} differs on the two engines: ${what}`)
  }
  const log = await both('log', (kernel) => logOf(kernel, tenant_id))
  const destroyed = await both('keys', async ({ keyring }) =>
    (await keyring.listDestroyedTenants()).includes(tenant_id),
  )
  // The tenant has no key left that could open a seal.
  if (destroyed) return { tenant_id, ...log, facts: 0, decisions: 0, stores: 0 }
  const facts = await both('facts', (kernel) => digestFacts(kernel, tenant_id, every(counts.facts)))
  const decisions = await both('decisions', (kernel) =>
    digestDocuments(kernel, tenant_id, every(counts.decisions)),
  )
  const stores = await both('stores', (kernel) => digestStores(kernel, tenant_id))
  return {
    tenant_id,
    ...log,
    facts: facts.size,
    decisions: decisions.size,
    stores: stores.size,
  }
}

const every = (count: number): number => Math.max(1, Math.floor(count / SAMPLE))

async function logOf(kernel: Kernel, tenant_id: string) {
  const { keyring, settings, db } = kernel
  const signed = await keyring.checkpoints.last(tenant_id)
  const { status, tree_size, root_hash } = await db.read(tenant_id, (snapshot) =>
    verifyLog(snapshot, {
      from: UNVERIFIED,
      keys: keyring.publishedKeys(),
      origin: settings.origin,
      signed,
    }),
  )
  if (status === 'tampered') throw new OfflineError(`the log of tenant ${tenant_id} does not hold`)
  return { tree_size, root_hash, checkpoint_size: signed?.tree_size ?? null }
}

type Digests = Map<string, string>

async function digestFacts(kernel: Kernel, tenant_id: string, nth: number): Promise<Digests> {
  const digests: Digests = new Map()
  for (let after = -1, seen = 0; ; ) {
    const places = await kernel.db.read(tenant_id, (db) => listFactPlaces(db, after, CHUNK))
    const refs = places.map(({ ref }) => ref).filter((_, i) => (seen + i) % nth === 0)
    const opened = await kernel.db.read(tenant_id, (db) => loadFactsForErasure(kernel, db, refs))
    for (const [ref, { document, vector }] of opened) {
      const hash = createHash('sha256').update(JSON.stringify(document))
      if (vector) hash.update(vector)
      digests.set(String(ref), hash.digest('hex'))
    }
    const last = places.at(-1)
    if (!last || places.length < CHUNK) return digests
    after = last.ref
    seen += places.length
  }
}

async function digestStores(kernel: Kernel, tenant_id: string): Promise<Digests> {
  const rows = await kernel.db.read(tenant_id, listStoreRows)
  const numbers = rows.map(({ secret_no }) => secret_no)
  const keys = await loadKeys(kernel, tenant_id, numbers)
  const digests: Digests = new Map()
  for (const row of rows) {
    const key = keys.get(row.secret_no)
    if (!key) continue
    const description = descriptionColumn.open(key, tenant_id, row, row.sealed)
    const json = JSON.stringify(description)
    digests.set(row.store_id, createHash('sha256').update(json).digest('hex'))
  }
  return digests
}
