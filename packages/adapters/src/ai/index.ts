// The AI SDK: memory tools, memory as middleware of a model, policies in front of any tool.

export type { MemoryScope } from '../scope.ts'
export {
  type ApprovalOptions,
  custosApproval,
  custosGuard,
} from './approval.ts'
export { custosMemory, type MemoryOptions, type Turn } from './middleware.ts'
export { custosTools } from './tools.ts'
