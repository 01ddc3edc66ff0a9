// memory.delete_store: from here the store is gone for readers; a job erases what is in it.

import type { memoryErasure } from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import { findLastJob } from '../../platform/db/jobs.sql.ts'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { admit } from '../governance/index.ts'
import { findStore, markStoreDeleting } from '../memory/index.ts'
import { meter } from '../tenants/index.ts'
import { erasureSigner } from './certificate.ts'
import { STORE_ERASE } from './store-erase-job.ts'
import { countFactsOf } from './subjects.sql.ts'

/** Asked again while the job is open, it answers that job; after a failed one, a new job. */
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

/** Null: there is no such store. */
export async function startStoreDeletion(kernel: Kernel, tx: Tx, store_id: string) {
  const store = await findStore(tx, store_id)
  if (!store) return null
  const facts = await countFactsOf(tx, store_id)
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
  const jobs = await findLastJob(db, STORE_ERASE)
  // The payload is written above.
  const ofStore = jobs.filter((job) => JSON.parse(job.payload).store_id === store_id)
  const open = ofStore.find(({ state }) => state === 'queued' || state === 'running')
  return open?.job_id ?? null
}
