// One evaluation on record: the row that is kept of it, what is put on the log, and the row
// expanded: what each policy of the set said, in the words it had then.

import {
  type EventPayload,
  type GovernanceLog,
  KNOWN_OPERATIONS,
  type PolicyResult,
} from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import type { Call } from '../../platform/kernel/call.ts'
import type { TenantKeys } from '../../platform/keys/keyring.ts'
import { LruCache } from '../../platform/lru-cache.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { countKey, type NewEvaluation, writeEvaluations } from './log/evaluation-log.ts'
import type { EvaluationRow } from './log/evaluations.sql.ts'
import { findMembers, findVersions } from './policies.sql.ts'
import type { PolicySet } from './policy-sets.ts'
import { describeDetail } from './rules/describe.ts'
import type { SetOutcome } from './rules/evaluate-set.ts'
import { type Detail, type Outcome, REASONS } from './rules/outcome.ts'
import type { PolicyText } from './rules/policy.ts'
import type { Context } from './rules/request.ts'
import { actionOf, type OpenedPolicy, openPolicies, typeOf, UNREADABLE } from './sealed-policy.ts'

export interface EvaluationResult extends SetOutcome {
  readonly evaluation_id: string
  readonly created_us: number
  readonly operation: string
  /** The operation's name as stored; an unknown name is hashed, because a caller chose it. */
  readonly kept_operation: string
  /** The stored part of the request. */
  readonly request: string
  readonly set: PolicySet
}

const LETTERS = { denied: 'D', escalated: 'E', logged: 'L', allowed: 'A' } as const
/** Letter for a policy that does not apply to the request. */
const UNCONCERNED = 'N'

const letterOf = ({ result, applicable }: Outcome): string =>
  applicable ? LETTERS[result] : UNCONCERNED

const RESULTS: Readonly<Record<string, PolicyResult>> = {
  D: 'denied',
  E: 'escalated',
  L: 'logged',
  A: 'allowed',
  N: 'allowed',
}

/** The outcomes in a row, in the order of the policy set. */
export function readOutcomes(verdicts: string, details: string | null): Outcome[] {
  // `recordOf` wrote the column.
  const pairs: [number, Detail][] = JSON.parse(details ?? '[]')
  const kept = new Map(pairs)
  return Array.from(verdicts, (letter, i) => ({
    result: RESULTS[letter] ?? 'denied',
    applicable: letter !== UNCONCERNED,
    detail: kept.get(i) ?? null,
  }))
}

export function recordOf(evaluated: EvaluationResult): NewEvaluation {
  const { outcomes, set } = evaluated
  const counts = { allowed: 0, denied: 0, escalated: 0, logged: 0 }
  const details: [number, Detail][] = []
  let verdicts = ''
  for (const [i, outcome] of outcomes.entries()) {
    counts[outcome.result] += 1
    verdicts += letterOf(outcome)
    if (outcome.detail !== null) details.push([i, outcome.detail])
  }
  return {
    row: {
      created_us: evaluated.created_us,
      evaluation_id: evaluated.evaluation_id,
      policy_set: set.policy_set,
      operation: evaluated.kept_operation,
      verdicts,
      details: details.length === 0 ? null : JSON.stringify(details),
      request: evaluated.request,
      members: outcomes.length,
      denied: counts.denied,
      escalated: counts.escalated,
      logged: counts.logged,
    },
    counted: () =>
      outcomes.map(({ result }, i) => countKey(set.policies[i]?.policy_id ?? '', result)),
  }
}

/** Writes the row and, if not allowed, the log entry in the caller's unit of work. */
export async function writeEvaluated(
  tx: Tx,
  keys: TenantKeys,
  evaluated: EvaluationResult,
): Promise<void> {
  await writeEvaluations(tx, [recordOf(evaluated)])
  const { verdict, evaluation_id } = evaluated
  if (verdict === 'allowed') return
  const payload = crumbOf(keys, evaluated)
  await appendCrumb(tx, { event_type: `evaluation.${verdict}`, subject: evaluation_id, payload })
}

function crumbOf(
  keys: TenantKeys,
  { operation, set, outcomes }: EvaluationResult,
): EventPayload<'evaluation.denied'> {
  return {
    operation: isKnown(operation) ? operation : keys.label(`operation\n${operation}`),
    policy_set: set.policy_set,
    policies: set.policies.flatMap(({ policy_id, version }, i) => {
      const outcome = outcomes[i]
      if (outcome?.result !== 'denied' && outcome?.result !== 'escalated') return []
      const reason = REASONS[outcome.detail?.reason ?? 'failed']
      return [{ policy_id, version, result: outcome.result, reason }]
    }),
  }
}

const isKnown = (operation: string): boolean => KNOWN_OPERATIONS.includes(operation)

const LABEL_CHARS = 12
const LABELLED = ['model_id', 'store_id', 'tool_name', 'action'] as const
const MEASURED = ['query', 'content', 'output'] as const

const LABELS_MAX = 100
const LABELLED_CHARS_MAX = 200
/** Labels by key and value, because names of models and stores repeat. Dropped with the keys. */
const labels = new WeakMap<TenantKeys, LruCache<string, string>>()

function labelOf(keys: TenantKeys, key: string, value: string | number): string {
  const text = `${key}\n${value}`
  const compute = () => `~${keys.label(text).slice(0, LABEL_CHARS)}`
  // Refs hardly repeat.
  if (typeof value === 'number' || value.length > LABELLED_CHARS_MAX) return compute()
  const known = labels.get(keys) ?? new LruCache<string, string>({ max: LABELS_MAX })
  labels.set(keys, known)
  return known.get(text) ?? known.set(text, compute())
}

