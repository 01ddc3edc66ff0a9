// What is measured of a request, under which of its names.

import type { OperationSpec } from '@custos/contract'

/** What is counted as an operation: a row of the contract, or a route outside of it. */
export type MeasuredRoute = Pick<OperationSpec, 'id' | 'method' | 'path'>

/** An answer that was sent, or whose sending was cut off. */
interface MeasuredAnswer {
  readonly status: number
  /** Null: a stream that stays open says nothing about speed. */
  readonly seconds: number | null
  /** Of the body; null: unknown. */
  readonly bytes: number | null
}

/** Counts the requests of one operation. */
export interface RouteMeter {
  begin(): void
  end(answer: MeasuredAnswer): void
}
