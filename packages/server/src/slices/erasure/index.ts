// The face of the erasure slice: handlers of three groups, recovery at start, the deletion job.

import type { decisionErasure, erasure, memoryErasure } from '@custos/contract'
import type { HandlersOf } from '../../platform/call.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { deleteMemory } from './delete.ts'
import { deleteStore, startStoreDeletion } from './delete-store.ts'
import { issue } from './issue.ts'
import { byFact, get, list, stats, verify } from './reads.ts'
import { redact } from './redact.ts'
import { STORE_ERASE, storeEraser } from './store-erase-job.ts'

export {
  certificateDigest,
  erasureSigner,
  readRecord,
  type StoredCertificate,
  showCertificate,
} from './certificate.ts'
export { findRecords, findStanding } from './certificates.sql.ts'
export { eraseMarked } from './erase.ts'
export { UnprovenErasure } from './erase-fact.ts'
export { eraseMany, type ManyErased, type ManyErasure } from './erase-many.ts'
export { finishPending } from './finish-pending.ts'
export { dataPlaces, keyringPlaces, otherPlaces, type Place } from './places.ts'
export { type Reasons, reasonsOf } from './plan.ts'
export type { Marked } from './plan-facts.ts'
export { reconcileErasures, recoverAbandoned, recoverErasures } from './recover.ts'
export { redactDecision } from './redact.ts'
export { needsReplay, replayLedger } from './replay-ledger.ts'
export { ERASURE_STEPS } from './steps.ts'
export { startStoreDeletion }

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

/** Before the worker starts: a deletion cut off by the last stop goes on. */
export function registerErasureJobs(kernel: Kernel): void {
  kernel.jobs.register(STORE_ERASE, storeEraser(kernel))
}
