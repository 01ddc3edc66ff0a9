// Pure: decides which items and namespaces match a request.

import { isDeepStrictEqual } from 'node:util'

const OPERATORS: Readonly<Record<string, (value: unknown, wanted: unknown) => boolean>> = {
  $eq: isDeepStrictEqual,
  $ne: (value, wanted) => !isDeepStrictEqual(value, wanted),
  $gt: (value, wanted) => isNumber(value) && isNumber(wanted) && value > wanted,
  $gte: (value, wanted) => isNumber(value) && isNumber(wanted) && value >= wanted,
  $lt: (value, wanted) => isNumber(value) && isNumber(wanted) && value < wanted,
  $lte: (value, wanted) => isNumber(value) && isNumber(wanted) && value <= wanted,
  $in: isAmong,
  $nin: (value, wanted) => !isAmong(value, wanted),
}

/** Returns the operator or list that filters may not have, or null if the filter can be applied. */
export function explainFilter(filter: Readonly<Record<string, unknown>>): string | null {
  for (const wanted of Object.values(filter)) {
    for (const [operator, operand] of operatorsOf(wanted)) {
      if (!Object.hasOwn(OPERATORS, operator)) return 'an operator of the filter is unknown'
      if (/^\$n?in$/.test(operator) && !Array.isArray(operand))
        return `${operator} of the filter takes a list`
      if (/^\$[gl]te?$/.test(operator) && !isNumber(operand))
        return `${operator} of the filter takes a number`
    }
  }
  return null
}

/** Whether all conditions hold. A missing member compares as undefined. */
export const matchesFilter = (
  value: Readonly<Record<string, unknown>>,
  filter: Readonly<Record<string, unknown>>,
): boolean =>
  Object.entries(filter).every(([name, wanted]) => {
    const member = Object.hasOwn(value, name) ? value[name] : undefined
    const operators = operatorsOf(wanted)
    if (operators.length === 0) return isDeepStrictEqual(member, wanted)
    return operators.every(([operator, operand]) => OPERATORS[operator]?.(member, operand) ?? false)
  })

/** The operators of an object that has any; empty if the value is to be compared for equality. */
function operatorsOf(wanted: unknown): [string, unknown][] {
  if (typeof wanted !== 'object' || wanted === null || Array.isArray(wanted)) return []
  const entries = Object.entries(wanted)
  return entries.some(([name]) => name.startsWith('$')) ? entries : []
}

const isNumber = (value: unknown): value is number => typeof value === 'number'

function isAmong(value: unknown, wanted: unknown): boolean {
  return Array.isArray(wanted) && wanted.some((one) => isDeepStrictEqual(value, one))
}

export const hasPrefix = (namespace: readonly string[], prefix: readonly string[]): boolean =>
  prefix.length <= namespace.length && prefix.every((one, i) => namespace[i] === one)

/** Whether the labels at one end match the pattern, in which `*` stands for any label. */
export function fitsEnd(
  namespace: readonly string[],
  pattern: readonly string[],
  end: 'prefix' | 'suffix',
): boolean {
  if (pattern.length > namespace.length) return false
  const from = end === 'prefix' ? 0 : namespace.length - pattern.length
  return pattern.every((one, i) => one === '*' || namespace[from + i] === one)
}

/** Compares alphabetically, label by label. */
export function compareNamespaces(a: readonly string[], b: readonly string[]): number {
  for (const [i, label] of a.entries()) {
    const other = b[i]
    if (other === undefined) return 1
    const order = label.localeCompare(other)
    if (order !== 0) return order
  }
  return a.length - b.length
}
