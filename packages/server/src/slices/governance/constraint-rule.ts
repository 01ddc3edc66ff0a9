// world_model_constraint: parameters an action must have, and items its parameters must not hold.

import type { PolicyConfig } from '@custos/contract'
import { Fault, type Finding } from './outcome.ts'
import { type GateRequest, requiredText, requiredValue } from './request.ts'
import type { Rule } from './rule.ts'

type Config = PolicyConfig<'world_model_constraint'>
type Entry = NonNullable<Config['deny_if']>['params_has'][number]
type Criterion = Entry['match_all'][number]
type Params = Readonly<Record<string, unknown>>

export function constraintRule(config: Config): Rule {
  return {
    find(request) {
      const action = requiredText(request, 'action')
      if (action === undefined) return 'unconcerned'
      const missing = findMissing(config, action, request)
      if (missing !== null) return missing
      return findRefused(config, action, request)
    },
  }
}

function findMissing(
  { require_params = [], for_actions = [] }: Config,
  action: string,
  request: GateRequest,
): Finding | null {
  if (require_params.length === 0) return null
  if (for_actions.length > 0 && !for_actions.includes(action)) return null
  const params = paramsOf(request)
  const item = require_params.findIndex((name) => isMissing(params, name))
  return item === -1 ? null : { reason: 'parameter_missing', item }
}

// 0 and false are values; an empty text says nothing.
function isMissing(params: Params, name: string): boolean {
  const value = Object.hasOwn(params, name) ? params[name] : undefined
  return value === undefined || value === null || value === ''
}

function findRefused({ deny_if }: Config, action: string, request: GateRequest): Finding {
  if (deny_if === undefined) return 'clear'
  if (deny_if.action !== undefined && deny_if.action !== action) return 'clear'
  const params = paramsOf(request)
  const held = deny_if.params_has.every((entry) => holds(params, entry))
  return held ? { reason: 'parameters_refused' } : 'clear'
}

/** An action without parameters cannot be judged by them. */
function paramsOf(request: GateRequest): Params {
  const params = requiredValue(request, 'params')
  if (params === undefined) throw new Fault({ reason: 'missing_context', field: 1 })
  if (!isObject(params)) throw new Fault({ reason: 'wrong_type', field: 1 })
  return params
}

function holds(params: Params, { list_path, match_all }: Entry): boolean {
  const list = at(params, list_path)
  if (list === undefined || list === null) return false
  // A single item in place of the list must not be a way around the rule.
  if (!Array.isArray(list)) throw new Fault({ reason: 'wrong_type', field: 1 })
  return list.some((item) => match_all.every((criterion) => meets(item, criterion)))
}

function meets(item: unknown, { field, operator, value }: Criterion): boolean {
  const found = isObject(item) ? at(item, field) : undefined
  if (found === undefined || found === null) return false
  if (operator === '==') return found === value
  if (operator === 'contains') return Array.isArray(found) && found.includes(value)
  // "1000000" is not less than any number: what cannot be compared is not let through.
  if (typeof found !== 'number' || typeof value !== 'number')
    throw new Fault({ reason: 'wrong_type', field: 1 })
  return operator === '>' ? found > value : found < value
}

function at(root: Params, path: string): unknown {
  let value: unknown = root
  for (const name of path.split('.')) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value
}

const isObject = (value: unknown): value is Params =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
