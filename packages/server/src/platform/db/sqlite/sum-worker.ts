// Runs queries over many rows beside the main thread.

import { answerRequests } from '../../worker-requests.ts'
import { SqliteConnection } from './connection.ts'

let connection: SqliteConnection | undefined

/**
 * The first row of a compiled query; of a failure what a copy of the error would lose.
 * @param task.path the file of the engine, which has one
 */
export function sum(task: { path: string; sql: string; parameters: readonly unknown[] }): {
  readonly row?: unknown
  readonly failure?: { readonly message: string; readonly errcode: unknown }
} {
  try {
    connection ??= new SqliteConnection(task.path, 'read')
    return { row: connection.get(task.sql, task.parameters) }
  } catch (error) {
    return { failure: { message: String(error), errcode: Object(error).errcode } }
  }
}

answerRequests(sum)
