// Erases many memories for a job, a batch at a time, each with the certificate that stands for it.

import type { Tx } from '../../platform/db/tenant-db.ts'
import { inErasureTurn, requireTurn } from '../../platform/erasure-turn.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { markErasing } from '../memory/index.ts'
import { erasureSigner } from './certificate.ts'
import { findStandingFacts } from './certificates.sql.ts'
import { eraseMarked } from './erase.ts'
import { finishPending } from './finish-pending.ts'
import type { Reasons } from './plan.ts'
import type { Marked } from './plan-facts.ts'
import { findPlaces } from './subjects.sql.ts'

export interface ManyErasure {
  /** At most 500. */
  readonly refs: readonly number[]
  readonly reasons: Reasons
  /** In the unit that hides them: those of the refs that are not to be erased. */
  spare(tx: Tx, refs: readonly number[]): Promise<ReadonlySet<number>>
}

export interface ManyErased {
  /** Ids of the certificates, also where another request had erased it before. */
  readonly certificates: ReadonlyMap<number, string>
  readonly spared: ReadonlySet<number>
  /** A read path still shows them: no certificate, requested until a later try finds them gone. */
  readonly unproven: ReadonlySet<number>
}

/**
 * Safe to run again after any failure: what is erased by then has a certificate. A ref in none of
 * the answers was no memory, or not any more. Refuses `no_signing_key` before anything is done.
 */
export async function eraseMany(
  kernel: Kernel,
  tenant_id: string,
  { refs, reasons, spare }: ManyErasure,
): Promise<ManyErased> {
  erasureSigner(kernel)
  return inErasureTurn(kernel, tenant_id, async () => {
    const requested_us = kernel.clock.now()
    const { unfinished } = await finishPending(kernel, tenant_id)
    const [begun, fresh] = partition(refs, (ref) => unfinished.has(`fact:${ref}`))
    const unproven = new Set(begun)
    const { places, spared } = await kernel.db.transact(tenant_id, async (tx) => {
      await requireTurn(kernel, tx)
      const spared = await spare(tx, fresh)
      const places = (await findPlaces(tx, fresh)).filter(({ ref }) => !spared.has(ref))
      const found = places.map(({ ref }) => ref)
      await markErasing(tx, found)
      return { places, spared }
    })
    if (places.length > 0) {
      const marked = places.map(
        ({ ref, store_id }): Marked => ({
          ref,
          store_id,
          outcome: 'erased',
          certificate_id: kernel.ids.hex(16),
        }),
      )
      const done = await eraseMarked(kernel, tenant_id, { marked, reasons, requested_us })
      for (const ref of done.unproven) unproven.add(ref)
    }
    const standing = await kernel.db.read(tenant_id, (db) => findStandingFacts(db, refs))
    return { certificates: standing, spared, unproven }
  })
}

function partition<T>(all: readonly T[], fits: (one: T) => boolean): [T[], T[]] {
  return [all.filter(fits), all.filter((one) => !fits(one))]
}
