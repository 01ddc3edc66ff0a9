// Verifies a log in a worker thread, so that a long log never delays other tenants' requests.

import type { RefusalCode } from '@custos/contract'
import type { DatabaseSource } from '../../platform/db/database.ts'
import { readSource } from '../../platform/db/engines/source.ts'
import { Refusal } from '../../platform/refusal.ts'
import { answerRequests } from '../../platform/worker-requests.ts'
import { type LogVerdict, type VerifyTask, verifyLog } from './verify-log.ts'

/** `error` names an internal failure. Rows that fail verification are a verdict, not an error. */
export async function verify(log: {
  readonly source: DatabaseSource
  readonly tenant_id: string
  readonly task: VerifyTask
}): Promise<{
  readonly verdict?: LogVerdict
  readonly error?: string
  /** The refusal for the caller if the database did not answer. */
  readonly refusal?: { readonly code: RefusalCode; readonly retry_after_s: number | undefined }
}> {
  const { source, tenant_id, task } = log
  try {
    return { verdict: await readSource(source, tenant_id, (db) => verifyLog(db, task)) }
  } catch (error) {
    const name = error instanceof Error ? error.name : 'unknown'
    if (!(error instanceof Refusal)) return { error: name }
    const { code, extras } = error
    return { error: name, refusal: { code, retry_after_s: extras.retry_after_s } }
  }
}

answerRequests(verify)
