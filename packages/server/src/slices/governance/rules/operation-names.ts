// Names of operations in policies and evaluations: the current name of each, and unknown names.

import {
  ACTION_PREFIX,
  CUSTOM_PREFIX,
  INVOKE,
  KNOWN_OPERATIONS,
  OPERATION_ALIASES,
} from '@custos/contract'
import { findNearestName } from '../../../platform/validation.ts'

const known: ReadonlySet<string> = new Set(KNOWN_OPERATIONS)
const aliases: ReadonlyMap<string, string> = new Map(Object.entries(OPERATION_ALIASES))

/** The current name of an operation; a name without an alias stays as it is. */
export const currentName = (name: string): string => aliases.get(name) ?? name

/**
 * The names that a stored policy applies to. Policies stored before names were checked may hold a
 * custom name without its prefix.
 */
export function storedName(name: string): string {
  const current = currentName(name)
  return isAccepted(current) ? current : CUSTOM_PREFIX + current
}

/** Whether a policy or an evaluation may use the name. */
const isAccepted = (current: string): boolean =>
  known.has(current) || [ACTION_PREFIX, CUSTOM_PREFIX].some((prefix) => hasRest(current, prefix))

const hasRest = (name: string, prefix: string): boolean =>
  name.startsWith(prefix) && name.length > prefix.length

/** Why a policy or an evaluation may not use the name; `null` if it may. */
export function findNameProblem(name: string): string | null {
  if (isAccepted(currentName(name))) return null
  const near = findNearestName(name, [...known, ...aliases.keys()])
  const hint = near === null ? '' : ` (did you mean \`${currentName(near)}\`?)`
  const advice = `names of your own begin with \`${CUSTOM_PREFIX}\``
  return `is not an operation of policy-types${hint}; ${advice}`
}

/** Whether a list names the operation. Every action is also an invocation. */
export const namesOperation = (names: ReadonlySet<string>, operation: string): boolean =>
  names.has(operation) || (operation.startsWith(ACTION_PREFIX) && names.has(INVOKE))
