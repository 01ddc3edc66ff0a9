// Units of one tenant in one transaction, where each of them can fail alone.

import type { Tx } from '../tenant-db.ts'
import type { PostgresConnection, TransactionSettings } from './connection.ts'
import { PostgresError } from './error.ts'
import { type PostgresBatch, PostgresTx } from './handle.ts'

/** Resolves to what tells its caller. */
type Unit = (tx: Tx) => Promise<() => void>

/** How a unit ended; to be told once the batch has ended, since it may have seen its neighbours. */
export type Outcome =
  | {
      readonly kept: true
      readonly tell: () => void
      readonly after: readonly (() => void)[]
      /** Counts only if these resolve. */
      readonly needed: readonly Promise<unknown>[]
    }
  | { readonly kept: false; readonly error: unknown }

interface BatchResult {
  /** In the order of the units. */
  readonly outcomes: readonly Outcome[]
  /** False: no unit succeeded, and the transaction is still to be rolled back. */
  readonly committed: boolean
}

/** A unit failed after it had written, and there is no savepoint to go back to. */
export class SavepointsNeeded extends Error {}

interface BatchOptions extends TransactionSettings {
  /** A savepoint for every unit: two more messages and a transaction id each. */
  readonly savepoints: boolean
  /** Whether the tenant's lock is known to be there. */
  readonly made: boolean
}

/**
 * Commits the units that succeed. A throw means that none of them is known to be kept; without
 * savepoints also SavepointsNeeded, after which the batch can be run with them.
 */
export async function runBatch(
  tenant_id: string,
  units: readonly Unit[],
  batch: PostgresBatch,
  options: BatchOptions,
): Promise<BatchResult> {
  const { connection } = batch
  const { made } = options
  // A unit alone can take the whole transaction back.
  const way = units.length === 1 ? 'alone' : options.savepoints ? 'savepoint' : 'hope'
  // Not awaited here: the first query travels with it, and fails when it does.
  const begun = connection.beginWrite(tenant_id, options, { named: batch.named, made })
  begun.catch(() => {})
  const outcomes: Outcome[] = []
  const needed = () => outcomes.flatMap((outcome) => (outcome.kept ? outcome.needed : []))
  try {
    for (const unit of units) outcomes.push(await runUnit(tenant_id, unit, batch, way))
    await begun
    if (!outcomes.some(({ kept }) => kept)) return { outcomes, committed: false }
    await allSettled([...needed(), sendGathered(tenant_id, batch), flush(batch)])
    await connection.commit()
    return { outcomes, committed: true }
  } catch (error) {
    await Promise.allSettled([...needed(), ...batch.gathered.takeSent()])
    const cause = causeOf(connection, error)
    // Of which unit it was nothing is known.
    if (way === 'hope' && !endsBatch(cause)) throw new SavepointsNeeded()
    throw cause
  }
}

async function runUnit(
  tenant_id: string,
  unit: Unit,
  batch: PostgresBatch,
  way: 'alone' | 'savepoint' | 'hope',
): Promise<Outcome> {
  const { connection, state } = batch
  const { tx, after, needed, hasWritten, end } = PostgresTx.open(tenant_id, batch)
  state.beginUnit()
  if (way === 'savepoint') send(connection, 'savepoint unit')
  try {
    const tell = await unit(tx)
    // Without a savepoint the next unit need not wait for them: all of them are taken back.
    if (way === 'savepoint') {
      batch.gathered.sendAll(tx)
      await allSettled([...needed, ...batch.gathered.takeSent()])
    }
    // After a failed statement there is nothing left to keep, even if the unit went on.
    if (connection.failure) throw connection.failure
    if (way === 'savepoint') send(connection, 'release savepoint unit')
    return { kept: true, tell, after, needed }
  } catch (error) {
    if (endsBatch(connection.failure)) throw error
    state.undoUnit()
    // With savepoints they are this unit's alone.
    const gathered = way === 'hope' ? [] : batch.gathered.takeSent()
    if (way !== 'hope') batch.gathered.drop()
    const cause = causeOf(connection, error)
    end()
    await Promise.allSettled([...needed, ...gathered])
    if (way === 'savepoint') await connection.rollbackTo('unit')
    if (way === 'hope' && (hasWritten() || connection.failure)) throw new SavepointsNeeded()
    return { kept: false, error: cause }
  } finally {
    end()
  }
}

// Inserts that a statement has caused belong to the batch, not to the unit of that statement.
async function sendGathered(tenant_id: string, batch: PostgresBatch): Promise<void> {
  const { tx, end } = PostgresTx.open(tenant_id, batch)
  try {
    batch.gathered.sendAll(tx)
    await allSettled(batch.gathered.takeSent())
  } finally {
    end()
  }
}

// Sends all statements at once: none reads rows that another one writes.
async function flush(batch: PostgresBatch): Promise<void> {
  const flushes = batch.state.entries().map(async ({ slot, tenant_id, value }) => {
    const { tx, needed, end } = PostgresTx.open(tenant_id, batch)
    try {
      await slot.flush(tx, value)
      await allSettled(needed)
    } finally {
      end()
    }
  })
  await allSettled(flushes)
}

/**
 * Fails as Promise.all does, but only when all have ended: one that went on would send its next
 * query into whatever transaction the connection is in by then.
 */
async function allSettled(all: readonly Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(all)
  await Promise.all(all)
}

// Its failure is noted by the connection, and COMMIT finds it.
function send(connection: PostgresConnection, step: string): void {
  connection.step(step).catch(() => {})
}

const endsBatch = (failure: unknown): boolean =>
  failure instanceof PostgresError && failure.fault !== null && failure.fault !== 'slow'

/** The error behind the echoes that statements of a failed transaction give. */
export function causeOf(connection: PostgresConnection, error: unknown): unknown {
  return error instanceof PostgresError ? (connection.failure ?? error) : error
}
