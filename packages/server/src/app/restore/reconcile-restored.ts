// Brings restored data up to date with the keyring, and reports the changes.

import type { Config } from '../../config/config.ts'
import { countRowsOf } from '../../platform/db/migrations/tenant-tables.sql.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { reconcileErasures } from '../../slices/erasure/index.ts'
import { findHead } from '../../slices/gcrumbs/index.ts'
import { resumeDestructions } from '../../slices/offboarding/index.ts'
import { openKernel } from '../open/open-kernel.ts'

export interface RestoredTenant {
  readonly tenant_id: string
  readonly generation: number
  /** Whether the log continues under a new origin. */
  readonly continued: boolean
  /** Erasures since the backup that were applied again. */
  readonly erased_again: number
  readonly certificates_returned: number
}

/**
 * Runs the reconciliation of a start without serving. `keyring_restored`: the keyring may lack the
 * newest signed checkpoint, so every log continues under a new origin.
 */
export async function reconcileRestored(
  config: Config,
  { keyring_restored }: { keyring_restored: boolean },
): Promise<RestoredTenant[]> {
  const open = await openKernel({ ...config, log_level: 'error' })
  try {
    const { kernel } = open
    const before = await statesOf(kernel)
    // The same files may have been restored before, and that copy may have signed under the next
    // generation. The time of this restore distinguishes it from all earlier ones.
    const floor = keyring_restored ? { generation_floor: kernel.clock.now() } : {}
    await reconcileErasures(kernel, floor)
    await resumeDestructions(kernel, floor)
    return differences(before, await statesOf(kernel))
  } finally {
    await open.close()
  }
}

interface State {
  readonly generation: number
  readonly size: number
  readonly tombstones: number
  readonly certificates: number
}

async function statesOf(kernel: Kernel): Promise<Map<string, State>> {
  const states = new Map<string, State>()
  const { keyring } = kernel
  const tenants = [...(await keyring.listTenants()), ...(await keyring.listDestroyedTenants())]
  for (const tenant_id of tenants) states.set(tenant_id, await kernel.db.read(tenant_id, stateOf))
  return states
}

async function stateOf(db: TenantDb): Promise<State> {
  const head = await findHead(db)
  return {
    generation: head?.generation ?? 0,
    size: head?.size ?? 0,
    tombstones: await countRowsOf(db, 'tombstones'),
    certificates: await countRowsOf(db, 'certificates'),
  }
}

function differences(
  before: ReadonlyMap<string, State>,
  after: ReadonlyMap<string, State>,
): RestoredTenant[] {
  return [...after].map(([tenant_id, now]) => {
    const then = before.get(tenant_id)
    return {
      tenant_id,
      generation: now.generation,
      continued: now.generation !== (then?.generation ?? 0),
      erased_again: now.tombstones - (then?.tombstones ?? 0),
      certificates_returned: now.certificates - (then?.certificates ?? 0),
    }
  })
}
