// The namespace that a credential is limited to. It may name a person, so it is sealed under its
// own secret and deleted with the credential once that has ended.

import {
  deleteLimited,
  listEndedLimits,
  listLimits,
} from '../../platform/db/credential-limits.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { jsonPayload, REDACTED_SECRET, sealedColumn } from '../../platform/kernel/sealed-column.ts'
import { LruCache } from '../../platform/lru-cache.ts'

export const KEY_ID_BYTES = 12
const OPENED_MAX = 10_000
/** Credentials per unit of work. */
const DELETED_AT_ONCE = 200

/** The sealed namespace of the credential with this id. */
export interface SealedLimit {
  readonly key_id: string
  /** `null` is the root namespace. */
  readonly namespace: string | null
  readonly secret_no: number
  readonly sealed: Uint8Array
}

export const limitColumn = sealedColumn({
  domain: 'credential_limit',
  ids: (tenant_id, { key_id }: Pick<SealedLimit, 'key_id'>) => [tenant_id, key_id],
  payload: jsonPayload<Pick<SealedLimit, 'namespace'>>(),
})

/** Seals the namespace of a new credential. Returns undefined if the credential gets no limit. */
export async function sealLimit(
  kernel: Kernel,
  tenant_id: string,
  { key_id, namespace }: { key_id: string; namespace: string | null | undefined },
): Promise<SealedLimit | undefined> {
  if (namespace === undefined) return undefined
  const sealed = await limitColumn.sealNew(kernel, tenant_id, { key_id }, { namespace })
  return { key_id, namespace, ...sealed }
}

// The namespace of a credential never changes. Processes that share a database look the credential
// up at every request and need not open its namespace each time.
const opened = perKernel(
  () => new LruCache<string, Pick<SealedLimit, 'namespace'>>({ max: OPENED_MAX }),
)

export const forgetLimit = (kernel: Kernel, key_id: string): boolean =>
  opened(kernel).delete(key_id)

/** Returns `null` if the secret is destroyed. */
export async function openLimit(
  kernel: Kernel,
  tenant_id: string,
  limit: Omit<SealedLimit, 'namespace'>,
): Promise<Pick<SealedLimit, 'namespace'> | null> {
  const cache = opened(kernel)
  const known = cache.get(limit.key_id)
  if (known) return known
  const [found = null] = await limitColumn.openAll(kernel, tenant_id, [limit])
  return found && cache.set(limit.key_id, found)
}

/** Opens the limits of those credentials that have one; `null` as in `openLimit`. */
export async function openLimits(
  kernel: Kernel,
  db: TenantDb,
  key_ids: readonly string[],
): Promise<Map<string, Pick<SealedLimit, 'namespace'> | null>> {
  const limits = await listLimits(db, key_ids)
  const found = await limitColumn.openAll(kernel, db.tenant_id, limits)
  return new Map(limits.map(({ key_id }, i) => [key_id, found[i] ?? null]))
}

/** For the timer: deletes limited credentials that expired or were revoked; returns how many. */
export async function deleteEndedCredentials(kernel: Kernel): Promise<number> {
  let deleted = 0
  for (;;) {
    const now_us = kernel.clock.now()
    const ended = await kernel.db.read(PLATFORM, (db) =>
      listEndedLimits(db, now_us, DELETED_AT_ONCE),
    )
    for (const [tenant_id, rows] of Map.groupBy(ended, (row) => row.tenant_id)) {
      const numbers = rows
        .flatMap(({ secret_no, name_secret_no }) => [secret_no, name_secret_no ?? REDACTED_SECRET])
        .filter((number) => number !== REDACTED_SECRET)
      await kernel.keyring.destroySecrets(tenant_id, 'decision', numbers)
      const key_ids = rows.map(({ key_id }) => key_id)
      await kernel.db.transact(tenant_id, (tx) => deleteLimited(tx, key_ids))
      for (const key_id of key_ids) opened(kernel).delete(key_id)
    }
    deleted += ended.length
    if (ended.length < DELETED_AT_ONCE) return deleted
  }
}
