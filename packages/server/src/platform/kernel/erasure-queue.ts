// Runs the erasures, scrubs and redactions of a tenant one after another, because each is planned
// from the state that the one before it left.
//
// A lease decides which process runs the next one, and a process can lose a lease without knowing:
// it is paused for a minute, another process starts, and the first one continues. So the lease only
// orders the work, and two checks that depend on no clock make it safe. Each erasure takes a
// fencing number from the keyring's ledger (`takeNumber`), and the ledger accepts entries only with
// the newest number, so it refuses a plan made under an older one. And units of work that hide or
// show a memory begin with `requireErasureLease`, which fails once another process has the lease.
// All other steps follow from ledger rows and are idempotent.

import { keyedQueue } from '../concurrency.ts'
import type { Tx } from '../db/tenant-db.ts'
import type { FencingToken, LedgerEntry, NewLedgerEntry } from '../keys/keyring.ts'
import { KeyringError } from '../keys/keyring-error.ts'
import { Refusal } from '../refusal.ts'
import { storageFault } from '../storage-fault.ts'
import { type Kernel, perKernel } from './kernel.ts'
import {
  assertLeased,
  leaseLostRefusal,
  listExpiredLeases,
  requireLease,
  runUnderLease,
} from './leases.ts'

const PREFIX = 'erasure/'

const queue = perKernel(keyedQueue)

/** Fencing numbers of the erasures that this process runs, by tenant. */
const numbers = perKernel(() => new Map<string, FencingToken>())

/**
 * Runs `act` once every earlier erasure of the tenant has ended, whether it failed or not. A queue
 * orders those of this process, a lease those of other processes. Calls do not nest. Refuses
 * `unavailable` if another process keeps the lease for `wait_ms` (default: a minute). With 0 it
 * refuses at once, also if this process is erasing for the tenant.
 */
export async function runErasure<T>(
  kernel: Kernel,
  tenant_id: string,
  act: () => Promise<T>,
  { wait_ms }: { wait_ms?: number } = {},
): Promise<T> {
  if (wait_ms === 0 && queue(kernel).has(tenant_id)) throw leaseLostRefusal()
  const numbered = () => withNumber(kernel, tenant_id, act)
  return queue(kernel).run(tenant_id, () =>
    runUnderLease(kernel, `${PREFIX}${tenant_id}`, numbered, { wait_ms }),
  )
}

// Takes the number before `act` reads: all requests of earlier erasures are then visible and final.
async function withNumber<T>(kernel: Kernel, tenant_id: string, act: () => Promise<T>): Promise<T> {
  await takeNumber(kernel, tenant_id)
  try {
    return await act()
  } catch (error) {
    noteInterruption(kernel, tenant_id, error)
    throw error
  } finally {
    numbers(kernel).delete(tenant_id)
  }
}

async function takeNumber(kernel: Kernel, tenant_id: string): Promise<void> {
  numbers(kernel).set(tenant_id, await kernel.keyring.ledger.issueFencingToken(tenant_id))
  // After the number: a tenant that is being moved is refused here, or its number is stale.
  if (kernel.db.shared) await kernel.db.transact(tenant_id, async () => {})
}

/**
 * Records erasures in the ledger; from then on they can only be finished. If another process has,
 * or may have, acquired the lease, refuses `unavailable` and records nothing.
 */
export async function requestErasures(
  kernel: Kernel,
  tenant_id: string,
  entries: readonly NewLedgerEntry[],
): Promise<LedgerEntry[]> {
  const turn = numbers(kernel).get(tenant_id)
  if (!turn) throw new Error('an erasure was requested outside runErasure')
  assertLeased(kernel, `${PREFIX}${tenant_id}`)
  try {
    return await kernel.keyring.ledger.request(entries, turn)
  } catch (error) {
    if (error instanceof KeyringError && error.code === 'stale_fencing_token')
      throw leaseLostRefusal()
    throw error
  }
}

/** Refuses `unavailable` in a unit of work that begins after its erasure has lost the lease. */
export const requireErasureLease = (kernel: Kernel, tx: Tx): Promise<void> =>
  requireLease(kernel, tx, `${PREFIX}${tx.tenant_id}`)

/**
 * Takes a new fencing number after a request without a reply: the ledger then shows whether the
 * request was recorded, and no longer accepts it. Refuses `unavailable` if the lease is lost.
 */
export async function renewFencingNumber(kernel: Kernel, tenant_id: string): Promise<void> {
  // An erasure that lost its lease must not fence off the one that followed it.
  await kernel.db.transact(tenant_id, (tx) => requireErasureLease(kernel, tx))
  await takeNumber(kernel, tenant_id)
}

/** When an outage interrupted erasures of a tenant, and when their recovery is due. */
const interruptions = perKernel(
  () => new Map<string, { readonly since_ms: number; due_ms: number }>(),
)

const RECOVERY_PAUSE_MAX_MS = 10_000

/** Whether a retry may succeed: the database, a disk, or a key that another process replaced. */
const isPassing = (error: unknown): boolean =>
  (error instanceof Refusal && PASSING_REFUSALS.includes(error.code)) ||
  (error instanceof KeyringError && PASSING_KEYRING_ERRORS.includes(error.code)) ||
  storageFault(error) !== null

const PASSING_REFUSALS: readonly string[] = ['unavailable', 'storage_full']
const PASSING_KEYRING_ERRORS: readonly string[] = [
  'keyring_unavailable',
  'signing_key_retired',
  'wrong_master_key',
]

/**
 * Records that erasures of the tenant may be unfinished, if the error is a passing one. Returns
 * whether it is.
 */
export function noteInterruption(kernel: Kernel, tenant_id: string, error: unknown): boolean {
  if (!isPassing(error)) return false
  const noted = interruptions(kernel)
  const now = performance.now()
  if (!noted.has(tenant_id)) noted.set(tenant_id, { since_ms: now, due_ms: now })
  return true
}

/** Call it when the tenant has nothing left to recover. */
export const forgetInterruption = (kernel: Kernel, tenant_id: string): void => {
  interruptions(kernel).delete(tenant_id)
}

/**
 * Returns the tenants whose interrupted erasures are due for recovery: at once, then after pauses
 * that double up to ten seconds, until they are forgotten.
 */
export function takeInterrupted(kernel: Kernel): string[] {
  const now = performance.now()
  const due = [...interruptions(kernel)].filter(([, { due_ms }]) => due_ms <= now)
  for (const [, one] of due) one.due_ms = now + Math.min(RECOVERY_PAUSE_MAX_MS, now - one.since_ms)
  return due.map(([tenant_id]) => tenant_id)
}

/** Tenants with an erasure that a process left unfinished: it must be finished or undone. */
export async function listAbandonedErasures(kernel: Kernel): Promise<string[]> {
  return (await listExpiredLeases(kernel, PREFIX)).map((name) => name.slice(PREFIX.length))
}
