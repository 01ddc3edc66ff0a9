// Verification in a thread of its own: a long log never holds up other tenants' requests.

import { parentPort } from 'node:worker_threads'
import { SqliteConnection } from '../../platform/db/sqlite-connection.ts'
import { SqliteTenantDb } from '../../platform/db/sqlite-handle.ts'
import { type LogVerdict, type VerifyTask, verifyLog } from './verify-log.ts'

/** What verify.ts sends; the answer carries the same id. */
export interface VerifyRequest {
  readonly id: number
  readonly path: string
  readonly tenant_id: string
  readonly task: VerifyTask
}

export interface VerifyReply {
  readonly id: number
  readonly verdict?: LogVerdict
  /** Name of what went wrong; rows that do not hold are a verdict, not an error. */
  readonly error?: string
}

async function answer({ id, path, tenant_id, task }: VerifyRequest): Promise<VerifyReply> {
  const connection = new SqliteConnection(path, 'read')
  try {
    connection.step('BEGIN')
    return { id, verdict: await verifyLog(new SqliteTenantDb(tenant_id, connection), task) }
  } catch (error) {
    return { id, error: error instanceof Error ? error.name : 'unknown' }
  } finally {
    connection.close()
  }
}

parentPort?.on('message', async (request: VerifyRequest) => {
  parentPort?.postMessage(await answer(request))
})
