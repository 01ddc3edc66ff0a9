// A change of the keyring that its copy must have before anyone is told of it.

import type { KeyringDb } from './keyring-db.ts'
import type { CopiedChange, LedgerCopy } from './ledger-copy.ts'

interface Files {
  readonly db: KeyringDb
  readonly copy: LedgerCopy | undefined
}

/**
 * Runs `unit` in a transaction and appends what it says has `changed`. The copy is written inside
 * the transaction: if it cannot be, nothing is in the keyring; then, and if the commit fails, the
 * lines are taken back. A crash between the two leaves lines without rows: the next open merges
 * them.
 */
export function commitCopied<T>(
  { db, copy }: Files,
  unit: () => { changed: readonly CopiedChange[]; result: T },
): T {
  let before: number | undefined
  try {
    return db.transact(() => {
      const { changed, result } = unit()
      before = copy?.size
      copy?.append(changed)
      return result
    })
  } catch (error) {
    if (before !== undefined) copy?.rewind(before)
    throw error
  }
}
