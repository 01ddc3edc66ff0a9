// Work that only one process may do at a time, among all that serve one database.

import { PLATFORM } from './db/database.ts'
import { claimLease, dropLease, extendLease, findHolder, listOverdue } from './db/leases.sql.ts'
import type { Tx } from './db/tenant-db.ts'
import { type Kernel, perKernel } from './kernel.ts'
import { Refusal } from './refusal.ts'

/** A lease is extended so many times before it could run out. */
const EXTENSIONS = 3
const RETRY_MS = 25
const RETRY_MAX_MS = 500
/** Who is next stays so for this long without asking again. */
const NEXT_US = 5_000_000

const holders = perKernel((kernel) => kernel.ids.hex(12))

/**
 * Runs `act` while this process holds the lease, or returns false when another has it. On data
 * that only this process serves there is nothing to hold.
 */
export async function ifLeased(
  kernel: Kernel,
  name: string,
  act: () => Promise<void>,
): Promise<boolean> {
  if (!kernel.db.shared) {
    await act()
    return true
  }
  if (!(await kernel.db.transact(PLATFORM, (tx) => claim(kernel, tx, name)))) return false
  await holding(kernel, name, act)
  return true
}

/**
 * Runs `act` when the lease is free; refuses `unavailable` after `wait_ms` (default: a minute). Of
 * those that wait, one is next: who gives the lease back and wants it again comes after it.
 */
export async function whenLeased<T>(
  kernel: Kernel,
  name: string,
  act: () => Promise<T>,
  { wait_ms = 60_000 }: { wait_ms?: number } = {},
): Promise<T> {
  if (!kernel.db.shared) return act()
  const deadline = performance.now() + wait_ms
  for (
    let pause = RETRY_MS;
    !(await kernel.db.transact(PLATFORM, (tx) => claimInTurn(kernel, tx, name)));
    pause = Math.min(pause * 2, RETRY_MAX_MS)
  ) {
    if (performance.now() > deadline)
      throw new Refusal('unavailable', undefined, { retry_after_s: 5 })
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
  return holding(kernel, name, act)
}

/**
 * Runs `act` when the last time, in whatever process, was `period_us` ago or more. What failed is
 * due again at once. For work in a shared database only.
 */
export async function whenDue(
  kernel: Kernel,
  name: string,
  { period_us, act }: { period_us: number; act: () => Promise<void> },
): Promise<boolean> {
  // A holder nobody is: until the period is over the lease is nobody's to extend.
  const holder = kernel.ids.hex(12)
  const now_us = kernel.clock.now()
  const wish = { name: `due/${name}`, holder, now_us, until_us: now_us + period_us }
  if ((await kernel.db.transact(PLATFORM, (tx) => claimLease(tx, wish))) === 0) return false
  try {
    await act()
    return true
  } catch (error) {
    await kernel.db.transact(PLATFORM, (tx) => dropLease(tx, wish.name, holder))
    throw error
  }
}

/** Names of leases that processes have left behind, of those that begin so. */
export async function overdueLeases(kernel: Kernel, prefix: string): Promise<string[]> {
  const now_us = kernel.clock.now()
  const rows = await kernel.db.read(PLATFORM, (db) => listOverdue(db, prefix, now_us))
  return rows.map(({ name }) => name)
}

async function claim(kernel: Kernel, tx: Tx, name: string): Promise<boolean> {
  const now_us = kernel.clock.now()
  const until_us = now_us + leaseUs(kernel)
  return (await claimLease(tx, { name, holder: holders(kernel), now_us, until_us })) === 1
}

// Without it a process that takes a turn after another would leave the others no moment between.
async function claimInTurn(kernel: Kernel, tx: Tx, name: string): Promise<boolean> {
  const holder = holders(kernel)
  const now_us = kernel.clock.now()
  const next = `next/${name}`
  const awaited = await findHolder(tx, next, now_us)
  if (awaited !== null && awaited !== holder) return false
  if (await claim(kernel, tx, name)) {
    if (awaited !== null) await dropLease(tx, next, holder)
    return true
  }
  await claimLease(tx, { name: next, holder, now_us, until_us: now_us + NEXT_US })
  return false
}

const leaseUs = (kernel: Kernel): number => kernel.settings.lease_ms * 1_000

async function holding<T>(kernel: Kernel, name: string, act: () => Promise<T>): Promise<T> {
  const holder = holders(kernel)
  const timer = setInterval(() => {
    const until_us = kernel.clock.now() + leaseUs(kernel)
    const extend = kernel.db.transact(PLATFORM, (tx) => extendLease(tx, { name, holder, until_us }))
    // A lease that cannot be extended runs out: what it guards is safe to be begun again.
    extend.catch(() => kernel.logger.warn('lease.not_extended', {}))
  }, kernel.settings.lease_ms / EXTENSIONS)
  try {
    return await act()
  } finally {
    clearInterval(timer)
    // Left behind it only delays the next holder.
    await kernel.db
      .transact(PLATFORM, (tx) => dropLease(tx, name, holder))
      .catch(() => kernel.logger.warn('lease.not_dropped', {}))
  }
}
