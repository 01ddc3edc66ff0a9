// world_model_constraint: parameters an action must have, and items its parameters must not hold.

import type { PolicyConfig } from '@custos/contract'
import { currentName } from './operation-names.ts'
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
      const given = requiredText(request, 'action')
      if (given === undefined) return 'unconcerned'
      const action = currentName(given)
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
  if (for_actions.length > 0 && !for_actions.map(currentName).includes(action)) return null
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
  if (deny_if.action !== undefined && currentName(deny_if.action) !== action) return 'clear'
  const params = paramsOf(request)
  const held = deny_if.params_has.every((entry) => holds(params, entry))
  return held ? { reason: 'parameters_refused' } : 'clear'
}

/** An action without parameters cannot be judged by them. */
function paramsOf(request: GateRequest): Params {
  const params = requiredValue(request, 'params')
  if (params === undefined) throw new Fault({ reason: 'missing_context', field: 1 })
  if (!isObject(params)) throw wrongType()
  return params
}

function holds(params: Params, { list_path, match_all }: Entry): boolean {
  const list = at(params, list_path)
  if (list === undefined || list === null) return false
  // A single item in place of the list must not be a way around the rule.
  if (!Array.isArray(list)) throw wrongType()
  return list.some((item) => match_all.every((criterion) => meets(item, criterion)))
}

// A value that cannot be compared is refused: "5" and [5] have another type than 5, and the tool
// that receives the parameters may convert them to the same value.
function meets(item: unknown, { field, operator, value }: Criterion): boolean {
  if (!isObject(item)) throw wrongType()
  const found = at(item, field)
  if (found === undefined || found === null) return false
  if (operator === 'contains') return contains(found, value)
  if (typeof found !== typeof value) throw wrongType()
  if (operator === '==') return found === value
  if (typeof found !== 'number' || typeof value !== 'number') throw wrongType()
  return operator === '>' ? found > value : found < value
}

function contains(list: unknown, value: Criterion['value']): boolean {
  if (!Array.isArray(list)) throw wrongType()
  if (list.includes(value)) return true
  if (list.some((one) => one !== null && typeof one !== typeof value)) throw wrongType()
  return false
}

/** undefined or null: it is not there. What is on the way to it has to be an object. */
function at(root: Params, path: string): unknown {
  let value: unknown = root
  for (const name of path.split('.')) {
    if (value === undefined || value === null) return undefined
    if (!isObject(value)) throw wrongType()
    value = Object.hasOwn(value, name) ? value[name] : undefined
  }
  return value
}

const wrongType = () => new Fault({ reason: 'wrong_type', field: 1 })

const isObject = (value: unknown): value is Params =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
