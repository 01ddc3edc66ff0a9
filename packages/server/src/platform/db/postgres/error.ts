// Errors of PostgreSQL without values, rows or messages of the server.

import { DatabaseError } from 'pg'
import { Refusal } from '../../refusal.ts'

/**
 * `retry`: the transaction lost a race and may run again. `lost`: the connection or the server is
 * gone. `full`: no space. `slow`: a statement or a lock took too long. `denied`: a right on a table
 * was revoked. Null: the statement itself is at fault.
 */
type PostgresFault = 'retry' | 'lost' | 'full' | 'slow' | 'denied' | null

/** An error of the server or of the connection to it. */
export class PostgresError extends Error {
  readonly fault: PostgresFault
  /** SQLSTATE; null if the server sent none. */
  readonly code: string | null

  constructor(message: string, fault: PostgresFault, code: string | null = null) {
    super(message)
    this.name = 'PostgresError'
    this.fault = fault
    this.code = code
  }
}

/** A value that a JavaScript number cannot represent exactly. */
export class InexactNumber extends RangeError {}

/** SQLSTATE classes which mean that the server cannot work now, whatever the statement was. */
const LOST_CLASSES = ['08', '28', '3D', '53', '57', '58', 'F0', 'XX']
const FAULTS: Readonly<Record<string, PostgresFault>> = {
  '40001': 'retry',
  '40P01': 'retry',
  '53100': 'full',
  '55P03': 'slow',
  '57014': 'slow',
  // The server ended a session that was idle in its transaction.
  '25P03': 'lost',
  // The server is a former primary that became a standby.
  '25006': 'lost',
  '26000': 'lost',
  '42P05': 'lost',
}

/** A prepared statement is missing, or another client's: a pooler exchanges sessions. */
const POOLED = ['26000', '42P05']

/**
 * The server routine that checks rights. A row that a policy of the table refuses has the same
 * SQLSTATE from another routine, and is a bug.
 */
const RIGHTS_ROUTINE = 'aclcheck_error'

/** Whether the role lacks a right. The message names the right's object, and no values. */
export const isDenied = ({ code, routine }: Pick<DatabaseError, 'code' | 'routine'>): boolean =>
  code === '42501' && routine === RIGHTS_ROUTINE

/** Classes whose messages name tables and columns but no values. */
const NAMING_CLASSES = ['28', '3D', '42']

function faultOf(code: string, routine: string | undefined): PostgresFault {
  if (isDenied({ code, routine })) return 'denied'
  const known = FAULTS[code]
  if (known !== undefined) return known
  return LOST_CLASSES.includes(code.slice(0, 2)) ? 'lost' : null
}

/** Converts errors of `pg`; errors from elsewhere in this module are returned unchanged. */
export function asPostgresError(error: unknown): Error {
  if (error instanceof PostgresError || error instanceof InexactNumber) return error
  if (error instanceof DatabaseError) return ofServer(error)
  // Neither the server's nor ours: from a socket, a timer of the pool, or authentication.
  const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
  return new PostgresError(`the connection to PostgreSQL failed${code}`, 'lost')
}

function ofServer(error: DatabaseError): PostgresError {
  const { code = 'XX000', constraint, table, message, routine } = error
  const where = constraint ?? table
  const said = NAMING_CLASSES.includes(code.slice(0, 2)) ? `: ${message}` : ''
  const hint = POOLED.includes(code) ? ': behind a pooler its URL needs pgbouncer=true' : ''
  const text = `PostgreSQL error ${code}${where === undefined ? '' : ` at ${where}`}${said}${hint}`
  return new PostgresError(text, faultOf(code, routine), code)
}

/** The refusal for a server failure, after which it is unknown whether the unit was committed. */
export function asRefusal(error: unknown): unknown {
  if (!(error instanceof PostgresError) || error.fault === null) return error
  const [code, retry_after_s] =
    error.fault === 'full' ? (['storage_full', 30] as const) : (['unavailable', 5] as const)
  // Callers do not see the cause; a start that fails reports it.
  return Object.assign(new Refusal(code, undefined, { retry_after_s }), { cause: error })
}
