// Wakes the jobs of endpoints when their tenant's log has grown.

import { listServedIds } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import { findJob, listAwake, listTenantsWithJob } from '../../platform/db/jobs.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { followLog } from '../gcrumbs/index.ts'
import { WEBHOOK_DELIVER } from './endpoint.ts'
import {
  deleteOldDeliveries,
  listBehind,
  tenantsWithWebhooks,
  updateWebhook,
} from './webhooks.sql.ts'

/** A tenant's endpoints are woken at most once in this time. */
const PAUSE_MS = 250
const KEPT_US = 30 * 86_400_000_000
const DELETED_AT_ONCE = 500

/** Follows the logs of tenants that have endpoints. */
class EndpointWaker {
  readonly #kernel: Kernel
  readonly #followed = new Map<string, () => void>()
  readonly #waking = new Map<string, { again: boolean }>()
  #stopped = false

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  follow(tenant_id: string): void {
    if (this.#stopped || this.#followed.has(tenant_id)) return
    const stop = followLog(this.#kernel, tenant_id, () => this.#grown(tenant_id))
    this.#followed.set(tenant_id, stop)
  }

  /** Follows these tenants and no others. */
  followOnly(tenants: readonly string[]): void {
    const kept = new Set(tenants)
    for (const [tenant_id, stop] of this.#followed) {
      if (kept.has(tenant_id)) continue
      stop()
      this.#followed.delete(tenant_id)
    }
    for (const tenant_id of tenants) this.follow(tenant_id)
  }

  stop(): void {
    this.#stopped = true
    for (const stop of this.#followed.values()) stop()
    this.#followed.clear()
  }

  #grown(tenant_id: string): void {
    const waking = this.#waking.get(tenant_id)
    if (waking) waking.again = true
    else void this.#wake(tenant_id)
  }

  async #wake(tenant_id: string): Promise<void> {
    const waking = { again: false }
    this.#waking.set(tenant_id, waking)
    // A failed wake is made up for by the next one, or by the timer.
    await wakeBehind(this.#kernel, tenant_id).catch(() => {})
    setTimeout(() => {
      this.#waking.delete(tenant_id)
      if (waking.again && !this.#stopped) this.#grown(tenant_id)
    }, PAUSE_MS).unref()
  }
}

const wakers = perKernel((kernel) => new EndpointWaker(kernel))

/** Follows a tenant whose endpoint this process created. For others see `followNewEndpoints`. */
export const followTenant = (kernel: Kernel, tenant_id: string): void =>
  wakers(kernel).follow(tenant_id)

export const stopFollowing = (kernel: Kernel): void => wakers(kernel).stop()

async function wakeBehind(kernel: Kernel, tenant_id: string): Promise<void> {
  // Every process hears of an entry. The first one wakes the jobs; the others find them awake.
  const asleep = await kernel.db.read(tenant_id, async (db) => {
    const behind = await listBehind(db)
    const awake = await listAwake(
      db,
      behind.map(({ job_id }) => job_id),
    )
    return behind.filter(({ job_id }) => !awake.has(job_id))
  })
  if (asleep.length === 0) return
  await kernel.db.transact(tenant_id, async (tx) => {
    for (const webhook of asleep) await wakeOrReplace(kernel, tx, webhook)
  })
}

/** Wakes a job, or replaces it if it has failed too often and ended. */
async function wakeOrReplace(
  { jobs }: Kernel,
  tx: Tx,
  { webhook_id, job_id }: { readonly webhook_id: string; readonly job_id: string },
): Promise<void> {
  const job = await findJob(tx, job_id)
  if (job && (job.state === 'queued' || job.state === 'running')) return jobs.wake(tx, job_id)
  const fresh = await jobs.enqueue(tx, WEBHOOK_DELIVER, { webhook_id })
  await updateWebhook(tx, webhook_id, { job_id: fresh.job_id })
}

/**
 * Run by a timer of each process: follows the tenants that now have endpoints, and wakes jobs that
 * a process did not wake because it ended after its commit.
 */
export async function followEndpoints(kernel: Kernel): Promise<void> {
  const tenants = await listTenantsWithWebhooks(kernel)
  wakers(kernel).followOnly(tenants)
  for (const tenant_id of tenants) await wakeBehind(kernel, tenant_id)
}

/**
 * Run by a timer of processes that share a database: follows tenants whose first endpoint was
 * created by another process, which may have ended since.
 */
export async function followNewEndpoints(kernel: Kernel): Promise<void> {
  const tenants = await kernel.db.read(PLATFORM, (db) => listTenantsWithJob(db, WEBHOOK_DELIVER))
  for (const tenant_id of tenants) wakers(kernel).follow(tenant_id)
}

/** Run by a timer: deletes deliveries that ended long ago. */
export async function deleteEndedDeliveries(kernel: Kernel): Promise<void> {
  const before_us = kernel.clock.now() - KEPT_US
  for (const tenant_id of await listTenantsWithWebhooks(kernel))
    for (let deleted = DELETED_AT_ONCE; deleted === DELETED_AT_ONCE; )
      deleted = await kernel.db.transact(tenant_id, (tx) =>
        deleteOldDeliveries(tx, before_us, DELETED_AT_ONCE),
      )
}

async function listTenantsWithWebhooks({ db }: Kernel): Promise<string[]> {
  return tenantsWithWebhooks(db, await db.read(PLATFORM, listServedIds))
}
