// A second, plain evaluator to compare with: written from the description, slow and short.

import { OPERATION_KEYS } from '@custos/contract'

type Json = Record<string, unknown>

export interface ReferencePolicy {
  readonly policy_type: string
  readonly action: string
  readonly config: Json
  /** Of a rate_limit: whether the request is one too many. */
  readonly exceeded: boolean
}

/** `allowed`, `denied`, `escalated`, `logged`, or `-`: the policy does not concern the request. */
export type Word = 'allowed' | 'denied' | 'escalated' | 'logged' | '-'

const RESULT: Readonly<Record<string, Word>> = {
  allow: 'allowed',
  deny: 'denied',
  escalate: 'escalated',
  log_only: 'logged',
}

/** As it reads: compatibility forms made plain, invisible characters left out. */
const read = (text: string) =>
  text.replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '').normalize('NFKC')

function piecesOf(value: unknown): string[] {
  if (value === null || value === undefined) return []
  if (typeof value !== 'object') return [String(value)]
  if (Array.isArray(value)) return value.flatMap(piecesOf)
  return Object.entries(value).flatMap(([key, item]) => [key, ...piecesOf(item)])
}

const isBlank = (value: unknown) => typeof value === 'string' && read(value).trim() === ''
const whole = (pattern: unknown) => `^(?:${pattern})$`

const carried: Readonly<Record<string, readonly string[]>> = OPERATION_KEYS

const matches = (texts: string[], patterns: unknown[], flags: string) =>
  texts
    .flatMap((text) => [text, read(text)])
    .some((text) => patterns.some((p) => new RegExp(String(p), flags).test(text)))

export function referenceResult(
  { policy_type, action, config, exceeded }: ReferencePolicy,
  operation: string,
  context: Json,
): Word {
  const get = (key: string) => context[key] ?? (key === 'tool_name' ? context['tool'] : undefined)
  const tools = [context['tool_name'], context['tool']].filter((name) => name != null)
  const twoTools = tools.length === 2 && tools[0] !== tools[1]
  const list = (name: string): unknown[] => (config[name] as unknown[] | undefined) ?? []
  const hit = (is: boolean): Word => (is ? (RESULT[action] ?? 'denied') : 'allowed')
  /** What to say when a key is missing or no text; null: go on. */
  const lacking = (key: string): Word | null => {
    const value = get(key)
    if (key === 'tool_name' && (twoTools || isBlank(value))) return 'denied'
    if (value === undefined || value === null)
      return carried[operation]?.includes(key) ? 'denied' : '-'
    return typeof value === 'string' ? null : 'denied'
  }
  const names = () => [String(get('tool_name')), read(String(get('tool_name'))).trim()]
  const searched = (fallback: string[]): string[] | Word => {
    const texts = ((config['check_fields'] as string[] | undefined) ?? fallback)
      .map(get)
      .filter((value) => value !== undefined && value !== null)
      .map((value) => piecesOf(value).join('\n'))
    return texts.length === 0 ? '-' : texts
  }
  const invoked = operation.startsWith('worldmodel.action.')
  const listed =
    list('operations').length === 0 ||
    list('operations').includes(operation) ||
    (invoked && list('operations').includes('world_model.invoke'))
  if (policy_type === 'rate_limit') return listed ? hit(exceeded) : '-'
  if (policy_type === 'model_allowlist')
    return lacking('model_id') ?? hit(!list('models').includes(get('model_id')))
  if (policy_type === 'data_scope')
    return lacking('store_id') ?? hit(!list('allowed_stores').includes(get('store_id')))
  if (policy_type === 'tool_deny')
    return lacking('tool_name') ?? hit(matches(names(), list('denied_tools').map(whole), 's'))
  if (policy_type === 'token_budget') {
    const tokens = get('tokens')
    if (tokens === undefined || tokens === null) return '-'
    const most = Number(config['max_tokens_per_request'] ?? 10_000)
    return typeof tokens === 'number' ? hit(tokens > most) : 'denied'
  }
  if (policy_type === 'hitl_required') {
    if (!listed) return '-'
    if (list('tools').length === 0) return hit(true)
    return lacking('tool_name') ?? hit(names().some((name) => list('tools').includes(name)))
  }
  if (policy_type === 'content_filter' || policy_type === 'pii_guard') {
    const filter = policy_type === 'content_filter'
    const texts = searched([...(filter ? ['query'] : []), 'output', 'content', 'metadata'])
    if (typeof texts === 'string') return texts
    return hit(matches(texts, list('patterns'), filter ? 'i' : ''))
  }
  return constraint(config, get, { lacking, hit })
}

function constraint(
  config: Json,
  get: (key: string) => unknown,
  say: { lacking: (key: string) => Word | null; hit: (is: boolean) => Word },
): Word {
  const word = say.lacking('action')
  if (word !== null) return word
  const action = get('action')
  const params = get('params') as Json | undefined
  const unfit = typeof params !== 'object' || params === null || Array.isArray(params)
  const required = (config['require_params'] as string[] | undefined) ?? []
  const actions = (config['for_actions'] as string[] | undefined) ?? []
  if (required.length > 0 && (actions.length === 0 || actions.includes(String(action)))) {
    if (unfit) return 'denied'
    if (
      required.some(
        (name) => params[name] === undefined || params[name] === '' || params[name] === null,
      )
    )
      return say.hit(true)
  }
  const refused = config['deny_if'] as
    | { action?: string; params_has: { list_path: string; match_all: Json[] }[] }
    | undefined
  if (!refused || (refused.action !== undefined && refused.action !== action)) return 'allowed'
  if (unfit) return 'denied'
  for (const { list_path, match_all } of refused.params_has) {
    const items = params[list_path]
    if (items === undefined || items === null) return 'allowed'
    if (!Array.isArray(items)) return 'denied'
    let found = false
    for (const item of items) {
      let all = true
      if (typeof item !== 'object' || item === null || Array.isArray(item)) return 'denied'
      for (const { field, operator, value } of match_all) {
        const is = (item as Json)[String(field)]
        if (is === undefined || is === null) all = false
        else if (operator === 'contains') {
          if (!Array.isArray(is)) return 'denied'
          all = is.includes(value)
          if (!all && is.some((one) => one !== null && typeof one !== typeof value)) return 'denied'
        } else if (typeof is !== typeof value) return 'denied'
        else if (operator === '==') all = is === value
        else if (typeof is !== 'number' || typeof value !== 'number') return 'denied'
        else all = operator === '>' ? is > value : is < value
        if (!all) break
      }
      if (all) {
        found = true
        break
      }
    }
    if (!found) return 'allowed'
  }
  return say.hit(true)
}
