// Whether a PostgreSQL server is there at all, asked on a connection of its own.

import { Client, DatabaseError } from 'pg'
import { connectionOf } from './postgres-connection.ts'

/** It shuts down or starts up: nothing comes of waiting for what is under way. */
const NOT_SERVING = ['57P01', '57P02', '57P03']

/** Whether it says anything within so long; that it takes no more connections is an answer too. */
export async function answers(url: string, ms: number): Promise<boolean> {
  const { connectionString } = connectionOf(url)
  const limits = { connectionTimeoutMillis: ms, query_timeout: ms }
  const client = new Client({ connectionString, ...limits })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } catch (error) {
    return error instanceof DatabaseError && !NOT_SERVING.includes(error.code ?? '')
  } finally {
    // A silent server does not answer this either.
    client.end().catch(() => {})
  }
}
