// Recomputes the reputation of every tenant from its log, each on one snapshot, read-only.

import type { Config } from '../config/config.ts'
import { type Recomputed, recompute } from '../slices/reputation/index.ts'
import { tenantsOf } from './fsck/fsck.ts'
import { openReadOnly } from './open-read-only.ts'

export interface TenantReputation extends Recomputed {
  readonly tenant_id: string
}

export interface RecomputeOptions {
  /** Only this tenant. */
  readonly tenant_id?: string
  progress?(text: string): void
}

/** Throws OfflineError or KeyringError when the data cannot be looked at at all. */
export async function runRecompute(
  config: Config,
  options: RecomputeOptions = {},
): Promise<TenantReputation[]> {
  const open = await openReadOnly(config)
  const { kernel, snapshots } = open
  try {
    const reports: TenantReputation[] = []
    for (const tenant_id of await tenantsOf(open, options.tenant_id)) {
      await snapshots.takeSnapshot()
      const show = (entry: number) => options.progress?.(`${tenant_id}, entry ${entry}`)
      const found = await kernel.db.read(tenant_id, (db) => recompute(db, show))
      await snapshots.release()
      reports.push({ tenant_id, ...found })
    }
    return reports
  } finally {
    await open.close()
  }
}
