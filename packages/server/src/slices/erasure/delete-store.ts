// memory.delete_store: hides a store from readers at once; a job erases its memories, then its row.

import { limits, type memoryErasure } from '@custos/contract'
import { listNewestJobs } from '../../platform/db/jobs.sql.ts'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import type { JobContext, JobRunner } from '../../platform/jobs/queue.ts'
import type { Handler } from '../../platform/kernel/call.ts'
import { requireErasureLease, runErasure } from '../../platform/kernel/erasure-queue.ts'
import { beginJobChunk, type Kernel, NEXT_CHUNK } from '../../platform/kernel/kernel.ts'
import { admit } from '../governance/index.ts'
import { findStore, listRefsOfStore, markErasing, markStoreDeleting } from '../memory/index.ts'
import { meter } from '../tenants/index.ts'
import { type ErasureReasons, erasureSigner, fillReasons } from './certificate.ts'
import { UnprovenErasure } from './certify.ts'
import { eraseMarkedFacts } from './erase.ts'
import { countFacts } from './erasure.sql.ts'
import { finishStoreErasure, requestStoreErasure } from './finish-store.ts'

import { finishPendingErasures } from './recover.ts'

export const STORE_ERASE = 'store.erase'

/** Deliberately below the limit: a unit of this size delays other writers by less than 0.1 s. */
const FACTS_PER_BATCH = Math.min(200, limits.store_delete_facts_per_transaction)

interface StoreErasure {
  readonly store_id: string
  /** Number of the secret that the store's description is sealed under. */
  readonly secret_no: number
  readonly facts: number
  readonly reasons: ErasureReasons
}

/** Only this file writes these payloads. */
function parsePayload(payload: Readonly<Record<string, unknown>>): StoreErasure {
  const { store_id, secret_no, facts, legal_basis, requested_by } = payload
  return {
    store_id: String(store_id),
    secret_no: Number(secret_no),
    facts: Number(facts),
    reasons: fillReasons({
      legal_basis: typeof legal_basis === 'string' ? legal_basis : null,
      requested_by: typeof requested_by === 'string' ? requested_by : null,
    }),
  }
}

/** Safe to run again from the start: erased memories are no longer listed. */
export const storeEraser =
  (kernel: Kernel): JobRunner =>
  async (context) => {
    const { tenant_id } = context.job
    const erasure = parsePayload(context.job.payload)
    const isOver = beginJobChunk(kernel)
    for (;;) {
      if (context.stopping) return undefined
      const left = await eraseBatch(kernel, tenant_id, erasure)
      if (left === 0) break
      await reportProgress(kernel, context, erasure)
      if (isOver()) return NEXT_CHUNK
    }
    await removeStore(kernel, tenant_id, erasure)
    await context.progress(erasure.facts, erasure.facts)
    return undefined
  }

async function reportProgress(
  kernel: Kernel,
  { job, progress }: JobContext,
  erasure: StoreErasure,
): Promise<void> {
  const left = await kernel.db.read(job.tenant_id, (db) => countFacts(db, erasure.store_id))
  await progress(Math.max(0, erasure.facts - left), erasure.facts)
}

/** Returns how many memories were erased; 0 if none is left. */
async function eraseBatch(
  kernel: Kernel,
  tenant_id: string,
  { store_id, reasons }: StoreErasure,
): Promise<number> {
  erasureSigner(kernel)
  return runErasure(kernel, tenant_id, async () => {
    const requested_us = kernel.clock.now()
    await finishPendingErasures(kernel, tenant_id)
    const refs = await kernel.db.read(tenant_id, (db) =>
      listRefsOfStore(db, store_id, -1, FACTS_PER_BATCH),
    )
    if (refs.length === 0) return 0
    await kernel.db.transact(tenant_id, async (tx) => {
      await requireErasureLease(kernel, tx)
      await markErasing(tx, refs)
    })
    const facts = refs.map((ref) => ({ ref, store_id }))
    const marked = { facts, reasons, requested_us }
    const unproven = await eraseMarkedFacts(kernel, tenant_id, marked)
    if (unproven.length > 0) throw new UnprovenErasure()
    return refs.length
  })
}

async function removeStore(
  kernel: Kernel,
  tenant_id: string,
  { store_id, secret_no, facts }: StoreErasure,
): Promise<void> {
  await runErasure(kernel, tenant_id, async () => {
    const plan = { version: 1, kind: 'store', store_id, secret_no, facts } as const
    await finishStoreErasure(kernel, tenant_id, await requestStoreErasure(kernel, tenant_id, plan))
  })
}

/** While a job is open, further requests return that job; after a failed job, a new one is made. */
export const deleteStore: Handler<(typeof memoryErasure)['delete_store']> = async (
  call,
  { params },
) => {
  const { store_id } = params
  erasureSigner(call.kernel)
  if (!(await call.read((db) => findStore(db, store_id)))) return call.refuse('store_not_found')
  await admit(call, 'memory.delete', { store_id })
  return call.transact(async (tx) => {
    meter(tx, call.operation.id)
    return (await startStoreDeletion(call.kernel, tx, store_id)) ?? call.refuse('store_not_found')
  })
}

/** Returns `null` if there is no such store. */
export async function startStoreDeletion(kernel: Kernel, tx: Tx, store_id: string) {
  const store = await findStore(tx, store_id)
  if (!store) return null
  const facts = await countFacts(tx, store_id)
  const answer = { store_id, state: 'deleting', facts } as const
  if ((await markStoreDeleting(tx, store_id)) === 'already') {
    const open = await findOpenJob(tx, store_id)
    if (open !== null) return { job_id: open, ...answer }
  }
  const payload = { store_id, secret_no: store.secret_no, facts }
  const job = await kernel.jobs.enqueue(tx, STORE_ERASE, payload)
  return { job_id: job.job_id, ...answer }
}

async function findOpenJob(db: TenantDb, store_id: string): Promise<string | null> {
  const jobs = await listNewestJobs(db, STORE_ERASE)
  // `startStoreDeletion` above wrote the payload.
  const ofStore = jobs.filter((job) => JSON.parse(job.payload).store_id === store_id)
  const open = ofStore.find(({ state }) => state === 'queued' || state === 'running')
  return open?.job_id ?? null
}
