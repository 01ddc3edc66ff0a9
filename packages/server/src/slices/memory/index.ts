// The public interface of the memory slice: its handlers, and the functions that other slices call.

import type { memory } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { STORE_REEMBED } from './facts/embeddings.ts'
import { storeIndexes } from './index/store-indexes.ts'
import { audit, exportStore, getMemory, listHistory, listMemories } from './read/memory-reads.ts'
import { retrieve } from './read/retrieve.ts'
import {
  capabilities,
  flush,
  getStore,
  ingestionStats,
  listStores,
  stats,
} from './read/store-reads.ts'
import { createStore } from './stores/create-store.ts'
import { importStore } from './write/import.ts'
import { makeReembedRunner, reembed } from './write/reembed.ts'
import { supersede } from './write/supersede.ts'
import { write, writeBatch } from './write/write.ts'

export { makeDueDigests } from './digests/make-digests.ts'
export {
  type FactDocument,
  type OpenedFact,
  openFactDocument,
  showMemory,
} from './facts/fact-document.ts'
export { computeCommitment, computeCommitmentsRoot } from './facts/fact-identity.ts'
export {
  areLive,
  countErasing,
  type FactHead,
  findFactHeads,
  findHighestRef,
  listFactsAfter,
  listFactsSince,
  listRefsOfStore,
  listRefsWithin,
  placeAfter,
  REFS_AT_ONCE,
  type SealPlace,
} from './facts/facts.sql.ts'
export { digestName } from './facts/item-name.ts'
export {
  findItemHead,
  findLatestVersion,
  HEADS_MAX,
  type ItemRow,
  listItemHeads,
  listNamespaceSamples,
  listVersionRefs,
} from './facts/items.sql.ts'
export {
  loadContents,
  loadFactsForErasure,
  loadLiveFacts,
  loadVisibleFacts,
  openStoredFacts,
} from './facts/opened-fact.ts'
export { parseExpiry, prepareFacts } from './facts/prepare-facts.ts'
export { listDigestsUsing } from './facts/session-digests.sql.ts'
export { findValidityAt } from './facts/validity.sql.ts'
export { destroySnapshots } from './index/index-snapshots.ts'
export { listMemoryStates } from './read/memory-reads.ts'
export { packWithinBudget } from './read/pack.ts'
export { answerRanked } from './read/rank-refs.ts'
export { flushRetrievedFacts } from './read/retrieved-facts.ts'
export { findIndexSecrets } from './snapshots/snapshot-secrets.sql.ts'
export {
  anyExpiredStatement,
  countExpired,
  findExpired,
  listExpired,
  listStoresWithExpired,
} from './stores/expiries.sql.ts'
export {
  countActiveHolds,
  findHold,
  findHoldById,
  insertHold,
  insertHoldRelease,
  listAllHolds,
  listHolds,
  loadHoldReleases,
  updateHoldRelease,
  updateRedactedHold,
} from './stores/holds.sql.ts'
export { countPending } from './stores/ingestion.ts'
export { descriptionColumn, storeTextSource } from './stores/store-description.ts'
export {
  legalHoldRefusal,
  loadHeldStores,
  markStoreDeleting,
  refuseHeldStore,
  removeStoreRow,
} from './stores/store-heads.ts'
export { loadReadableStore, requireCapability, settingsCache } from './stores/store-settings.ts'
export { findStore, loadSelfTestStores } from './stores/stores.sql.ts'
export {
  loadTargetHead,
  loadWriteTarget,
  retryOnStoreConflict,
} from './stores/write-target.ts'
export {
  dropCached,
  enqueueMissingVectors,
  listStoresOfFacts,
  loadFactStates,
  markErasing,
  probeErasedFacts,
  purgeErased,
  setTombstoneCertificate,
  unmarkErasing,
  writeTombstones,
} from './write/erase-facts.ts'
export { type PreparedItem, putItem, type StoredItem } from './write/put-item.ts'
export { gateWrites, writeAll } from './write/write.ts'
export {
  type FactCandidate,
  prepareWaitingFact,
  type WrittenConversation,
  writeConversation,
} from './write/write-extraction.ts'

export const memoryHandlers = {
  list_stores: listStores,
  create_store: createStore,
  get_store: getStore,
  capabilities,
  write,
  write_batch: writeBatch,
  supersede,
  retrieve,
  audit,
  flush,
  ingestion_stats: ingestionStats,
  stats,
  reembed,
  memories: listMemories,
  memory: getMemory,
  history: listHistory,
  export: exportStore,
  import: importStore,
} satisfies HandlersOf<typeof memory>

/** Writes due snapshots of indexes. `within_ms` is the time left when the process is stopping. */
export const saveIndexes = (kernel: Kernel, within_ms?: number): Promise<void> =>
  storeIndexes(kernel).saveDue(within_ms)

/** Removes leftover snapshot files of the previous process. */
export const sweepIndexes = (kernel: Kernel): Promise<void> => storeIndexes(kernel).sweep()

/** Call this before the job worker starts: it resumes embedding that the last stop cut off. */
export function registerMemoryJobs(kernel: Kernel): void {
  kernel.jobs.register(STORE_REEMBED, makeReembedRunner(kernel))
}

/** Memory of all indexes of this process, and how long the longest build has been running. */
export const measureIndexes = (kernel: Kernel) => storeIndexes(kernel).measure()
