// The errors of the client: one class for each kind of failure, with the service's error code.

import type { ApprovalsRequestReply, JobsGetReply, RefusalCode } from './generated/types.ts'

// Each class states its name, because bundlers shorten the declared one.
export class CustosError extends Error {
  override get name(): string {
    return 'CustosError'
  }
}

/** The details of a refused request. */
interface RefusalDetails {
  readonly status: number
  readonly code: RefusalCode
  readonly title: string
  /** Why this request was refused, in words. */
  readonly detail: string
  readonly requestId: string | null
  /** Milliseconds to wait before another attempt; absent if the service does not say. */
  readonly retryAfterMs?: number
  /** The parsed JSON of the answer, or its text if it is not JSON. */
  readonly body: unknown
  /** Id of the operation. */
  readonly operation: string
}

/** The service answered with a refusal. */
export class ApiError extends CustosError implements RefusalDetails {
  declare readonly status: number
  declare readonly code: RefusalCode
  declare readonly title: string
  declare readonly detail: string
  declare readonly requestId: string | null
  declare readonly retryAfterMs?: number
  declare readonly body: unknown
  declare readonly operation: string

  override get name(): string {
    return 'ApiError'
  }

  constructor(refused: RefusalDetails) {
    const { operation, status, code, detail } = refused
    const advice = ADVICE[code]
    super(`${operation}: ${status} ${code}: ${detail}${advice ? `. ${advice}` : ''}`)
    Object.assign(this, refused)
  }
}

/** Advice for common mistakes in a first call, by error code. */
const ADVICE: Readonly<Record<string, string>> = {
  unauthenticated: 'Pass a key of a tenant of this service as `apiKey`',
  store_not_found: "Create the store with memory.createStore, or use 'default'",
  route_not_found: 'Check that `url` is the base address of a Custos service of this version',
}

export class ValidationError extends ApiError {
  override get name(): string {
    return 'ValidationError'
  }
}

export class AuthenticationError extends ApiError {
  override get name(): string {
    return 'AuthenticationError'
  }
}

export class PermissionError extends ApiError {
  override get name(): string {
    return 'PermissionError'
  }
}

export class NotFoundError extends ApiError {
  override get name(): string {
    return 'NotFoundError'
  }
}

export class ConflictError extends ApiError {
  override get name(): string {
    return 'ConflictError'
  }
}

export class RateLimitError extends ApiError {
  override get name(): string {
    return 'RateLimitError'
  }
}

export class ServiceError extends ApiError {
  override get name(): string {
    return 'ServiceError'
  }
}

const BY_STATUS: Readonly<Record<number, typeof ApiError>> = {
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  409: ConflictError,
  422: ValidationError,
  429: RateLimitError,
}

export function apiError(refused: RefusalDetails): ApiError {
  const Kind = BY_STATUS[refused.status] ?? (refused.status >= 500 ? ServiceError : ApiError)
  return new Kind(refused)
}

/** No complete answer arrived, for example because the connection failed. */
export class ConnectionError extends CustosError {
  override get name(): string {
    return 'ConnectionError'
  }
}

/** The attempt timed out. */
export class TimeoutError extends ConnectionError {
  override get name(): string {
    return 'TimeoutError'
  }
}

/** Whether `error` is a refusal with one of these codes. */
export function isRefusal<const C extends RefusalCode>(
  error: unknown,
  ...codes: readonly C[]
): error is ApiError & { readonly code: C } {
  return error instanceof ApiError && codes.some((code) => code === error.code)
}

/** The awaited approval or job was denied, expired, failed or was cancelled. */
export class NotCompletedError extends CustosError {
  /** The last state of the approval request or job. */
  readonly last: ApprovalsRequestReply | JobsGetReply

  override get name(): string {
    return 'NotCompletedError'
  }

  constructor(message: string, last: ApprovalsRequestReply | JobsGetReply) {
    super(message)
    this.last = last
  }
}
