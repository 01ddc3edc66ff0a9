// Runs queries over many rows off the main thread.

import { answerRequests } from '../../worker-requests.ts'
import { SqliteConnection } from './connection.ts'

let connection: SqliteConnection | undefined

/**
 * The rows of a compiled query or, on failure, the members of the error that copying would lose.
 * @param task.path the file of the engine
 */
export function sumUp(task: { path: string; sql: string; parameters: readonly unknown[] }): {
  readonly rows?: unknown[]
  readonly failure?: { readonly message: string; readonly errcode: unknown }
} {
  try {
    connection ??= new SqliteConnection(task.path, 'read')
    return { rows: connection.all(task.sql, task.parameters) }
  } catch (error) {
    return { failure: { message: String(error), errcode: Object(error).errcode } }
  }
}

answerRequests(sumUp)
