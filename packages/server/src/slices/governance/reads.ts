// Plain reads: policies, their types, and what they have said in numbers.

import {
  ACTION_PREFIX,
  CUSTOM_PREFIX,
  type governance as contract,
  OPERATION_ALIASES,
  OPERATION_KEYS,
  POLICY_ACTIONS,
  POLICY_TYPES,
  type PolicyType,
  type PolicyVersion,
  policyConfigs,
} from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import type { Call, Handler } from '../../platform/kernel/call.ts'
import { pageOf } from '../../platform/page.ts'
import { defaultAction, showPolicy } from './change-policy.ts'
import { evaluationLog } from './log/evaluation-log.ts'
import { type CountRow, listCounts } from './log/evaluations.sql.ts'
import { findNewest, listStanding, listVersions } from './policies.sql.ts'
import { ENTITY_NAMES } from './rules/entity-names.ts'
import { actionOf, type OpenedPolicy, openPolicies, UNREADABLE } from './sealed-policy.ts'

const HISTORY_MAX = 100
const NAMED_MAX = 8
const OTHER = 'Other'
const CHANGES = ['created', 'updated', 'deleted'] as const

// A JSON Schema is plain data: this leaves the library's own marks behind.
function schemaOf(type: PolicyType) {
  const config_schema: Record<string, unknown> = JSON.parse(JSON.stringify(policyConfigs[type]))
  return { description: String(config_schema['description']), config_schema }
}

export const policyTypes: Handler<typeof contract.policy_types> = async () => ({
  types: POLICY_TYPES.map((type) => ({
    type,
    ...schemaOf(type),
    actions: [...POLICY_ACTIONS],
    default_action: defaultAction(type),
  })),
  operations: Object.fromEntries(
    Object.entries(OPERATION_KEYS).map(([name, keys]) => [name, [...keys]]),
  ),
  operation_aliases: { ...OPERATION_ALIASES },
  operation_prefixes: [ACTION_PREFIX, CUSTOM_PREFIX],
  entities: [...ENTITY_NAMES],
})

export const listPolicies: Handler<typeof contract.list_policies> = async (call, { query }) => {
  const page = pageOf(query, 200)
  const rows = await call.read(listStanding)
  const wanted = query.enabled_only ? rows.filter(({ enabled }) => enabled === 1) : rows
  const shown = wanted.slice(page.offset, page.offset + page.limit)
  const opened = await openPolicies(call.kernel, call.tenant_id, shown)
  return page.envelope(
    'policies',
    opened.map(({ row, words }) => showPolicy(row, words ?? UNREADABLE)),
  )
}

export const getPolicy: Handler<typeof contract.get_policy> = async (call, { params, query }) => {
  const rows = await call.read((db) => listVersions(db, params.policy_id, HISTORY_MAX))
  const [newest] = rows
  if (!newest) return call.refuse('policy_not_found')
  const deleted = newest.stands === 0
  if (deleted && !query.include_deleted) return call.refuse('policy_not_found')
  const opened = await openPolicies(call.kernel, call.tenant_id, rows)
  const policy = showPolicy(newest, opened[0]?.words ?? UNREADABLE)
  return { ...policy, deleted, history: opened.map(showVersion) }
}

function showVersion({ row, words }: OpenedPolicy): PolicyVersion {
  const { name, description, config } = words ?? UNREADABLE
  return {
    version: row.version,
    change: CHANGES.find((change) => change === row.change) ?? 'updated',
    policy_set: row.policy_set,
    name,
    description,
    action: actionOf(row),
    config: { ...config },
    priority: row.priority,
    enabled: row.enabled === 1,
    changed_at: formatTime(row.changed_us),
    changed_by: row.changed_by,
  }
}

export const stats: Handler<typeof contract.stats> = async (call) => {
  await evaluationLog(call.kernel).flush(call.tenant_id)
  const { standing, counts } = await call.read(async (db) => ({
    standing: await listStanding(db),
    counts: await listCounts(db),
  }))
  const active = standing.filter(({ enabled }) => enabled === 1).length
  const sumOf = (result: string | null) =>
    counts.reduce((sum, row) => sum + (result === null || row.result === result ? row.count : 0), 0)
  const [total, denied, escalated] = [sumOf(null), sumOf('denied'), sumOf('escalated')]
  return {
    policies_total: standing.length,
    policies_active: active,
    evaluations_total: total,
    denials_total: denied,
    escalations_total: escalated,
    evaluations_by_type: await countByName(call, counts),
    total_policies: standing.length,
    active_policies: active,
    total_evaluations: total,
    denials: denied,
    escalations: escalated,
    evaluations_denied: denied,
    evaluations_escalated: escalated,
  }
}

/** By the name a policy has now, or had when it was deleted: the eight most, and the rest. */
async function countByName(
  { kernel, tenant_id }: Pick<Call, 'kernel' | 'tenant_id'>,
  counts: readonly CountRow[],
): Promise<Record<string, number>> {
  const byId = new Map<string, number>()
  for (const { policy_id, count } of counts) byId.set(policy_id, (byId.get(policy_id) ?? 0) + count)
  const rows = await kernel.db.read(tenant_id, (db) => findNewest(db, [...byId.keys()]))
  const byName = new Map<string, number>()
  for (const { row, words } of await openPolicies(kernel, tenant_id, rows)) {
    const { name } = words ?? UNREADABLE
    byName.set(name, (byName.get(name) ?? 0) + (byId.get(row.policy_id) ?? 0))
  }
  const ordered = [...byName].toSorted((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
  const named = ordered.slice(0, NAMED_MAX)
  const rest = ordered.slice(NAMED_MAX).reduce((sum, [, count]) => sum + count, 0)
  return Object.fromEntries(rest > 0 ? [...named, [OTHER, rest]] : named)
}
