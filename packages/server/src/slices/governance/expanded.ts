// Rows of evaluations, expanded: what each policy of the set said, in the words it had then.

import type { GovernanceLog } from '@custos/contract'
import type { Call } from '../../platform/call.ts'
import { formatTime } from '../../platform/clock.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { describeDetail } from './describe.ts'
import { readOutcomes } from './evaluated.ts'
import type { EvaluationRow } from './evaluations.sql.ts'
import { findMembers, findVersions } from './policies.sql.ts'
import { actionOf, type OpenedPolicy, openPolicies, typeOf, UNREADABLE } from './sealed-policy.ts'

type Member = readonly [policy_id: string, version: number]

/** Which policies a set had, in the order of evaluation. */
export class Members {
  readonly #known = new Map<number, readonly Member[]>()

  async load(db: TenantDb, rows: readonly EvaluationRow[]): Promise<void> {
    const sets = new Set(rows.map(({ policy_set }) => policy_set))
    const unknown = [...sets].filter((policy_set) => !this.#known.has(policy_set))
    if (unknown.length === 0) return
    // Written with the set.
    for (const { policy_set, members } of await findMembers(db, unknown)) {
      const pairs: Member[] = JSON.parse(members)
      this.#known.set(policy_set, pairs)
    }
  }

  of(policy_set: number): readonly Member[] {
    return this.#known.get(policy_set) ?? []
  }
}

/** One outcome of a row. */
export interface Picked {
  readonly row: EvaluationRow
  readonly index: number
}

/** Four hex digits follow the id of the evaluation. */
export const logId = (evaluation_id: string, index: number): string =>
  evaluation_id + index.toString(16).padStart(4, '0')

/** In the order of `picked`. */
export async function showLogs(
  { kernel, tenant_id }: Pick<Call, 'kernel' | 'tenant_id'>,
  picked: readonly Picked[],
): Promise<GovernanceLog[]> {
  const members = new Members()
  const memberOf = ({ row, index }: Picked) => members.of(row.policy_set)[index]
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
  { row, index }: Picked,
  { row: policy, words }: OpenedPolicy,
): GovernanceLog {
  const outcome = readOutcomes(row.verdicts, row.details)[index]
  const { name, config } = words ?? UNREADABLE
  const detail = outcome?.detail ?? null
  return {
    log_id: logId(row.evaluation_id, index),
    tenant_id,
    policy_id: policy.policy_id,
    policy_name: name,
    policy_type: typeOf(policy),
    action: actionOf(policy),
    result: outcome?.result ?? 'denied',
    applicable: outcome?.applicable ?? true,
    reason: detail?.reason ?? null,
    detail: describeDetail({ policy_type: typeOf(policy), config }, detail),
    operation: row.operation,
    request_summary: row.request,
    created_at: formatTime(row.created_us),
  }
}
