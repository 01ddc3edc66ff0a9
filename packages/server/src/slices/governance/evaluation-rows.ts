// Expands rows of evaluations: what each policy of the set decided, under its texts at that time.

import type { GovernanceLog } from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Call } from '../../platform/kernel/call.ts'
import { readOutcomes } from './evaluation-result.ts'
import type { EvaluationRow } from './log/evaluations.sql.ts'
import { findMembers, findVersions } from './policies.sql.ts'
import { describeDetail } from './rules/describe.ts'
import type { Outcome } from './rules/outcome.ts'
import type { PolicyText } from './rules/policy.ts'
import { actionOf, type OpenedPolicy, openPolicies, typeOf, UNREADABLE } from './sealed-policy.ts'

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
  evaluation_id + index.toString(16).padStart(4, '0')

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
