// The rules of the policy types: each a pure function of a request, made once per policy.

import {
  CHECK_FIELDS,
  limits,
  type PolicyConfig,
  type PolicyType,
  TOOL_EFFECTS,
} from '@custos/contract'
import { currentName, namesOperation, storedName } from './operation-names.ts'
import { type Detail, Fault, type Finding } from './outcome.ts'
import { compileAll, findFirst, type Pattern, type Span } from './patterns.ts'
import type { EntitySpan, Recognisers } from './personal-data.ts'
import {
  type GateRequest,
  requiredText,
  requiredValue,
  type SearchedField,
  searchFields,
  toolNames,
} from './request.ts'
import { RECOGNISER_SIZE, type Rule, type RuleFinding, type Work } from './rule.ts'
import type { Replacement, Searchable } from './searchable.ts'

/** Maximum number of tokens over a budget that a refusal states. */
const TOKENS_BEYOND_MAX = 100_000

/** Throws PatternRefused if the engine rejects a pattern. */
export const makers: {
  readonly [T in PolicyType]: (config: PolicyConfig<T>, recognisers: Recognisers) => Rule
} = {
  rate_limit(config) {
    const isOf = operationFilter(config.operations)
    const { max_requests, window_seconds } = rateOf(config)
    return {
      find(request, { rate_exceeded }) {
        if (!isOf(request.operation)) return 'unconcerned'
        if (!rate_exceeded) return 'clear'
        return { reason: 'rate_exceeded', limit: max_requests, count: window_seconds }
      },
    }
  },

  model_allowlist: ({ models }) => listRule('model_id', models, 'model_not_listed'),

  data_scope: ({ allowed_stores }) => listRule('store_id', allowed_stores, 'store_not_listed'),

  content_filter({ patterns, check_fields = CHECK_FIELDS.content_filter }) {
    const compiled = compileAll(patterns, { any_case: true })
    return {
      find: (request, { work }) => findPattern(searchFields(request, check_fields), compiled, work),
    }
  },

  token_budget: ({ max_tokens_per_request: limit = 10_000 }) => ({
    find(request) {
      const tokens = requiredValue(request, 'tokens')
      if (tokens === undefined) return 'unconcerned'
      if (typeof tokens !== 'number' || !Number.isFinite(tokens))
        throw new Fault({ reason: 'wrong_type', field: 0 })
      if (tokens <= limit) return 'clear'
      // The caller's number is stored only up to this bound; a larger one adds no information.
      const count = Math.min(Math.ceil(tokens), limit + TOKENS_BEYOND_MAX)
      return { reason: 'over_budget', count, limit }
    },
  }),

  hitl_required({ operations, tools = [], effects = [], origins = [] }) {
    const isOf = operationFilter(operations)
    return {
      find(request) {
        if (!isOf(request.operation)) return 'unconcerned'
        if (effects.length > 0 && !effects.includes(effectOf(request))) return 'clear'
        if (origins.length > 0 && !hasOrigin(request, origins)) return 'clear'
        if (tools.length === 0) return { reason: 'approval_needed' }
        const names = toolNames(request)
        if (names === undefined) return 'unconcerned'
        const item = tools.findIndex((tool) => names.includes(tool))
        return item === -1 ? 'clear' : { reason: 'approval_needed', item }
      },
    }
  },

  pii_guard: piiRule,

  world_model_constraint: constraintRule,

  tool_deny({ denied_tools }) {
    const compiled = compileAll(denied_tools, { any_case: false, across_lines: true })
    return {
      find(request) {
        const names = toolNames(request)
        if (names === undefined) return 'unconcerned'
        const item = denied_tools.findIndex((denied, i) =>
          names.some((name) => denied === name || compiled[i]?.testWhole(name)),
        )
        return item === -1 ? 'clear' : { reason: 'tool_denied', item }
      },
    }
  },
}

export const rateOf = ({
  max_requests = 600,
  window_seconds = 60,
}: PolicyConfig<'rate_limit'>): { max_requests: number; window_seconds: number } => ({
  max_requests,
  window_seconds,
})

/** Returns a test whether the list has an operation; an empty list has all. */
export function operationFilter(
  operations: readonly string[] = [],
): (operation: string) => boolean {
  if (operations.length === 0) return () => true
  const names = new Set(operations.map(storedName))
  return (operation) => namesOperation(names, operation)
}

/** A call without `effect` counts as one that must not be repeated, as in a run. */
function effectOf(request: GateRequest): (typeof TOOL_EFFECTS)[number] {
  const value = requiredText(request, 'effect') ?? 'once'
  const known = TOOL_EFFECTS.find((effect) => effect === value)
  if (known === undefined) throw new Fault({ reason: 'wrong_type', field: 0 })
  return known
}

