// Before serving: erasures that a crash cut off are finished or undone, restored data catches up.

import { abandonedTurns, inErasureTurn } from '../../platform/erasure-turn.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { reconcileLog } from '../gcrumbs/index.ts'
import { showAgain } from './erase.ts'
import { finishPending } from './finish-pending.ts'
import { removeDeletedStores } from './finish-store.ts'
import { needsReplay, replayLedger } from './replay-ledger.ts'
import { listErasing, listHeldNumbers } from './subjects.sql.ts'
import { listInNeed, listStanding, listUnfinished } from './survey.ts'

/**
 * For every tenant of the keyring: recognises a restored database, replays the erasure ledger
 * into it, then finishes or undoes what was in progress. Run before listening. Tenants that need
 * none of it are told apart by a few queries over all of them.
 * `generation_floor`: for a restored keyring, see reconcileLog; then no tenant is passed over.
 */
export async function reconcileErasures(
  kernel: Kernel,
  options: { generation_floor?: number } = {},
): Promise<void> {
  const tenants =
    options.generation_floor === undefined ? await listInNeed(kernel) : await listStanding(kernel)
  for (const tenant_id of tenants)
    await inErasureTurn(kernel, tenant_id, () => reconcileTenant(kernel, tenant_id, options)).catch(
      (error: unknown) => passOver(kernel, tenant_id, error),
    )
}

// Whoever serves while it has a tenant's turn for so long reconciled that tenant when it started.
function passOver(kernel: Kernel, tenant_id: string, error: unknown): void {
  if (!kernel.db.shared || !(error instanceof Refusal)) throw error
  kernel.logger.warn('erasure.turn_taken', { tenant_id })
}

// In the turn: an erasure that another process is at would look like one that was forgotten.
async function reconcileTenant(
  kernel: Kernel,
  tenant_id: string,
  options: { generation_floor?: number },
): Promise<void> {
  const missing = await needsReplay(kernel, tenant_id)
  const log = await reconcileLog(kernel, tenant_id, { certificates_missing: missing, ...options })
  if (missing || log === 'restored') {
    await replayLedger(kernel, tenant_id)
    kernel.logger.warn('erasure.ledger_replayed', { tenant_id })
  }
  await tryRecover(kernel, tenant_id)
}

/**
 * Finishes every requested erasure from its plan; a fact marked without a ledger row is shown
 * again. Also safe while serving. A failure is logged and leaves the fact hidden: the next
 * erasure of the tenant and the next start try again.
 */
export async function recoverErasures(kernel: Kernel): Promise<void> {
  for (const tenant_id of await listUnfinished(kernel)) await recoverInTurn(kernel, tenant_id)
}

/** The same for tenants at which another process has died: soon after its lease is over. */
export async function recoverAbandoned(kernel: Kernel): Promise<void> {
  for (const tenant_id of await abandonedTurns(kernel)) await recoverInTurn(kernel, tenant_id)
}

// A tenant whose turn another process keeps does not hold up those after it.
async function recoverInTurn(kernel: Kernel, tenant_id: string): Promise<void> {
  await inErasureTurn(kernel, tenant_id, () => tryRecover(kernel, tenant_id)).catch(
    (error: unknown) => passOver(kernel, tenant_id, error),
  )
}

async function tryRecover(kernel: Kernel, tenant_id: string): Promise<void> {
  try {
    await recoverTenant(kernel, tenant_id)
  } catch (error) {
    const reason = error instanceof Error ? error.name : 'unknown'
    kernel.logger.error('erasure.recovery_failed', { tenant_id, reason })
  }
}

async function recoverTenant(kernel: Kernel, tenant_id: string): Promise<void> {
  await finishPending(kernel, tenant_id)
  await removeDeletedStores(kernel, tenant_id)
  const marked = await kernel.db.read(tenant_id, async (db) => [
    ...(await listErasing(db)),
    ...(await listHeldNumbers(db)),
  ])
  const refs = marked.map(({ ref }) => ref)
  await showAgain(kernel, tenant_id, refs)
}
