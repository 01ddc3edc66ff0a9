// Units of one tenant in one transaction, where each of them can fail alone.

import type { PostgresConnection, TransactionSettings } from './postgres-connection.ts'
import { PostgresError } from './postgres-error.ts'
import { type PostgresBatch, PostgresTx } from './postgres-handle.ts'
import type { Tx } from './tenant-db.ts'

/** Resolves to what tells its caller. */
type Unit = (tx: Tx) => Promise<() => void>

/** How a unit ended; to be told once the batch has ended, since it may have seen its neighbours. */
export type Outcome =
  | { readonly kept: true; readonly tell: () => void; readonly after: readonly (() => void)[] }
  | { readonly kept: false; readonly error: unknown }

export interface BatchResult {
  /** In the order of the units. */
  readonly outcomes: readonly Outcome[]
  /** False: no unit succeeded, and the transaction is still to be rolled back. */
  readonly committed: boolean
}

/** A unit failed after it had written, and there is no savepoint to go back to. */
export class SavepointsNeeded extends Error {}

export interface BatchOptions extends TransactionSettings {
  /** A savepoint for every unit: two more messages and a transaction id each. */
  readonly savepoints: boolean
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
  // Not awaited here: the first query travels with it, and fails when it does.
  const begun = connection.beginWrite(tenant_id, options)
  begun.catch(() => {})
  try {
    // A unit alone can take the whole transaction back.
    const way = units.length === 1 ? 'alone' : options.savepoints ? 'savepoint' : 'hope'
    const outcomes: Outcome[] = []
    for (const unit of units) outcomes.push(await runUnit(tenant_id, unit, batch, way))
    await begun
    if (!outcomes.some(({ kept }) => kept)) return { outcomes, committed: false }
    await flush(batch)
    await connection.commit()
    return { outcomes, committed: true }
  } catch (error) {
    throw causeOf(connection, error)
  }
}

async function runUnit(
  tenant_id: string,
  unit: Unit,
  batch: PostgresBatch,
  way: 'alone' | 'savepoint' | 'hope',
): Promise<Outcome> {
  const { connection, state } = batch
  const { tx, after, hasWritten, end } = PostgresTx.open(tenant_id, batch)
  state.beginUnit()
  if (way === 'savepoint') send(connection, 'savepoint unit')
  try {
    const tell = await unit(tx)
    // After a failed statement there is nothing left to keep, even if the unit went on.
    if (connection.failure) throw connection.failure
    if (way === 'savepoint') send(connection, 'release savepoint unit')
    return { kept: true, tell, after }
  } catch (error) {
    if (endsBatch(connection.failure)) throw error
    state.undoUnit()
    const cause = causeOf(connection, error)
    if (way === 'savepoint') await connection.rollbackTo('unit')
    if (way === 'hope' && (hasWritten() || connection.failure)) throw new SavepointsNeeded()
    return { kept: false, error: cause }
  } finally {
    end()
  }
}

async function flush(batch: PostgresBatch): Promise<void> {
  for (const { slot, tenant_id, value } of batch.state.entries()) {
    const { tx, end } = PostgresTx.open(tenant_id, batch)
    await slot.flush(tx, value)
    end()
  }
}

// Its failure is noted by the connection, and COMMIT finds it.
function send(connection: PostgresConnection, step: string): void {
  connection.step(step).catch(() => {})
}

const endsBatch = (failure: Error | null): boolean =>
  failure instanceof PostgresError && failure.fault !== null && failure.fault !== 'slow'

/** The error behind the echoes that statements of a failed transaction give. */
export function causeOf(connection: PostgresConnection, error: unknown): unknown {
  return error instanceof PostgresError ? (connection.failure ?? error) : error
}
