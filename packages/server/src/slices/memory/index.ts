// The face of the memory slice: its handlers, and what decisions and erasure ask of memory.

import type { memory } from '@custos/contract'
import type { HandlersOf } from '../../platform/call.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { createStore } from './create-store.ts'
import { importStore } from './import.ts'
import { audit, exportStore, getMemory, listMemories } from './memory-reads.ts'
import { reembed } from './reembed.ts'
import { reembedder } from './reembed-job.ts'
import { STORE_REEMBED } from './reembed-queue.ts'
import { retrieve } from './retrieve.ts'
import { capabilities, flush, getStore, ingestionStats, listStores, stats } from './store-reads.ts'
import { supersede } from './supersede.ts'
import { write } from './write.ts'
import { writeBatch } from './write-batch.ts'

export { requireCapability } from './capabilities.ts'
export {
  entomb,
  type FactState,
  factStates,
  forget,
  markErasing,
  probeAbsent,
  requestMissed,
  setTombstoneCertificate,
  unmarkErasing,
} from './erasing.ts'
export { commitmentOf, commitmentsRoot } from './fact-identity.ts'
export {
  type FactHead,
  findFactHeads,
  listFactsAfter,
  listFactsSince,
  listRefsOfStore,
} from './facts.sql.ts'
export {
  countErasing,
  countHolds,
  findHold,
  type HoldRow,
  insertHold,
  listHolds,
  updateReleased,
} from './holds.sql.ts'
export { factStores, heldStores, refuseHeldStore } from './holds.ts'
export { readNamespace } from './namespace.ts'
export {
  type KnownFact,
  knownContents,
  type OpenedFact,
  openFacts,
  openForErasure,
  openStored,
  showMemory,
} from './opened-fact.ts'
export { purgeErased } from './purge.ts'
export { listRefsWithin } from './ref-stores.sql.ts'
export { flushRetrieved } from './retrieved-facts.ts'
export { type FactDocument, openFact } from './sealed-fact.ts'
export { type MemoryState, memoryStateAt } from './state-at.ts'
export { markStoreDeleting, removeStoreRow } from './store-heads.ts'
export { readableStore } from './store-settings.ts'
export { findStore } from './stores.sql.ts'
export { enterStore, StoreChanged, untilStable, writeTarget } from './write-target.ts'

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
  export: exportStore,
  import: importStore,
} satisfies HandlersOf<typeof memory>

/** Before the worker starts: embedding cut off by the last stop goes on. */
export function registerMemoryJobs(kernel: Kernel): void {
  kernel.jobs.register(STORE_REEMBED, reembedder(kernel))
}