/** Returns known operation names in clear, others as a keyed hash. */
export const keptOperation = (keys: TenantKeys, operation: string): string =>
  isKnown(operation) ? operation : labelOf(keys, 'operation', operation)

/**
 * Lengths, and keyed hashes of the names that callers chose, never a word of the request.
 * @param minted context keys whose values are ids minted by the service, shown in clear
 */
export function summarise(
  keys: TenantKeys,
  kept_operation: string,
  { contexts, minted }: { contexts: readonly Context[]; minted: readonly string[] },
): string {
  const [first = {}] = contexts
  const parts = [`op=${kept_operation}`]
  const show = (key: string, value: string | number) =>
    minted.includes(key) ? String(value) : labelOf(keys, key, value)
  if (contexts.length !== 1) parts.push(`items=${contexts.length}`)
  for (const key of LABELLED) {
    const value = first[key]
    if (typeof value === 'string') parts.push(`${key.split('_')[0]}=${show(key, value)}`)
  }
  for (const key of MEASURED) {
    const chars = contexts.reduce((sum, context) => sum + lengthOf(context[key]), 0)
    if (chars > 0) parts.push(`${key}=${chars} chars`)
  }
  const { ref } = first
  if (typeof ref === 'number') parts.push(`ref=${show('ref', ref)}`)
  return parts.join(' ')
}

const lengthOf = (value: unknown): number => (typeof value === 'string' ? value.length : 0)

type Member = readonly [policy_id: string, version: number]

/** The policies in each set, in the order of evaluation. */
export class Members {
  readonly #known = new Map<number, readonly Member[]>()

  async load(db: TenantDb, rows: readonly EvaluationRow[]): Promise<void> {
    const sets = new Set(rows.map(({ policy_set }) => policy_set))
    const unknown = [...sets].filter((policy_set) => !this.#known.has(policy_set))
    if (unknown.length === 0) return
    // Written together with the set.
    for (const { policy_set, members } of await findMembers(db, unknown)) {
      const pairs: Member[] = JSON.parse(members)
      this.#known.set(policy_set, pairs)
    }
  }

  of(policy_set: number): readonly Member[] {
    return this.#known.get(policy_set) ?? []
  }
}

/** The position of one outcome in a row. */
export interface OutcomePosition {
  readonly row: EvaluationRow
  readonly index: number
}

/** The id of the evaluation, then the index as four hex digits. */
export const logId = (evaluation_id: string, index: number): string =>
  evaluation_id + writeIndex(index)

const indexes: string[] = []

/** The index of an outcome as four hex digits. */
export const writeIndex = (index: number): string =>
  (indexes[index] ??= index.toString(16).padStart(4, '0'))

/** Shows the outcomes, in the order of `picked`. */
export async function showLogs(
  { kernel, tenant_id }: Pick<Call, 'kernel' | 'tenant_id'>,
  picked: readonly OutcomePosition[],
): Promise<GovernanceLog[]> {
  const members = new Members()
  const memberOf = ({ row, index }: OutcomePosition) => members.of(row.policy_set)[index]
  const rows = await kernel.db.read(tenant_id, async (db) => {
    await members.load(
      db,
      picked.map(({ row }) => row),
    )
    const wanted = new Map(
      picked.flatMap((one) => {
        const member = memberOf(one)
        return member ? [[member.join(' '), member] as const] : []
      }),
    )
    return findVersions(db, [...wanted.values()])
  })
  const opened = new Map(
    (await openPolicies(kernel, tenant_id, rows)).map((policy) => [keyOf(policy), policy]),
  )
  return picked.flatMap((one) => {
    const policy = opened.get(memberOf(one)?.join(' ') ?? '')
    return policy ? [showLog(tenant_id, one, policy)] : []
  })
}

const keyOf = ({ row }: OpenedPolicy): string => `${row.policy_id} ${row.version}`

function showLog(
  tenant_id: string,
  { row, index }: OutcomePosition,
  { row: policy, words }: OpenedPolicy,
): GovernanceLog {
  const { policy_id } = policy
  const { name, config } = words ?? UNREADABLE
  return showOutcome({
    log_id: logId(row.evaluation_id, index),
    tenant_id,
    policy: { policy_id, name, policy_type: typeOf(policy), action: actionOf(policy), config },
    outcome: readOutcomes(row.verdicts, row.details)[index] ?? LOST,
    operation: row.operation,
    request: row.request,
    created_at: formatTime(row.created_us),
  })
}

const LOST: Outcome = { result: 'denied', applicable: true, detail: null }

interface PolicyOutcome {
  /** `null` if it is not stored. */
  readonly log_id: string | null
  readonly tenant_id: string
  readonly policy: Omit<PolicyText, 'version'>
  readonly outcome: Outcome
  readonly operation: string
  readonly request: string
  readonly created_at: string
}

/** Shows the result of one policy for one request. */
export function showOutcome({ policy, outcome, ...about }: PolicyOutcome): GovernanceLog {
  const { result, applicable, detail } = outcome
  return {
    log_id: about.log_id,
    tenant_id: about.tenant_id,
    policy_id: policy.policy_id,
    policy_name: policy.name,
    policy_type: policy.policy_type,
    action: policy.action,
    result,
    applicable,
    reason: detail?.reason ?? null,
    detail: describeDetail(policy, detail),
    operation: about.operation,
    request_summary: about.request,
    created_at: about.created_at,
  }
}
