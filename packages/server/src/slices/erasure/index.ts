// The erasure slice: handlers of three operation groups, recovery at start, the job that deletes
// stores, and what other slices use to erase.

import type { decisionErasure, erasure, memoryErasure } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { deleteStore, STORE_ERASE, storeEraser } from './delete-store.ts'
import { deleteMemory, issue } from './erase.ts'
import { byFact, get, list, stats, verify } from './reads.ts'
import { redact } from './redact.ts'

export {
  type ErasureReasons,
  erasureSigner,
  fillReasons,
  parseCertificate,
  showCertificate,
} from './certificate.ts'
export { UnprovenErasure } from './certify.ts'
export { startStoreDeletion } from './delete-store.ts'
export { eraseFacts, eraseListed, eraseMarkedFacts } from './erase.ts'
export { findCertificates, findStandingCertificate } from './erasure.sql.ts'

export {
  finishPendingErasures,
  reconcileErasures,
  recoverAbandoned,
  recoverErasures,
} from './recover.ts'
export { redactDecision, redactText } from './redact.ts'

export const erasureHandlers = {
  issue,
  stats,
  get,
  verify,
  by_fact: byFact,
  list,
} satisfies HandlersOf<typeof erasure>

export const memoryErasureHandlers = {
  delete: deleteMemory,
  delete_store: deleteStore,
} satisfies HandlersOf<typeof memoryErasure>

export const decisionErasureHandlers = { redact } satisfies HandlersOf<typeof decisionErasure>

/** Before the worker starts: it resumes a deletion that the last stop interrupted. */
export function registerErasureJobs(kernel: Kernel): void {
  kernel.jobs.register(STORE_ERASE, storeEraser(kernel))
}
