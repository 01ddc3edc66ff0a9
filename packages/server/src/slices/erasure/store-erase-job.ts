// The job behind a store's deletion: erases its facts in transactions of at most 500, then the row.

import { limits } from '@custos/contract'
import { inErasureTurn, requireTurn } from '../../platform/erasure-turn.ts'
import { beginTurn, NEXT_TURN } from '../../platform/job-turn.ts'
import type { JobContext, JobRunner } from '../../platform/jobs/queue.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { listRefsOfStore, markErasing } from '../memory/index.ts'
import { erasureSigner } from './certificate.ts'
import { eraseMarked } from './erase.ts'
import { UnprovenErasure } from './erase-fact.ts'
import { finishPending } from './finish-pending.ts'
import { finishStore, requestStore } from './finish-store.ts'
import { type Reasons, reasonsOf } from './plan.ts'
import type { Marked } from './plan-facts.ts'
import { countFactsOf } from './subjects.sql.ts'

export const STORE_ERASE = 'store.erase'

/** Below the limit on purpose: a unit of this size keeps other writers waiting under 0.1 s. */
const FACTS_PER_BATCH = Math.min(200, limits.store_delete_facts_per_transaction)

interface StoreErasure {
  readonly store_id: string
  /** Number of the secret the store's own description is sealed with. */
  readonly secret_no: number
  readonly facts: number
  readonly reasons: Reasons
}

/** Payloads are written by delete-store.ts only. */
function readPayload(payload: Readonly<Record<string, unknown>>): StoreErasure {
  const { store_id, secret_no, facts, legal_basis, requested_by } = payload
  return {
    store_id: String(store_id),
    secret_no: Number(secret_no),
    facts: Number(facts),
    reasons: reasonsOf({
      legal_basis: typeof legal_basis === 'string' ? legal_basis : null,
      requested_by: typeof requested_by === 'string' ? requested_by : null,
    }),
  }
}

/** Safe to run again from the start: what is erased is no longer listed. */
export const storeEraser =
  (kernel: Kernel): JobRunner =>
  async (context) => {
    const { tenant_id } = context.job
    const erasure = readPayload(context.job.payload)
    const isOver = beginTurn(kernel)
    for (;;) {
      if (context.stopping) return undefined
      const left = await eraseBatch(kernel, tenant_id, erasure)
      if (left === 0) break
      await report(kernel, context, erasure)
      if (isOver()) return NEXT_TURN
    }
    await removeStore(kernel, tenant_id, erasure)
    await context.progress(erasure.facts, erasure.facts)
    return undefined
  }

async function report(
  kernel: Kernel,
  { job, progress }: JobContext,
  erasure: StoreErasure,
): Promise<void> {
  const left = await kernel.db.read(job.tenant_id, (db) => countFactsOf(db, erasure.store_id))
  await progress(Math.max(0, erasure.facts - left), erasure.facts)
}

/** Facts erased; 0 when none is left. */
async function eraseBatch(
  kernel: Kernel,
  tenant_id: string,
  { store_id, reasons }: StoreErasure,
): Promise<number> {
  erasureSigner(kernel)
  return inErasureTurn(kernel, tenant_id, async () => {
    const requested_us = kernel.clock.now()
    await finishPending(kernel, tenant_id)
    const refs = await kernel.db.read(tenant_id, (db) =>
      listRefsOfStore(db, store_id, -1, FACTS_PER_BATCH),
    )
    if (refs.length === 0) return 0
    await kernel.db.transact(tenant_id, async (tx) => {
      await requireTurn(kernel, tx)
      await markErasing(tx, refs)
    })
    const marked = refs.map(
      (ref): Marked => ({ ref, store_id, outcome: 'erased', certificate_id: kernel.ids.hex(16) }),
    )
    const done = await eraseMarked(kernel, tenant_id, { marked, reasons, requested_us })
    if (done.unproven.length > 0) throw new UnprovenErasure()
    return refs.length
  })
}

async function removeStore(
  kernel: Kernel,
  tenant_id: string,
  { store_id, secret_no, facts }: StoreErasure,
): Promise<void> {
  await inErasureTurn(kernel, tenant_id, async () => {
    const plan = { version: 1, kind: 'store', store_id, secret_no, facts } as const
    await finishStore(kernel, tenant_id, await requestStore(kernel, tenant_id, plan))
  })
}
