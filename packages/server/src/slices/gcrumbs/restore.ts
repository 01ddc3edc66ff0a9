// Recognises a restored log and continues it under a new origin (design 5, Backups).

import type { EventPayload } from '@custos/contract'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import type { StoredCheckpoint } from '../../platform/keys/keyring.ts'
import { appendCrumb, raiseGeneration } from './append.ts'
import { type CrumbRow, findHead, listEntries } from './chain.sql.ts'
import { republish, rollEpoch } from './epochs.ts'
import { fitsLog } from './tree.ts'

/**
 * Compares the log with the last checkpoint the keyring holds, or has taken from its copy. A log
 * that does not extend it, or that lacks a certificate, was restored from a backup: it continues
 * under the next generation, whose first entry carries the last checkpoint of the old one. Run
 * before serving.
 * `generation_floor`: the keyring itself is from a backup, so checkpoints it has not heard of may
 * have been signed; a log with entries goes on above this generation in any case.
 */
export async function reconcileLog(
  kernel: Kernel,
  tenant_id: string,
  options: { certificates_missing: boolean; generation_floor?: number },
): Promise<'intact' | 'restored'> {
  const stored = await kernel.keyring.checkpoints.last(tenant_id)
  const fits = await kernel.db.read(
    tenant_id,
    async (db) =>
      (await fitsLog(db, stored)) &&
      (options.generation_floor === undefined || !(await findHead(db))),
  )
  if (fits && !options.certificates_missing) {
    if (stored) await republish(kernel, tenant_id, stored)
    return 'intact'
  }
  await continueRestored(kernel, tenant_id, { stored, floor: options.generation_floor ?? 0 })
  kernel.logger.warn('log.restored', { tenant_id })
  await rollEpoch(kernel, tenant_id)
  return 'restored'
}

async function continueRestored(
  kernel: Kernel,
  tenant_id: string,
  { stored, floor }: { stored: StoredCheckpoint | null; floor: number },
): Promise<void> {
  await kernel.db.transact(tenant_id, async (tx) => {
    const head = await findHead(tx)
    const generation = Math.max(head?.generation ?? 0, stored?.generation ?? 0, floor) + 1
    await raiseGeneration(tx, generation)
    await appendCrumb(tx, {
      event_type: 'log.restored',
      subject: tenant_id,
      payload: {
        generation,
        epoch_number: stored?.epoch_number ?? 0,
        tree_size: stored?.tree_size ?? 0,
        root_hash: stored?.root_hash ?? null,
      },
    })
  })
}

/** The generation that the entry before a log position belongs to. */
export async function generationAt(db: TenantDb, seq: number): Promise<number> {
  const head = await findHead(db)
  if (!head || head.generation === 0) return 0
  const filter = { first_seq: 0, limit: head.generation, events: ['log.restored'] } as const
  const last = (await listEntries(db, filter, seq)).at(-1)
  return last ? restoredGeneration(last) : 0
}

/** The generation that an entry `log.restored` begins. */
export function restoredGeneration({ record }: Pick<CrumbRow, 'record'>): number {
  // Written by appendCrumb only.
  return (JSON.parse(record) as { payload: EventPayload<'log.restored'> }).payload.generation
}
