// Plain reads: policies, their types, and their results in counts and row by row.

import {
  ACTION_PREFIX,
  CUSTOM_PREFIX,
  type governance as contract,
  OPERATION_ALIASES,
  OPERATION_KEYS,
  POLICY_ACTIONS,
  POLICY_TYPES,
  type PolicyResult,
  type PolicyType,
  type PolicyVersion,
  policyConfigs,
} from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../platform/kernel/call.ts'
import { type Page, pageOf, readCursor, writeCursor } from '../../platform/page.ts'
import { defaultAction, showPolicy } from './change-policy.ts'
import { Members, type OutcomePosition, readOutcomes, showLogs } from './evaluation-result.ts'
import { evaluationLog } from './log/evaluation-log.ts'
import {
  type CountRow,
  type EvaluationPage,
  type EvaluationRow,
  listCounts,
  listEvaluations,
} from './log/evaluations.sql.ts'
import { findNewest, listStanding, listVersions, type PolicyRow } from './policies.sql.ts'
import { ENTITY_NAMES } from './rules/entity-names.ts'
import { actionOf, type OpenedPolicy, openPolicies, UNREADABLE } from './sealed-policy.ts'

const HISTORY_MAX = 100
const NAMED_MAX = 8
/** A cursor cannot hold a negative number, but a priority may be negative. */
const PRIORITY_SHIFT = 1_000_000
const OTHER = 'Other'
const CHANGES = ['created', 'updated', 'deleted'] as const

// A JSON Schema is plain data; the round trip drops the library's symbols.
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
  const page = pageOf(query, 200, call.operation.id)
  const rows = await call.read((db) => listBehind(db, page.after))
  const wanted = query.enabled_only ? rows.filter(({ enabled }) => enabled === 1) : rows
  const from = page.after === null ? page.offset : 0
  const shown = wanted.slice(from, from + page.limit)
  const last = shown.at(-1)
  const opened = await openPolicies(call.kernel, call.tenant_id, shown)
  return page.envelope(
    'policies',
    opened.map(({ row, words }) => showPolicy(row, words ?? UNREADABLE)),
    last ? { at: last.priority + PRIORITY_SHIFT, id: last.policy_id } : null,
  )
}

/** Policies in force after a cursor, in evaluation order; its policy may be deleted. */
async function listBehind(db: TenantDb, after: Page['after']): Promise<PolicyRow[]> {
  const rows = await listStanding(db)
  if (after === null) return rows
  const [marked] = await findNewest(db, [after.id])
  const priority = after.at - PRIORITY_SHIFT
  return rows.filter(
    (row) =>
      row.priority > priority ||
      (row.priority === priority && marked !== undefined && isLater(row, marked)),
  )
}

const isLater = (one: PolicyRow, other: PolicyRow): boolean =>
  one.created_us > other.created_us ||
  (one.created_us === other.created_us && one.policy_id > other.policy_id)

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

/** Counts by current or last name of the policies: the eight highest, and the rest. */
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

const ROWS_PER_PAGE = 500

interface Position {
  readonly created_us: number
  readonly evaluation_id: string
  /** Index of the last outcome of that row that was shown. */
  readonly index: number
}

/** GET /v1/governance/logs: evaluation rows expanded by policy, newest first. */
export const logs: Handler<typeof contract.logs> = async (call, { query }) => {
  await evaluationLog(call.kernel).flush(call.tenant_id)
  const limit = query.limit ?? 50
  const after = query.cursor === undefined ? null : readPosition(query.cursor, call.operation.id)
  const offset = after === null ? (query.offset ?? 0) : 0
  const wanted = { policy_id: query.policy_id ?? null, result: query.result ?? null }
  const picked = await pick(call, wanted, { after, skip: offset, limit: limit + 1 })
  const shown = picked.slice(0, limit)
  const last = shown.at(-1)
  const logs = await showLogs(call, shown)
  const next_cursor = picked.length > limit && last ? writePosition(last, call.operation.id) : null
  return { logs, count: logs.length, limit, offset, next_cursor }
}

/** Walks the rows from the newest on and counts outcomes without opening anything. */
async function pick(
  call: Call,
  wanted: { readonly policy_id: string | null; readonly result: PolicyResult | null },
  { after, skip, limit }: { after: Position | null; skip: number; limit: number },
): Promise<OutcomePosition[]> {
  const policy_sets = await call.read((db) => setsOf(db, wanted.policy_id))
  if (policy_sets === 'none') return []
  const members = new Members()
  const picked: OutcomePosition[] = []
  let skipped = 0
  let before: EvaluationPage['before'] = after === null ? null : justBefore(after)
  for (;;) {
    const page = { before, result: rowsWith(wanted.result), policy_sets, limit: ROWS_PER_PAGE }
    const rows = await call.read(async (db) => {
      const found = await listEvaluations(db, page)
      await members.load(db, found)
      return found
    })
    for (const row of rows)
      for (const index of matching(row, wanted, members)) {
        if (after !== null && isShown(row, index, after)) continue
        skipped += 1
        if (skipped <= skip) continue
        picked.push({ row, index })
        if (picked.length === limit) return picked
      }
    const last = rows.at(-1)
    if (!last || rows.length < ROWS_PER_PAGE) return picked
    before = last
  }
}

const rowsWith = (result: PolicyResult | null): EvaluationPage['result'] =>
  result === null || result === 'allowed' ? null : result

/** The policy sets that may have included the policy. */
async function setsOf(db: TenantDb, policy_id: string | null) {
  if (policy_id === null) return null
  const versions = await listVersions(db, policy_id, Number.MAX_SAFE_INTEGER)
  const [newest, oldest] = [versions[0], versions.at(-1)]
  if (!newest || !oldest) return 'none'
  const last = newest.change === 'deleted' ? newest.policy_set : Number.MAX_SAFE_INTEGER
  return { first: oldest.policy_set, last }
}

function matching(
  row: EvaluationRow,
  wanted: { readonly policy_id: string | null; readonly result: PolicyResult | null },
  members: Members,
): number[] {
  const all = members.of(row.policy_set)
  return readOutcomes(row.verdicts, null).flatMap(({ result }, index) => {
    if (wanted.result !== null && result !== wanted.result) return []
    if (wanted.policy_id !== null && all[index]?.[0] !== wanted.policy_id) return []
    return [index]
  })
}

// The row may have further outcomes to show, so it is read again.
const justBefore = ({ created_us, evaluation_id }: Position) => ({
  created_us,
  evaluation_id: `${evaluation_id}\uffff`,
})

const isShown = (row: EvaluationRow, index: number, after: Position): boolean =>
  row.created_us === after.created_us &&
  row.evaluation_id === after.evaluation_id &&
  index <= after.index

const writePosition = ({ row, index }: OutcomePosition, list: string): string =>
  writeCursor(list, `e${row.created_us}.${row.evaluation_id}.${index}`)

function readPosition(cursor: string, list: string): Position {
  const form = /^e(\d{1,16})\.([0-9a-f]{20})\.(\d{1,4})$/
  const [, created_us, evaluation_id = '', index] = readCursor(cursor, list, form)
  return { created_us: Number(created_us), evaluation_id, index: Number(index) }
}
