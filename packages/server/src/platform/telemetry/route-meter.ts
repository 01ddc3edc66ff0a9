// Measures requests, each under the name of its operation or route.

import type { OperationSpec } from '@custos/contract'

/** The labels of a request: a row of the contract, or a route outside of it. */
export type MeasuredRoute = Pick<OperationSpec, 'id' | 'method' | 'path'>

/** A response that was sent, or was cut off while it was sent. */
interface MeasuredAnswer {
  readonly status: number
  /** Null for a stream that stays open, whose duration says nothing about speed. */
  readonly seconds: number | null
  /** Bytes of the body; null if unknown. */
  readonly bytes: number | null
}

/** Counts the requests of one operation. */
export interface RouteMeter {
  begin(): void
  end(answer: MeasuredAnswer): void
}
