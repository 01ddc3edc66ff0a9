// Named leases: work that only one process of a shared database may do at a time.

import { PLATFORM } from '../db/database.ts'
import {
  claimLease,
  databaseClock,
  dropLease,
  extendLease,
  findHolder,
  listExpired,
  lockLease,
} from '../db/leases.sql.ts'
import type { Tx } from '../db/tenant-db.ts'
import { Refusal } from '../refusal.ts'
import { type Kernel, perKernel } from './kernel.ts'

/** Renewals per lease duration. */
const RENEWALS = 3
/** Poll interval of the request at the head of the queue; for the others it grows to the max. */
const POLL_MS = 20
const POLL_MAX_MS = 200
const RELEASE_RETRY_MS = 500
/** A queued request that has not polled for this long loses its place. */
const QUEUED_US = 5_000_000

/** One acquisition. `holder` is new each time: a late release never ends another's lease. */
interface LeaseRequest {
  readonly name: string
  readonly holder: string
}

/** `queued`: the request is next in the queue; `busy`: another request is queued before it. */
type LeaseClaim = 'acquired' | 'queued' | 'busy'

type Claim = (kernel: Kernel, tx: Tx, request: LeaseRequest) => Promise<LeaseClaim>

/**
 * Acquires the lease and runs `act`, or returns false when another process has the lease. Without a
 * shared database it just runs `act`.
 */
export async function runIfLeaseFree(
  kernel: Kernel,
  name: string,
  act: () => Promise<void>,
): Promise<boolean> {
  if (!kernel.db.shared) {
    await act()
    return true
  }
  const request = { name, holder: kernel.ids.hex(12) }
  const since = performance.now()
  if ((await tryClaim(kernel, request, claim)) !== 'acquired') return false
  await runAndRelease(kernel, request, { act, since })
  return true
}

/**
 * Waits for the lease and runs `act`; refuses `unavailable` after `wait_ms` (default: a minute).
 * The request at the head of the queue goes before a process that has just released the lease.
 */
