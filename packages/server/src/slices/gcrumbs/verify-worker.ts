// Verifies a log in a worker thread, so that a long log never delays other tenants' requests.

import { parentPort } from 'node:worker_threads'
import type { RefusalCode } from '@custos/contract'
import type { DatabaseSource } from '../../platform/db/database.ts'
import { readSource } from '../../platform/db/engines/source.ts'
import { Refusal } from '../../platform/refusal.ts'
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
  /** The refusal for the caller when the database could not answer. */
  readonly refusal?: { readonly code: RefusalCode; readonly retry_after_s: number | undefined }
}

async function answer({ id, source, tenant_id, task }: VerifyRequest): Promise<VerifyReply> {
  try {
    return { id, verdict: await readSource(source, tenant_id, (db) => verifyLog(db, task)) }
  } catch (error) {
    const name = error instanceof Error ? error.name : 'unknown'
    if (!(error instanceof Refusal)) return { id, error: name }
    const { code, extras } = error
    return { id, error: name, refusal: { code, retry_after_s: extras.retry_after_s } }
  }
}

// One after another: this thread has one core, and each of them takes a connection.
let last: Promise<unknown> = Promise.resolve()
parentPort?.on('message', (request: VerifyRequest) => {
  last = last.then(async () => parentPort?.postMessage(await answer(request)))
})
