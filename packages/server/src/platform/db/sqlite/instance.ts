// Binds a database file to one keyring; it is never served with another.

import { existsSync } from 'node:fs'
import { OperatorError } from '../../operator-error.ts'
import { SqliteConnection } from './connection.ts'

/** The files of the data directory do not belong together; the message is one clear line. */
export class DataError extends OperatorError {}

/** The id of the keyring that the database was created with; null if there is no database yet. */
export function findInstance(path: string): string | null {
  if (!existsSync(path)) return null
  const tables = readTables(path)
  if (tables.length === 0) return null
  if (!tables.includes('instance'))
    throw new DataError(`${path} is a database of something else; it was left alone`)
  const connection = new SqliteConnection(path, 'read')
  try {
    const [id] = Object.values(connection.get('select instance_id from instance', []) ?? {})
    return typeof id === 'string' ? id : null
  } finally {
    connection.close()
  }
}

function readTables(path: string): string[] {
  let connection: SqliteConnection | undefined
  try {
    connection = new SqliteConnection(path, 'read')
    const rows = connection.all("select name from sqlite_master where type = 'table'", [])
    return rows.flatMap((row) => Object.values(row ?? {}).map(String))
  } catch (error) {
    const why = error instanceof Error ? error.message : 'unknown error'
    throw new DataError(`${path} cannot be read as a database (${why}); it was left alone`)
  } finally {
    connection?.close()
  }
}

/** Binds a new database to its keyring. */
export function recordInstance(connection: SqliteConnection, instance_id: string): void {
  connection.run(
    'insert into instance (instance_id) select ? where not exists (select 1 from instance)',
    [instance_id],
  )
}