/** Whether the context has one of the origins; one ending with `*` matches all with that prefix. */
function hasOrigin(request: GateRequest, origins: readonly string[]): boolean {
  const present = requiredValue(request, 'context_origins') ?? []
  if (!Array.isArray(present)) throw new Fault({ reason: 'wrong_type', field: 0 })
  return present.some((one) =>
    origins.some((origin) =>
      origin.endsWith('*') ? String(one).startsWith(origin.slice(0, -1)) : one === origin,
    ),
  )
}

function listRule(key: string, allowed: readonly string[], reason: Detail['reason']): Rule {
  const known = new Set(allowed)
  return {
    find(request) {
      const value = requiredText(request, key)
      if (value === undefined) return 'unconcerned'
      return known.has(value) ? 'clear' : { reason }
    },
  }
}

/** The first matching pattern, in the first field that has a match. */
function findPattern(
  fields: readonly SearchedField[],
  patterns: readonly Pattern[],
  work: Work,
): Finding | Promise<Finding> {
  const findFrom = (at: number): Finding | Promise<Finding> => {
    const place = fields[at]
    if (!place) return 'clear'
    return continueWith(findFirst(patterns, place.text, work), (item) =>
      item === -1 ? findFrom(at + 1) : { reason: 'pattern_found', field: place.field, item },
    )
  }
  return fields.length === 0 ? 'unconcerned' : findFrom(0)
}

/** Continues at once unless it must wait: most searches are short, and promises cost more. */
const continueWith = <T, R>(
  value: T | Promise<T>,
  next: (value: T) => R | Promise<R>,
): R | Promise<R> => (value instanceof Promise ? value.then(next) : next(value))

type ConstraintConfig = PolicyConfig<'world_model_constraint'>
type ListCriterion = NonNullable<ConstraintConfig['deny_if']>['params_has'][number]
type Params = Readonly<Record<string, unknown>>

/** Parameters that an action must have, and items that its parameters must not contain. */
function constraintRule(config: ConstraintConfig): Rule {
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
  { require_params = [], for_actions = [] }: ConstraintConfig,
  action: string,
  request: GateRequest,
): Finding | null {
  if (require_params.length === 0) return null
  if (for_actions.length > 0 && !for_actions.map(currentName).includes(action)) return null
  const params = paramsOf(request)
  const item = require_params.findIndex((name) => isMissing(params, name))
  return item === -1 ? null : { reason: 'parameter_missing', item }
}

// 0 and false are values; an empty text counts as missing.
function isMissing(params: Params, name: string): boolean {
  const value = Object.hasOwn(params, name) ? params[name] : undefined
  return value === undefined || value === null || value === ''
}

function findRefused({ deny_if }: ConstraintConfig, action: string, request: GateRequest): Finding {
  if (deny_if === undefined) return 'clear'
  if (deny_if.action !== undefined && currentName(deny_if.action) !== action) return 'clear'
  const params = paramsOf(request)
  const held = deny_if.params_has.every((entry) => holds(params, entry))
  return held ? { reason: 'parameters_refused' } : 'clear'
}

/** An action without parameters cannot be checked, which is a fault. */
function paramsOf(request: GateRequest): Params {
  const params = requiredValue(request, 'params')
  if (params === undefined) throw new Fault({ reason: 'missing_context', field: 1 })
  if (!isObject(params)) throw wrongType()
  return params
}

function holds(params: Params, { list_path, match_all }: ListCriterion): boolean {
  const list = at(params, list_path)
  if (list === undefined || list === null) return false
  // A single item in place of the list must not circumvent the rule.
  if (!Array.isArray(list)) throw wrongType()
  return list.some((item) => match_all.every((criterion) => meets(item, criterion)))
}

// A value that cannot be compared is a fault: "5" and [5] differ in type from 5, but the tool that
// receives the parameters may convert them to the same value.
function meets(
  item: unknown,
  { field, operator, value }: ListCriterion['match_all'][number],
): boolean {
  if (!isObject(item)) throw wrongType()
  const found = at(item, field)
  if (found === undefined || found === null) return false
  if (operator === 'contains') return contains(found, value)
  if (typeof found !== typeof value) throw wrongType()
  if (operator === '==') return found === value
  if (typeof found !== 'number' || typeof value !== 'number') throw wrongType()
  return operator === '>' ? found > value : found < value
}

function contains(list: unknown, value: ListCriterion['match_all'][number]['value']): boolean {
  if (!Array.isArray(list)) throw wrongType()
  if (list.includes(value)) return true
  if (list.some((one) => one !== null && typeof one !== typeof value)) throw wrongType()
  return false
}

