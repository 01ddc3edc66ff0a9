// Hooks that observe calls: requests, answers, retries and failures, without their contents.

/** One call as hooks see it. All attempts of a call share one object. */
export interface CallContext {
  /** Id of the operation, for example `memory.write`. */
  readonly operation: string
  readonly url: string
  /** Path parameters of the call that are ids of this service; absent if the path has none. */
  readonly storeId?: string
  readonly ref?: number
  /** Number of the attempt, from 1. */
  attempt: number
  /** Headers of this attempt's request, without the credential; `onRequest` may add headers. */
  headers: Headers
  status?: number
  requestId?: string | null
  /** Milliseconds since the call began. */
  ms: number
  /** Milliseconds until the next attempt; set for `onRetry`. */
  waitMs?: number
  /** The failure; set for `onRetry` and `onError`. */
  error?: unknown
  /** The numbers of a JSON answer, such as `log_seq` and `tokens_used`. */
  figures?: Readonly<Record<string, number>>
}

/** Functions that are called at the events of a call. They must not throw. */
export interface Hooks {
  readonly onRequest?: (context: CallContext) => void
  readonly onResponse?: (context: CallContext) => void
  readonly onRetry?: (context: CallContext) => void
  readonly onError?: (context: CallContext) => void
}
