// One erasure, scrub or redaction of a tenant at a time: each is planned from what the last left.
//
// A lease says whose turn it is, and a lease can be lost without knowing: a process that stood
// still for a minute goes on in the middle of a turn that another has taken up since. So the lease
// is what makes them wait for each other, and two checks that no clock has a part in are what makes
// it safe. Every turn has a number of the keyring's ledger (`takeTurn`), which takes requests of
// the newest turn only: a plan made in an older one comes to nothing, and its maker is told. And
// units that hide or show a memory begin with `requireTurn`: they fail once the lease is another's.
// All else that a turn does follows from ledger rows and does nothing when it is done again.

import { keyedQueue } from './concurrency.ts'
import type { Tx } from './db/tenant-db.ts'
import { type Kernel, perKernel } from './kernel.ts'
import type { LedgerEntry, LedgerTurn, NewLedgerEntry } from './keys/keyring.ts'
import { KeyringError } from './keys/keyring-error.ts'
import { assertHeld, leaseLost, overdueLeases, requireHeld, whenLeased } from './leases.ts'

const PREFIX = 'erasure/'

const turnQueue = perKernel(keyedQueue)

/** The turns this process is at, by tenant. */
const numbers = perKernel(() => new Map<string, LedgerTurn>())

/**
 * Runs `act` when every earlier turn of the tenant has ended, however it ended: those of this
 * process in the order they came, those of other processes by a lease. Turns do not nest.
 */
export async function inErasureTurn<T>(
  kernel: Kernel,
  tenant_id: string,
  act: () => Promise<T>,
): Promise<T> {
  const numbered = () => withNumber(kernel, tenant_id, act)
  return turnQueue(kernel).run(tenant_id, () =>
    whenLeased(kernel, `${PREFIX}${tenant_id}`, numbered),
  )
}

// Before anything is looked at: what an earlier turn has requested by now is seen, and no more.
async function withNumber<T>(kernel: Kernel, tenant_id: string, act: () => Promise<T>): Promise<T> {
  await takeNumber(kernel, tenant_id)
  try {
    return await act()
  } finally {
    numbers(kernel).delete(tenant_id)
  }
}

async function takeNumber(kernel: Kernel, tenant_id: string): Promise<void> {
  numbers(kernel).set(tenant_id, await kernel.keyring.ledger.takeTurn(tenant_id))
}

/**
 * Puts erasures on record: from here they can only be finished. Refuses `unavailable` when the
 * turn is, or may be, another's by now; then nothing is on record.
 */
export async function requestInTurn(
  kernel: Kernel,
  tenant_id: string,
  entries: readonly NewLedgerEntry[],
): Promise<LedgerEntry[]> {
  const turn = numbers(kernel).get(tenant_id)
  if (!turn) throw new Error('an erasure was requested outside a turn')
  assertHeld(kernel, `${PREFIX}${tenant_id}`)
  try {
    return await kernel.keyring.ledger.request(entries, turn)
  } catch (error) {
    if (error instanceof KeyringError && error.code === 'turn_over') throw leaseLost()
    throw error
  }
}

/** Refuses `unavailable` in a unit of work that comes after the end of the turn it belongs to. */
export const requireTurn = (kernel: Kernel, tx: Tx): Promise<void> =>
  requireHeld(kernel, tx, `${PREFIX}${tx.tenant_id}`)

/**
 * Waits for what this turn has requested without an answer, by a number of its own for what comes
 * next: after it the ledger shows what came of it. Refuses `unavailable` when the turn is over.
 */
export async function renewTurn(kernel: Kernel, tenant_id: string): Promise<void> {
  // A turn that is over must not end the one that came after it.
  await kernel.db.transact(tenant_id, (tx) => requireTurn(kernel, tx))
  await takeNumber(kernel, tenant_id)
}

/** Tenants in whose turn a process has ended: what it was at is to be finished or undone. */
export async function abandonedTurns(kernel: Kernel): Promise<string[]> {
  return (await overdueLeases(kernel, PREFIX)).map((name) => name.slice(PREFIX.length))
}
