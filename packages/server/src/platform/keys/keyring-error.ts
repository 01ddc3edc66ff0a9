// Errors of a keyring, each with a code that callers can branch on.

import { OperatorError } from '../operator-error.ts'

type KeyringErrorCode =
  | 'bad_master_key'
  | 'master_key_missing'
  | 'wrong_master_key'
  | 'bad_argument'
  | 'tenant_key_missing'
  | 'tenant_destroyed'
  | 'bad_secret'
  | 'secret_destroyed'
  | 'no_signing_key'
  | 'bad_signing_key'
  | 'signing_key_retired'
  | 'day_key_dropped'
  | 'unknown_ledger_entry'
  | 'checkpoint_conflict'
  | 'slot_file_missing'
  | 'slot_file_truncated'
  | 'slot_file_foreign'
  | 'ledger_parts_missing'
  | 'stale_fencing_token'
  | 'ledger_copy_damaged'
  | 'ledger_copy_failed'
  | 'keyring_exists'
  | 'keyring_damaged'
  | 'keyring_unavailable'
  | 'backup_unreadable'
  | 'backup_unsupported'
  | 'unsupported_version'

/** The message is one line for an operator; it never holds key bytes. */
export class KeyringError extends OperatorError {
  readonly code: KeyringErrorCode

  constructor(code: KeyringErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'KeyringError'
    this.code = code
  }
}

/** Throws `bad_argument` unless `value` is an integer in `[min, 2^53)`. */
export function requireInteger(name: string, value: number, min: number): void {
  if (Number.isSafeInteger(value) && value >= min) return
  throw new KeyringError('bad_argument', `${name} must be an integer of at least ${min}`)
}
