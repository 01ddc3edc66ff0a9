// Which turn may request erasures, the same for a ledger of any engine.

import type { LedgerTurn, NewLedgerEntry } from './keyring.ts'
import { KeyringError } from './keyring-error.ts'

/** @param last the number of the tenant's last turn; `turn_over` unless it is this one's */
export function requireLast(
  { tenant_id, number }: LedgerTurn,
  entries: readonly NewLedgerEntry[],
  last: number | undefined,
): void {
  if (entries.some((entry) => entry.tenant_id !== tenant_id))
    throw new KeyringError('bad_argument', 'a turn is for the entries of one tenant')
  if (number === last) return
  throw new KeyringError('turn_over', 'another has the turn at the erasures of this tenant')
}
