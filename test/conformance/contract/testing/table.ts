// The operation table as the sweeps walk it: every operation, and requests made from it.

import assert from 'node:assert/strict'
import type { OperationSpec } from '@custos/contract'
import * as contract from '@custos/contract'

/** What one request of an operation carries. */
export interface Sent {
  readonly params?: Readonly<Record<string, string | number>>
  readonly query?: Readonly<Record<string, string | number | boolean>>
  readonly body?: unknown
  /** Sent as it is instead of `body`. */
  readonly raw?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

/** Every operation of the contract, whichever group it is in. */
export const operations: readonly OperationSpec[] = Object.values(contract).flatMap((group) =>
  isRecord(group) ? Object.values(group).filter(isOperation) : [],
)

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isOperation(value: unknown): value is OperationSpec {
  return isRecord(value) && typeof value['id'] === 'string' && 'refuses' in value
}

const byId = new Map(operations.map((operation) => [operation.id, operation]))

export function operationOf(id: string): OperationSpec {
  const operation = byId.get(id)
  assert.ok(operation, `the contract has no operation ${id}`)
  return operation
}

/** The path of a request, without a trailing slash. */
export function pathOf(operation: OperationSpec, { params = {} }: Sent): string {
  return operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name]
    assert.ok(value !== undefined, `${operation.id} needs ${name}`)
    return encodeURIComponent(value)
  })
}

/** The query text of a request with its question mark, or nothing. */
export function queryOf({ query = {} }: Sent): string {
  const pairs = Object.entries(query).map(([name, value]): [string, string] => [name, `${value}`])
  const text = new URLSearchParams(pairs).toString()
  return text === '' ? '' : `?${text}`
}

const PATTERNS = operations.map(({ method, path, once = false }) => ({
  method,
  once,
  pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  parameters: path.split('{').length,
}))

/**
 * The methods some operation has on a concrete path; what has GET has HEAD, unless it is used once.
 * A path that is written out in the contract has its own methods, not those of the parameter it
 * would also fit.
 */
export function methodsOn(path: string): ReadonlySet<string> {
  const matches = PATTERNS.filter(({ pattern }) => pattern.test(path))
  const fewest = Math.min(...matches.map(({ parameters }) => parameters))
  const nearest = matches.filter(({ parameters }) => parameters === fewest)
  const methods = nearest.map(({ method }) => method)
  const head = nearest.some(({ method, once }) => method === 'GET' && !once)
  return new Set<string>(head ? [...methods, 'HEAD'] : methods)
}
