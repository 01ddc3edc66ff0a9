// The order of ledger changes in a keyring that one process has open.

import type { LedgerOrder } from '../ledger/ledger.ts'
import { selectUnclaimed } from '../ledger/parts.sql.ts'
import type { KeyringQueries, KeyringTx } from '../shared/database.ts'

export class FileLedgerOrder implements LedgerOrder {
  readonly process_id = null
  // In memory: one process has the keyring, and its requests end with it.
  readonly #tokens = new Map<string, number>()

  async lock(): Promise<void> {
    // A transaction of SQLite is the only one.
  }

  /** Entries are never deleted: the greatest number is the last one given out. */
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
