// A request as rules see it: the operation, and the context read key by key.

import { limits, OPERATION_KEYS } from '@custos/contract'
import { Fault } from './outcome.ts'

export type Context = Readonly<Record<string, unknown>>

export interface GateRequest {
  readonly operation: string
  readonly context: Context
}

const CARRIED: ReadonlyMap<string, readonly string[]> = new Map(Object.entries(OPERATION_KEYS))

/** What content_filter and pii_guard read where their configuration does not say. */
export const QUERY_FIELDS = ['query', 'output']
export const OUTPUT_FIELDS = ['output']

/** Other names a key goes by. */
const ALIASES: Readonly<Record<string, string>> = { tool_name: 'tool' }

/** null counts as missing. */
export function valueAt({ context }: GateRequest, key: string): unknown {
  if (Object.hasOwn(context, key) && context[key] !== null) return context[key]
  const alias = ALIASES[key]
  if (alias !== undefined && Object.hasOwn(context, alias)) return context[alias] ?? undefined
  return undefined
}

/**
 * The value of a key that a rule cannot do without; `undefined`: the operation does not carry it,
 * so that the rule does not concern it. A missing one that it does carry is a fault.
 */
export function requiredValue(request: GateRequest, key: string): unknown {
  const value = valueAt(request, key)
  if (value !== undefined) return value
  if (CARRIED.get(request.operation)?.includes(key) ?? false)
    throw new Fault({ reason: 'missing_context', field: 0 })
  return undefined
}

/** The same for a key whose value has to be text. */
export function requiredText(request: GateRequest, key: string): string | undefined {
  const value = requiredValue(request, key)
  if (value === undefined || typeof value === 'string') return value
  throw new Fault({ reason: 'wrong_type', field: 0 })
}

export interface Field {
  readonly key: string
  /** Position in the fields that the policy reads. */
  readonly field: number
  /** Bytes; what tenants' patterns may read unless given. */
  readonly limit?: number
}

/**
 * A field to be searched, as text; undefined: absent. Lists and objects are searched as their
 * JSON. A field beyond the limit is a fault: half of it would not be looked at.
 */
export function fieldText(
  request: GateRequest,
  { key, field, limit = limits.pattern_field_bytes }: Field,
): string | undefined {
  const value = valueAt(request, key)
  if (value === undefined) return undefined
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (isLonger(text, limit))
    throw new Fault({
      reason: 'field_too_long',
      field,
      count: Buffer.byteLength(text),
      limit,
    })
  return text
}

// A UTF-16 unit is one byte at least and three at most.
const isLonger = (text: string, bytes: number): boolean =>
  text.length > bytes || (text.length * 3 > bytes && Buffer.byteLength(text) > bytes)
