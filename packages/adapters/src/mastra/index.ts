// Mastra: storage of threads and messages, a processor that recalls, memory tools.

export type { MemoryScope } from '../scope.ts'
export { custosRecall, custosTools, type RecallOptions } from './agent-memory.ts'
export { CustosMemoryStorage, type CustosStorageOptions } from './memory-storage.ts'
