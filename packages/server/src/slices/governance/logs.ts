// GET /v1/governance/logs: rows of evaluations expanded by policy, newest first.

import type { governance as contract, PolicyResult } from '@custos/contract'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../platform/kernel/call.ts'
import { Refusal } from '../../platform/refusal.ts'
import { readOutcomes } from './evaluation-result.ts'
import { Members, type OutcomePosition, showLogs } from './evaluation-rows.ts'
import { evaluationLog } from './log/evaluation-log.ts'
import { type EvaluationPage, type EvaluationRow, listEvaluations } from './log/evaluations.sql.ts'
import { listVersions } from './policies.sql.ts'

const ROWS_PER_PAGE = 500

interface LogFilter {
  readonly policy_id: string | null
  readonly result: PolicyResult | null
}

interface Position {
  readonly created_us: number
  readonly evaluation_id: string
  /** The last outcome of that row that was shown. */
  readonly index: number
}

export const logs: Handler<typeof contract.logs> = async (call, { query }) => {
  await evaluationLog(call.kernel).flush(call.tenant_id)
  const limit = query.limit ?? 50
  const after = query.cursor === undefined ? null : readCursor(query.cursor)
  const offset = after === null ? (query.offset ?? 0) : 0
  const wanted = { policy_id: query.policy_id ?? null, result: query.result ?? null }
  const picked = await pick(call, wanted, { after, skip: offset, limit: limit + 1 })
  const shown = picked.slice(0, limit)
  const last = shown.at(-1)
  const logs = await showLogs(call, shown)
  const next_cursor = picked.length > limit && last ? writeCursor(last) : null
  return { logs, count: logs.length, limit, offset, next_cursor }
}

interface Span {
  readonly after: Position | null
  readonly skip: number
  readonly limit: number
}

/** Walks the rows from the newest, counting outcomes without opening anything. */
async function pick(
  call: Call,
  wanted: LogFilter,
  { after, skip, limit }: Span,
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

/** The policy sets that the policy may have been a member of. */
async function setsOf(db: TenantDb, policy_id: string | null) {
  if (policy_id === null) return null
  const versions = await listVersions(db, policy_id, Number.MAX_SAFE_INTEGER)
  const [newest, oldest] = [versions[0], versions.at(-1)]
  if (!newest || !oldest) return 'none'
  const last = newest.change === 'deleted' ? newest.policy_set : Number.MAX_SAFE_INTEGER
  return { first: oldest.policy_set, last }
}

function matching(row: EvaluationRow, wanted: LogFilter, members: Members): number[] {
  const all = members.of(row.policy_set)
  return readOutcomes(row.verdicts, null).flatMap(({ result }, index) => {
    if (wanted.result !== null && result !== wanted.result) return []
    if (wanted.policy_id !== null && all[index]?.[0] !== wanted.policy_id) return []
    return [index]
  })
}

// The row itself may have more to show: so it is read again.
const justBefore = ({ created_us, evaluation_id }: Position) => ({
  created_us,
  evaluation_id: `${evaluation_id}\uffff`,
})

const isShown = (row: EvaluationRow, index: number, after: Position): boolean =>
  row.created_us === after.created_us &&
  row.evaluation_id === after.evaluation_id &&
  index <= after.index

const writeCursor = ({ row, index }: OutcomePosition): string =>
  Buffer.from(`e${row.created_us}.${row.evaluation_id}.${index}`).toString('base64url')

function readCursor(cursor: string): Position {
  const text = Buffer.from(cursor, 'base64url').toString()
  const match = /^e(\d{1,16})\.([0-9a-f]{20})\.(\d{1,4})$/.exec(text)
  const [, created_us, evaluation_id = '', index] = match ?? []
  if (!match) throw new Refusal('rejected', 'the cursor is not one this list gave')
  return { created_us: Number(created_us), evaluation_id, index: Number(index) }
}
