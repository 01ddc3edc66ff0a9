// The public interface of the client package.

export type { Answer, Pending } from './call-result.ts'
export type { ClientOptions } from './client.ts'
export { Custos, type CustosOptions, type TokenRequest, type VerifyOptions } from './custos.ts'
export {
  ApiError,
  AuthenticationError,
  ConflictError,
  ConnectionError,
  CustosError,
  isRefusal,
  NotCompletedError,
  NotFoundError,
  PermissionError,
  RateLimitError,
  ServiceError,
  TimeoutError,
  ValidationError,
} from './errors.ts'
export type { CallOptions } from './exchange.ts'
export type { RefusalCode, Refusals } from './generated/types.ts'
export type { CallContext, Hooks } from './hooks.ts'
export type { MemoryOf, MemoryOfOptions, RecallOptions, RememberOptions } from './memory-of.ts'
export type { PagedMethod } from './page-iterators.ts'
export type { EventFrame, EventFrames } from './reply-events.ts'
export type { FileReply } from './reply-file.ts'
export type { LineSource, Lines } from './reply-lines.ts'
export type { StoreHandle } from './store-handle.ts'
export type { WaitOptions } from './waits.ts'
