// What may observe calls: requests, answers, retries and failures, without their contents.

/** One call as hooks see it: the same object for all its attempts. */
export interface CallContext {
  /** Id of the operation, for example `memory.write`. */
  readonly operation: string
  readonly url: string
  /** Path parameters that are ids of this service. */
  readonly storeId?: string
  readonly ref?: number
  /** From 1. */
  attempt: number
  /** Of the attempt's request, without the credential; `onRequest` may add to them. */
  headers: Headers
  status?: number
  requestId?: string | null
  /** Since the call began. */
  ms: number
  /** Until the next attempt; for `onRetry`. */
  waitMs?: number
  /** For `onRetry` and `onError`. */
  error?: unknown
  /** The numbers of a JSON answer, such as `log_seq` and `tokens_used`. */
  figures?: Readonly<Record<string, number>>
}

/** Functions that are told of calls; they must not throw. */
export interface Hooks {
  readonly onRequest?: (context: CallContext) => void
  readonly onResponse?: (context: CallContext) => void
  readonly onRetry?: (context: CallContext) => void
  readonly onError?: (context: CallContext) => void
}