export async function runUnderLease<T>(
  kernel: Kernel,
  name: string,
  act: () => Promise<T>,
  { wait_ms = 60_000 }: { wait_ms?: number | undefined } = {},
): Promise<T> {
  if (!kernel.db.shared) return act()
  const request = { name, holder: kernel.ids.hex(12) }
  const deadline = performance.now() + wait_ms
  for (let pause = POLL_MS; ; ) {
    const since = performance.now()
    const claimed = await tryClaim(kernel, request, claimInOrder)
    if (claimed === 'acquired') return runAndRelease(kernel, request, { act, since })
    if (performance.now() >= deadline) {
      await leaveQueue(kernel, request).catch(() => kernel.logger.warn('lease.not_dropped', {}))
      throw leaseLostRefusal()
    }
    pause = claimed === 'queued' ? POLL_MS : Math.min(pause * 2, POLL_MAX_MS)
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
}

/**
 * Runs `act` unless it has run in any process within the last `period_us`. After a failure it is
 * due at once. Only for a shared database.
 */
export async function runIfDue(
  kernel: Kernel,
  name: string,
  { period_us, act }: { period_us: number; act: () => Promise<void> },
): Promise<boolean> {
  // This lease is not renewed, so it expires after the period.
  const holder = kernel.ids.hex(12)
  const request = { name: `due/${name}`, holder }
  const claimed = await kernel.db.transact(PLATFORM, async (tx) => {
    const now_us = await databaseClock(tx)
    return claimLease(tx, { ...request, now_us, until_us: now_us + period_us })
  })
  if (claimed === 0) return false
  try {
    await act()
    return true
  } catch (error) {
    await kernel.db.transact(PLATFORM, (tx) => dropLease(tx, request.name, holder))
    throw error
  }
}

/** Names of expired leases with this prefix, whose processes ended without releasing them. */
export async function listExpiredLeases(kernel: Kernel, prefix: string): Promise<string[]> {
  if (!kernel.db.shared) return []
  const rows = await kernel.db.read(PLATFORM, async (db) =>
    listExpired(db, prefix, await databaseClock(db)),
  )
  return rows.map(({ name }) => name)
}

async function tryClaim(
  kernel: Kernel,
  request: LeaseRequest,
  claiming: Claim,
): Promise<LeaseClaim> {
  try {
    return await kernel.db.transact(PLATFORM, (tx) => claiming(kernel, tx, request))
  } catch (error) {
    // The lease may have been acquired although the reply was lost.
    releaseLater(kernel, request)
    throw error
  }
}

const claim: Claim = async (kernel, tx, request) =>
  claimAt(kernel, tx, request, await databaseClock(tx))

async function claimAt(
  kernel: Kernel,
  tx: Tx,
  request: LeaseRequest,
  now_us: number,
): Promise<LeaseClaim> {
  const until_us = now_us + leaseUs(kernel)
  return (await claimLease(tx, { ...request, now_us, until_us })) === 1 ? 'acquired' : 'busy'
}

// Without a queue, a process that releases and acquires at once would starve the others.
const claimInOrder: Claim = async (kernel, tx, request) => {
  const now_us = await databaseClock(tx)
  const queued = queuedAs(request)
  const first = await findHolder(tx, queued.name, now_us)
  if (first !== null && first !== request.holder) return 'busy'
  if ((await claimAt(kernel, tx, request, now_us)) === 'acquired') {
    if (first !== null) await dropLease(tx, queued.name, queued.holder)
    return 'acquired'
  }
  await claimLease(tx, { ...queued, now_us, until_us: now_us + QUEUED_US })
  return 'queued'
}

const queuedAs = ({ name, holder }: LeaseRequest) => ({ name: `next/${name}`, holder })

/** Frees the place of a request that has given up, so that others need not wait for its end. */
const leaveQueue = (kernel: Kernel, request: LeaseRequest): Promise<number> => {
  const { name, holder } = queuedAs(request)
  return kernel.db.transact(PLATFORM, (tx) => dropLease(tx, name, holder))
}

/**
 * The leases of this process, by name. `until`: by `performance.now`; 0: another process is known
 * to have acquired it.
 */
const acquiredLeases = perKernel(() => new Map<string, { holder: string; until: number }>())

/**
 * Refuses `unavailable` when the lease may have expired, for example because the process was
 * paused. A cheap estimate by the local clock: what must never happen without the lease belongs in
 * a unit of work that begins with `requireLease`.
 */
export function assertLeased(kernel: Kernel, name: string): void {
  if (!kernel.db.shared) return
  const until = acquiredLeases(kernel).get(name)?.until ?? 0
  const margin = kernel.settings.lease_ms / RENEWALS
  if (performance.now() >= until - margin) throw leaseLostRefusal()
}

/**
 * Refuses `unavailable` when another process has acquired the lease. Otherwise locks the lease
 * until the unit of work ends. Uses no clock.
 */
export async function requireLease(kernel: Kernel, tx: Tx, name: string): Promise<void> {
  if (!kernel.db.shared) return
  const lease = acquiredLeases(kernel).get(name)
  if (!lease || !(await lockLease(tx, name, lease.holder))) throw leaseLostRefusal()
}

/** The refusal for a lease that was not acquired in time, or may have been lost. */
export const leaseLostRefusal = (): Refusal =>
  new Refusal('unavailable', undefined, { retry_after_s: 5 })

const leaseUs = (kernel: Kernel): number => kernel.settings.lease_ms * 1_000

async function runAndRelease<T>(
  kernel: Kernel,
  request: LeaseRequest,
  { act, since }: { act: () => Promise<T>; since: number },
): Promise<T> {
  const { lease_ms } = kernel.settings
  const { name, holder } = request
  const leases = acquiredLeases(kernel).set(name, { holder, until: since + lease_ms })
  const renew = async () => {
    const asked = performance.now()
    const rows = await kernel.db.transact(PLATFORM, async (tx) => {
      const until_us = (await databaseClock(tx)) + leaseUs(kernel)
      return extendLease(tx, { ...request, until_us })
    })
    // Ignores a reply that arrives after the release: the name may have a new holder.
    if (leases.get(name)?.holder !== holder) return
    leases.set(name, { holder, until: rows === 1 ? asked + lease_ms : 0 })
  }
  const timer = setInterval(() => {
    // A lease that cannot be renewed expires, and another process may acquire it.
    renew().catch(() => kernel.logger.warn('lease.not_extended', {}))
  }, lease_ms / RENEWALS)
  try {
    return await act()
  } finally {
    clearInterval(timer)
    if (leases.get(name)?.holder === holder) leases.delete(name)
    await release(kernel, request).catch(() => {
      kernel.logger.warn('lease.not_dropped', {})
      releaseLater(kernel, request)
    })
  }
}

const release = (kernel: Kernel, { name, holder }: LeaseRequest): Promise<number> =>
  kernel.db.transact(PLATFORM, (tx) => dropLease(tx, name, holder))

/** Retries the release until it succeeds or the lease expires: other processes wait for it. */
function releaseLater(kernel: Kernel, request: LeaseRequest): void {
  const deadline = performance.now() + kernel.settings.lease_ms
  const again = () => {
    const timer = setTimeout(() => {
      release(kernel, request).catch(() => {
        if (performance.now() < deadline) again()
      })
    }, RELEASE_RETRY_MS)
    timer.unref()
  }
  again()
}
