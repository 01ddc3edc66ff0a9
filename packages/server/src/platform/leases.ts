// Work that only one process may do at a time, among all that serve one database.

import { PLATFORM } from './db/database.ts'
import {
  claimLease,
  databaseClock,
  dropLease,
  extendLease,
  findHolder,
  keepLease,
  listOverdue,
} from './db/leases.sql.ts'
import type { Tx } from './db/tenant-db.ts'
import { type Kernel, perKernel } from './kernel.ts'
import { Refusal } from './refusal.ts'

/** A lease is extended so many times before it could run out. */
const EXTENSIONS = 3
/** How often who is next asks, and at first whoever comes after. */
const RETRY_MS = 20
const RETRY_MAX_MS = 200
const DROP_RETRY_MS = 500
/** Who is next stays so for this long without asking again. */
const NEXT_US = 5_000_000

/** One acquisition of a lease: what is given back late is never somebody else's. */
interface Wish {
  readonly name: string
  readonly holder: string
}

/** What became of a wish: `next` is to have the lease when it is free. */
type Place = 'held' | 'next' | 'behind'

type Claim = (kernel: Kernel, tx: Tx, wish: Wish) => Promise<Place>

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
  const wish = { name, holder: kernel.ids.hex(12) }
  const since = performance.now()
  if ((await tryClaim(kernel, wish, claim)) !== 'held') return false
  await holding(kernel, wish, { act, since })
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
  const wish = { name, holder: kernel.ids.hex(12) }
  const deadline = performance.now() + wait_ms
  for (let pause = RETRY_MS; ; ) {
    const since = performance.now()
    const place = await tryClaim(kernel, wish, claimInTurn)
    if (place === 'held') return holding(kernel, wish, { act, since })
    if (performance.now() > deadline) throw leaseLost()
    pause = place === 'next' ? RETRY_MS : Math.min(pause * 2, RETRY_MAX_MS)
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
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
  const wish = { name: `due/${name}`, holder }
  const claimed = await kernel.db.transact(PLATFORM, async (tx) => {
    const now_us = await databaseClock(tx)
    return claimLease(tx, { ...wish, now_us, until_us: now_us + period_us })
  })
  if (claimed === 0) return false
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
  if (!kernel.db.shared) return []
  const rows = await kernel.db.read(PLATFORM, async (db) =>
    listOverdue(db, prefix, await databaseClock(db)),
  )
  return rows.map(({ name }) => name)
}

async function tryClaim(kernel: Kernel, wish: Wish, claiming: Claim): Promise<Place> {
  try {
    return await kernel.db.transact(PLATFORM, (tx) => claiming(kernel, tx, wish))
  } catch (error) {
    // It may be ours although the answer was lost.
    dropLater(kernel, wish)
    throw error
  }
}

const claim: Claim = async (kernel, tx, wish) => claimAt(kernel, tx, wish, await databaseClock(tx))

async function claimAt(kernel: Kernel, tx: Tx, wish: Wish, now_us: number): Promise<Place> {
  const until_us = now_us + leaseUs(kernel)
  return (await claimLease(tx, { ...wish, now_us, until_us })) === 1 ? 'held' : 'behind'
}

// Without it a process that takes a turn after another would leave the others no moment between.
const claimInTurn: Claim = async (kernel, tx, wish) => {
  const now_us = await databaseClock(tx)
  const next = { name: `next/${wish.name}`, holder: wish.holder }
  const awaited = await findHolder(tx, next.name, now_us)
  if (awaited !== null && awaited !== wish.holder) return 'behind'
  if ((await claimAt(kernel, tx, wish, now_us)) === 'held') {
    if (awaited !== null) await dropLease(tx, next.name, next.holder)
    return 'held'
  }
  await claimLease(tx, { ...next, now_us, until_us: now_us + NEXT_US })
  return 'next'
}

interface Held {
  readonly holder: string
  /** By `performance.now`; 0: another is known to have taken it. */
  readonly until: number
}

/** Leases this process has, by their names. */
const heldLeases = perKernel(() => new Map<string, Held>())

/**
 * Refuses `unavailable` when the lease may have run out since: after a long standstill another
 * process can be at the same work. Costs nothing, and is a guess of this moment: what must not
 * happen under another's lease is done in a unit that begins with `requireHeld`.
 */
export function assertHeld(kernel: Kernel, name: string): void {
  if (!kernel.db.shared) return
  const until = heldLeases(kernel).get(name)?.until ?? 0
  const margin = kernel.settings.lease_ms / EXTENSIONS
  if (performance.now() >= until - margin) throw leaseLost()
}

/**
 * Refuses `unavailable` when another process has taken the lease; otherwise none does before the
 * unit has ended. No clock has a part in it.
 */
export async function requireHeld(kernel: Kernel, tx: Tx, name: string): Promise<void> {
  if (!kernel.db.shared) return
  const held = heldLeases(kernel).get(name)
  if (!held || !(await keepLease(tx, name, held.holder))) throw leaseLost()
}

/** What is answered where another process may be at the same work by now. */
export const leaseLost = (): Refusal => new Refusal('unavailable', undefined, { retry_after_s: 5 })

const leaseUs = (kernel: Kernel): number => kernel.settings.lease_ms * 1_000

async function holding<T>(
  kernel: Kernel,
  wish: Wish,
  { act, since }: { act: () => Promise<T>; since: number },
): Promise<T> {
  const { lease_ms } = kernel.settings
  const { name, holder } = wish
  const held = heldLeases(kernel).set(name, { holder, until: since + lease_ms })
  const extend = async () => {
    const asked = performance.now()
    const rows = await kernel.db.transact(PLATFORM, async (tx) => {
      const until_us = (await databaseClock(tx)) + leaseUs(kernel)
      return extendLease(tx, { ...wish, until_us })
    })
    // An answer that comes after the end says nothing about whoever holds it then.
    if (held.get(name)?.holder !== holder) return
    held.set(name, { holder, until: rows === 1 ? asked + lease_ms : 0 })
  }
  const timer = setInterval(() => {
    // A lease that cannot be extended runs out: what it guards is then another's.
    extend().catch(() => kernel.logger.warn('lease.not_extended', {}))
  }, lease_ms / EXTENSIONS)
  try {
    return await act()
  } finally {
    clearInterval(timer)
    if (held.get(name)?.holder === holder) held.delete(name)
    await drop(kernel, wish).catch(() => {
      kernel.logger.warn('lease.not_dropped', {})
      dropLater(kernel, wish)
    })
  }
}

const drop = (kernel: Kernel, { name, holder }: Wish): Promise<number> =>
  kernel.db.transact(PLATFORM, (tx) => dropLease(tx, name, holder))

/** Until it is dropped or over: everybody waits for it, though nobody is at work. */
function dropLater(kernel: Kernel, wish: Wish): void {
  const deadline = performance.now() + kernel.settings.lease_ms
  const again = () => {
    const timer = setTimeout(() => {
      drop(kernel, wish).catch(() => {
        if (performance.now() < deadline) again()
      })
    }, DROP_RETRY_MS)
    timer.unref()
  }
  again()
}
