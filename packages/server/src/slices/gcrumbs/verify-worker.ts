// Verification in a thread of its own: a long log never holds up other tenants' requests.

import { parentPort } from 'node:worker_threads'
import type { DatabaseSource } from '../../platform/db/database.ts'
import { readSource } from '../../platform/db/source.ts'
import { type LogVerdict, type VerifyTask, verifyLog } from './verify-log.ts'

/** What verify.ts sends; the answer carries the same id. */
export interface VerifyRequest {
  readonly id: number
  readonly source: DatabaseSource
  readonly tenant_id: string
  readonly task: VerifyTask
}

export interface VerifyReply {
  readonly id: number
  readonly verdict?: LogVerdict
  /** Name of what went wrong; rows that do not hold are a verdict, not an error. */
  readonly error?: string
}

async function answer({ id, source, tenant_id, task }: VerifyRequest): Promise<VerifyReply> {
  try {
    return { id, verdict: await readSource(source, tenant_id, (db) => verifyLog(db, task)) }
  } catch (error) {
    return { id, error: error instanceof Error ? error.name : 'unknown' }
  }
}

parentPort?.on('message', async (request: VerifyRequest) => {
  parentPort?.postMessage(await answer(request))
})