/** Undefined or null if the value is missing. Everything on the path to it must be an object. */
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

/** Maximum number of matches of a pattern in a field that is redacted. */
export const SPANS_MAX = 10_000
/** Replaces text that matches a pattern of the tenant. */
const REDACTED = '<REDACTED>'

/** Finds personal data in the fields, with recognisers and with the tenant's own patterns. */
function piiRule(config: PolicyConfig<'pii_guard'>, recognisers: Recognisers): Rule {
  const { entities = [], check_fields = CHECK_FIELDS.pii_guard, redact = false } = config
  const patterns = compileAll(config.patterns ?? [], { any_case: false })
  // Built-in recognisers are fast enough to read much more than tenants' patterns may.
  const limit = patterns.length > 0 ? limits.pattern_field_bytes : limits.recogniser_field_bytes

  const recognise = async ({ text }: Searchable, work: Work): Promise<readonly EntitySpan[]> => {
    if (entities.length === 0) return []
    await work.spend(RECOGNISER_SIZE * text.length)
    return recognisers.find(text, entities)
  }

  const findIn = (place: SearchedField, work: Work): RuleFinding | Promise<RuleFinding> =>
    continueWith(findFirst(patterns, place.text, work), (item) =>
      item === -1 && entities.length === 0 ? 'clear' : describe(place, item, work),
    )

  const describe = async (place: SearchedField, item: number, work: Work): Promise<RuleFinding> => {
    const { key, field, text } = place
    const spans = await recognise(text, work)
    if (item === -1 && spans.length === 0) return 'clear'
    const finding = personalData(field, item, spans)
    if (!redact) return finding
    const replacements = spans.map(({ start, end, entity }) =>
      replacement(key, { start, end }, entity),
    )
    if (item === -1) return { finding, replacements }
    // Earlier patterns had no match in this field.
    for (const pattern of patterns.slice(item))
      for (const span of await spansOf(pattern, place, work))
        replacements.push({ field: key, ...span, by: REDACTED })
    return { finding, replacements }
  }

  return {
    find(request, { work }) {
      // Checks every field against the limit, even after a field with a finding.
      const places = searchFields(request, check_fields, limit)
      const findFrom = (at: number): RuleFinding | Promise<RuleFinding> => {
        const place = places[at]
        if (!place) return 'clear'
        return continueWith(findIn(place, work), (found) => {
          if (found === 'clear') return findFrom(at + 1)
          if (typeof found !== 'object' || !('replacements' in found)) return found
          return continueWith(findFrom(at + 1), (rest) => join(found, rest))
        })
      }
      return places.length === 0 ? 'unconcerned' : findFrom(0)
    },
  }
}

/** The first finding, with all replacements. */
function join(found: Exclude<RuleFinding, Finding>, rest: RuleFinding): RuleFinding {
  if (typeof rest !== 'object' || !('replacements' in rest)) return found
  const replacements = [...found.replacements, ...rest.replacements]
  return { finding: found.finding, replacements }
}

const replacement = (field: string, { start, end }: Span, entity: string): Replacement => ({
  ...{ field, start, end },
  by: `<${entity}>`,
})

function personalData(field: number, item: number, spans: readonly EntitySpan[]): Detail {
  const entities = [...new Set(spans.map(({ entity }) => entity))].sort()
  const by = item === -1 ? {} : { item }
  return { reason: 'personal_data', field, ...by, entities, count: spans.length }
}

/** The matches in the original text, and in the normalised text if it differs. */
async function spansOf(
  pattern: Pattern,
  { field, text }: SearchedField,
  work: Work,
): Promise<Span[]> {
  const spans = await allSpans(pattern, text.text, { field, work })
  const { folded } = text
  if (folded === null) return spans
  const hidden = await allSpans(pattern, folded.text, { field, work })
  for (const { start, end } of hidden)
    spans.push({ start: folded.startOf(start), end: folded.endOf(end) })
  return spans
}

/** Extra cost per character of locating a match, besides the instructions: testing is cheaper. */
const PLACE_SIZE = 64
/**
 * The search for the next match may read far beyond it by an unknown amount, so each search is
 * counted as an eighth of the remaining text.
 */
const SHARE = 8

async function allSpans(
  pattern: Pattern,
  text: string,
  { field, work }: { field: number; work: Work },
): Promise<Span[]> {
  const spans: Span[] = []
  const size = (pattern.size + PLACE_SIZE) / SHARE
  await work.spend(pattern.size * text.length)
  for (const span of pattern.spans(text)) {
    if (spans.length === SPANS_MAX)
      throw new Fault({ reason: 'too_many_found', field, limit: SPANS_MAX })
    spans.push(span)
    await work.spend(size * (text.length - span.end))
  }
  return spans
}
