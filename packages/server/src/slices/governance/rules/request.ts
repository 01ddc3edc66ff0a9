// A request as rules see it: the operation, and the context, read by key.

import { limits, OPERATION_KEYS } from '@custos/contract'
import { Fault } from './outcome.ts'
import { foldText, Searchable } from './searchable.ts'

export type Context = Readonly<Record<string, unknown>>

export interface GateRequest {
  readonly operation: string
  readonly context: Context
  /** Context values already prepared for search, by key; all policies share them. */
  readonly searched: Map<string, Searchable>
}

export const gateRequest = (operation: string, context: Context): GateRequest => ({
  ...{ operation, context },
  searched: new Map(),
})

const CARRIED: ReadonlyMap<string, readonly string[]> = new Map(Object.entries(OPERATION_KEYS))

/** Aliases of context keys. */
const ALIASES: Readonly<Record<string, string>> = { tool_name: 'tool' }

/** `null` counts as missing. Throws a fault if a key and its alias have different values. */
export function valueAt({ context }: GateRequest, key: string): unknown {
  const value = ownValue(context, key)
  const alias = ALIASES[key]
  if (alias === undefined) return value
  const other = ownValue(context, alias)
  if (value !== undefined && other !== undefined && value !== other)
    throw new Fault({ reason: 'ambiguous', field: 0 })
  return value ?? other
}

const ownValue = (context: Context, key: string): unknown =>
  Object.hasOwn(context, key) ? (context[key] ?? undefined) : undefined

/**
 * The value of a key that a rule requires. A missing value is a fault if the operation carries the
 * key (`OPERATION_KEYS`). For other operations it is undefined, and the rule does not apply.
 */
export function requiredValue(request: GateRequest, key: string): unknown {
  const value = valueAt(request, key)
  if (value !== undefined) return value
  if (CARRIED.get(request.operation)?.includes(key) ?? false)
    throw new Fault({ reason: 'missing_context', field: 0 })
  return undefined
}

/** Like `requiredValue`, for a key whose value must be text. */
export function requiredText(request: GateRequest, key: string): string | undefined {
  const value = requiredValue(request, key)
  if (value === undefined || typeof value === 'string') return value
  throw new Fault({ reason: 'wrong_type', field: 0 })
}

/** The longest tool name that is compared. The names in a list of tools are not longer. */
const TOOL_BYTES = 1_024

/**
 * The names to compare for a tool: the original and the normalised one. A blank name is a fault. A
 * missing name is a fault if the operation carries it; otherwise the result is undefined.
 */
export function toolNames(request: GateRequest): readonly string[] | undefined {
  const name = requiredText(request, 'tool_name')
  if (name === undefined) return undefined
  const count = Buffer.byteLength(name)
  if (count > TOOL_BYTES)
    throw new Fault({ reason: 'field_too_long', field: 0, count, limit: TOOL_BYTES })
  const read = (foldText(name)?.text ?? name).trim()
  if (read === '') throw new Fault({ reason: 'missing_context', field: 0 })
  return read === name ? [name] : [name, read]
}

export interface SearchedField {
  readonly key: string
  /** Position among the fields that the policy reads. */
  readonly field: number
  readonly text: Searchable
}

/**
 * Returns those of the fields that the request has, prepared for search. A field over the limit is
 * a fault, because its end would not be searched.
 * @param limit bytes
 */
export function searchFields(
  request: GateRequest,
  keys: readonly string[],
  limit: number = limits.pattern_field_bytes,
): SearchedField[] {
  return keys.flatMap((key, field) => {
    const text = searchable(request, key)
    if (text === undefined) return []
    const { bytes } = text
    if (bytes > limit) throw new Fault({ reason: 'field_too_long', field, count: bytes, limit })
    return [{ key, field, text }]
  })
}

/** Made once and shared by all policies that search the field. */
function searchable(request: GateRequest, key: string): Searchable | undefined {
  const known = request.searched.get(key)
  if (known !== undefined) return known
  const value = valueAt(request, key)
  if (value === undefined) return undefined
  const text = new Searchable(value)
  request.searched.set(key, text)
  return text
}
