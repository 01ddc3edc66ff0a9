// Converts errors of PostgreSQL or its connection to keyring errors that hold no secrets.

import pg from 'pg'
import { isDenied } from '../../db/postgres/error.ts'
import { KeyringError } from '../keyring-error.ts'

/** Conflicts with another transaction, after which the whole transaction is retried. */
const RETRYABLE = new Set(['40001', '40P01'])
/** Classes of SQLSTATE: connection, authorisation, resources, operator intervention, I/O. */
const UNAVAILABLE_CLASSES = new Set(['08', '28', '53', '57', '58'])
/**
 * No such database, or one that accepts no connection; a standby that has not been promoted; a lock
 * timeout; a transaction that was idle for too long.
 */
const UNAVAILABLE = new Set(['3D000', '55000', '25006', '55P03', '25P03', ...RETRYABLE])

function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined
}

export function isRetryable(error: unknown): boolean {
  return RETRYABLE.has(sqlState(error) ?? '')
}

/** Converts an error of a `pg` call. An error that is not the server's is one of the connection. */
export function connectionErrorOf(error: unknown): unknown {
  if (error instanceof pg.DatabaseError || error instanceof KeyringError) return error
  // The original error would quote the URL with its password.
  if (codeOf(error) === 'ERR_INVALID_URL')
    return new KeyringError('bad_argument', 'the URL of the keyring database cannot be read')
  if (error instanceof TypeError || error instanceof RangeError) return error
  return unavailable(codeOf(error))
}

/**
 * The message holds only the SQLSTATE, our own names and, if the role lacks a right, the object of
 * that right. Other messages of the server may quote rows or, for a connection, the URL with its
 * password.
 */
export function keyringErrorOf(error: unknown): unknown {
  const state = sqlState(error)
  if (state === undefined) return error
  if (UNAVAILABLE.has(state) || UNAVAILABLE_CLASSES.has(state.slice(0, 2)))
    return unavailable(`SQLSTATE ${state}`)
  // A right was revoked while the service was running.
  if (error instanceof pg.DatabaseError && isDenied(error))
    return unavailable(`SQLSTATE ${state}: ${error.message}`, state)
  const table = error instanceof pg.DatabaseError ? error.table : undefined
  const at = table === undefined ? '' : ` on ${table}`
  return new KeyringError(
    'keyring_damaged',
    `the keyring database refused a statement${at} (SQLSTATE ${state})`,
    state,
  )
}

/** Whether `keyringErrorOf` created the error from one of these states. */
export function isRefusal(error: unknown, ...states: string[]): boolean {
  return error instanceof KeyringError && states.some((state) => error.cause === state)
}

function unavailable(why: string, state?: string): KeyringError {
  const message = `the keyring database is not available (${why})`
  return new KeyringError('keyring_unavailable', message, state)
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  if (error instanceof Error && 'code' in error) return String(error.code)
  return 'no answer'
}
