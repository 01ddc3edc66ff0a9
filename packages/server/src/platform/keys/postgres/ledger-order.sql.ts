// The order of ledger changes in a keyring that several processes have open.

import { sql } from 'kysely'
import type { LedgerOrder } from '../ledger/ledger.ts'
import { selectUnclaimed } from '../ledger/parts.sql.ts'
import type { KeyringDb, KeyringQueries, KeyringTx } from '../shared/database.ts'
import { lastNumber, lockCounter, takeNumbers } from './counters.sql.ts'

/** A process that has not been seen for this long is taken for dead. */
const SILENCE = sql.lit('60 seconds')

export class PostgresLedgerOrder implements LedgerOrder {
  readonly process_id: string
  readonly #db: KeyringDb

  constructor(db: KeyringDb, process_id: string) {
    this.#db = db
    this.process_id = process_id
  }

  lock(tx: KeyringTx): Promise<void> {
    return lockCounter(tx, 'ledger')
  }

  lastNumber(db: KeyringQueries): Promise<number> {
    return lastNumber(db, 'ledger')
  }

  takeNumbers(tx: KeyringTx, count: number): Promise<number> {
    return takeNumbers(tx, 'ledger', count)
  }

  async nextToken(tenant_id: string): Promise<number> {
    return this.#db.transact(async (tx) => {
      const query = tx.tables
        .insertInto('ledger_turns')
        .values({ tenant_id, number: 1 })
        .onConflict((on) =>
          on
            .column('tenant_id')
            .doUpdateSet((eb) => ({ number: eb('ledger_turns.number', '+', 1) })),
        )
      const row = await tx.first(query.returning('number'))
      if (!row) throw new Error('INSERT … RETURNING gave no row')
      return row.number
    })
  }

  async lastToken(tx: KeyringTx, tenant_id: string): Promise<number | undefined> {
    const query = tx.tables.selectFrom('ledger_turns').select('number')
    return (await tx.first(query.where('tenant_id', '=', tenant_id).forShare()))?.number
  }

  async listAbandonedPlans(db: KeyringQueries): Promise<string[]> {
    const query = selectUnclaimed(db).where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('ledger_parts as q')
            .innerJoin('processes as a', 'a.process_id', 'q.process_id')
            .select('q.part')
            .whereRef('q.parts_id', '=', 'ledger_parts.parts_id')
            .where('a.seen_at', '>', sql<Date>`now() - interval ${SILENCE}`),
        ),
      ),
    )
    return (await db.all(query)).map(({ parts_id }) => parts_id)
  }
}

/** Says that this process is alive: the plans it adds to are not abandoned. */
export async function upsertProcess(tx: KeyringTx, process_id: string): Promise<void> {
  const seen_at = sql<Date>`now()`
  await tx.run(
    tx.tables
      .insertInto('processes')
      .values({ process_id, seen_at })
      .onConflict((on) => on.column('process_id').doUpdateSet({ seen_at })),
  )
  await tx.run(
    tx.tables.deleteFrom('processes').where('seen_at', '<', sql<Date>`now() - interval '1 day'`),
  )
}

export async function deleteProcess(tx: KeyringTx, process_id: string): Promise<void> {
  await tx.run(tx.tables.deleteFrom('processes').where('process_id', '=', process_id))
}
