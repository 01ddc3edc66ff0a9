// The public interface of the audit log: appending for other slices, handlers for HTTP.

import type { gcrumbs } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { roll } from './epochs.ts'
import * as reads from './reads.ts'

export { appendCrumb, nextSeq, refuseEntries } from './append.ts'
export {
  findCrumb,
  findHead,
  findHeads,
  findLastEpoch,
  findLastSeq,
  type LogPageOptions,
  listCrumbs,
  listLeaves,
} from './chain.sql.ts'
export {
  listCosignaturesAfter,
  listTimestampsAfter,
} from './cosignatures.sql.ts'
export { isWitnessed, LOG_JOBS, registerLogJobs, showCosignatures } from './cosignatures.ts'
export {
  generationAt,
  originOf,
  reconcileLog,
  restoredGeneration,
  rollEpoch,
  rollGrownLogs,
  storePendingEpochs,
} from './epochs.ts'
export { followLog, type LogEnd, type LogPage, readLogPage } from './follow.ts'
export { proveEntry } from './reads.ts'
export { fitsHead, fitsLog, seqAt, treeRoot } from './tree.ts'
export { UNVERIFIED, verifyLog } from './verify-log.ts'

export const gcrumbsHandlers = {
  public_key: reads.publicKey,
  verify_key: reads.verifyKey,
  roll,
  breadcrumbs: reads.breadcrumbs,
  epochs: reads.epochs,
  epoch: reads.epoch,
  proof: reads.proof,
  consistency: reads.consistency,
  verify: reads.verify,
  verify_envelope: reads.verifyAny,
  checkpoint: reads.checkpoint,
  tile: reads.tile,
  stats: reads.stats,
} satisfies HandlersOf<typeof gcrumbs>
