// Orders ledger changes, in a keyring of one process and in one that several processes share.

import { sql } from 'kysely'
import { lastNumber, lockCounter, takeNumbers } from '../core/counters.sql.ts'
import type { KeyringDb, KeyringQueries, KeyringTx } from '../core/database.ts'
import { selectUnclaimed } from './parts.sql.ts'

/** The difference between the two kinds of keyring: how changes are ordered, and who made them. */
export interface LedgerOrder {
  /** Until the transaction ends, no other process can change the ledger. */
  lock(tx: KeyringTx): Promise<void>
  /** The number of the last entry; 0 if there is none. */
  lastNumber(db: KeyringQueries): Promise<number>
  /** Reserves `count` entry numbers for this transaction and returns the first. */
  takeNumbers(tx: KeyringTx, count: number): Promise<number>
  /** Waits for requests in flight with the previous token. */
  nextToken(tenant_id: string): Promise<number>
  /** The tenant's last token; no later one is issued until the transaction ends. */
  lastToken(tx: KeyringTx, tenant_id: string): Promise<number | undefined>
  /** Stored with each part; null in a keyring of one process. */
  readonly process_id: string | null
  /** Plans that no entry claims and that no running process can still claim. */
  listAbandonedPlans(db: KeyringQueries): Promise<string[]>
}

/** For one process, which keeps its tokens in memory and whose requests end with it. */
export class UnsharedLedgerOrder implements LedgerOrder {
  readonly process_id = null
  readonly #tokens = new Map<string, number>()

  async lock(): Promise<void> {
    // SQLite runs one write transaction at a time.
  }

  /** Entries are never deleted, so the greatest number is the last one handed out. */
  async lastNumber(db: KeyringQueries): Promise<number> {
    const row = await db.first(
      db.tables.selectFrom('ledger').select((eb) => eb.fn.max('ledger_id').as('last')),
    )
    return row?.last ?? 0
  }

  async takeNumbers(tx: KeyringTx): Promise<number> {
    return (await this.lastNumber(tx)) + 1
  }

  async nextToken(tenant_id: string): Promise<number> {
    const number = (this.#tokens.get(tenant_id) ?? 0) + 1
    this.#tokens.set(tenant_id, number)
    return number
  }

  async lastToken(_tx: KeyringTx, tenant_id: string): Promise<number | undefined> {
    return this.#tokens.get(tenant_id)
  }

  async listAbandonedPlans(db: KeyringQueries): Promise<string[]> {
    return (await db.all(selectUnclaimed(db))).map(({ parts_id }) => parts_id)
  }
}

/** A process that has sent no heartbeat for this long is considered dead. */
const SILENCE = sql.lit('60 seconds')

/** For several processes, which lock counters and tokens in rows. */
export class SharedLedgerOrder implements LedgerOrder {
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

/** Records a heartbeat of this process, so that its plans are not treated as abandoned. */
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
