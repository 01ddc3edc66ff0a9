// Checks a tenant's data for assurance: the checks of `custos fsck`, by part of an assurance run.

import { createHash } from 'node:crypto'
import { ASSURANCE_FINDINGS_MAX, ASSURANCE_SAMPLE, type CheckResult } from '@custos/contract'
import { CLOCK_TOLERANCE_US, parseTime, wallTime } from '../../platform/clock.ts'
import { databaseClock } from '../../platform/db/leases.sql.ts'
import type {
  CheckReport,
  CheckTask,
  DataCheck,
  TenantObservation,
} from '../../slices/assurance/index.ts'
import { findHead, treeRoot } from '../../slices/gcrumbs/index.ts'
import { digestPolicies } from '../../slices/governance/index.ts'
import {
  type CheckContext,
  FINDINGS_MAX,
  findingKey,
  type IdentifiedFinding,
  type Sample,
} from '../checks/check-context.ts'
import { summariseLog } from '../checks/check-log.ts'
import { CHECKS, runCheck } from '../checks/checks.ts'
import { countRows } from '../checks/fsck.sql.ts'
import { ROUNDS_MAX, withSnapshot } from '../checks/fsck.ts'
import type { ReadOnlyKernel } from '../open/open-read-only.ts'

/** The findings of a check, and the number of items it checked. */
interface CheckPart {
  readonly findings: readonly IdentifiedFinding[]
  readonly counts: Readonly<Record<string, number>>
}

type CheckParts = Partial<Record<DataCheck, CheckPart>>

const DETAILS: Readonly<Record<DataCheck, string>> = {
  chain:
    'every entry from the first: links, times, leaf hashes, stored tree nodes, the signatures of ' +
    'checkpoints, and that the log is not shorter than the last one signed',
  seals:
    'stores, facts, decisions, records, approvals and audits open, verify and ' +
    'are what the log says',
  ledger:
    'tombstones, certificates, manifests, the erasure ledger and the versions of facts agree ' +
    'with each other',
  policies: 'every version opens, those in force compile, and the current set is what stands',
  clock: 'times of the log rise, and neither this machine nor the database is behind them',
}

/** The tenant was destroyed, or only partly created. */
class NoKeys extends Error {
  override readonly name = 'NoKeys'
}

/** Rows change while the service runs: only what a fresh snapshot still shows is a finding. */
export async function checkTenantData(open: ReadOnlyKernel, task: CheckTask): Promise<CheckReport> {
  if (!(await open.kernel.keyring.hasTenant(task.tenant_id))) throw new NoKeys()
  const sample: Sample = { size: ASSURANCE_SAMPLE, seed: task.seed, chosen: new Map() }
  const once = () =>
    withSnapshot(open, task.tenant_id, (check) => runChecks({ ...check, sample }, task))
  let last = await once()
  for (let rounds = 1; rounds < ROUNDS_MAX && hasFindings(last.parts); rounds += 1) {
    const before = last.parts
    const again = await once()
    last = { ...again, parts: inBoth(before, again.parts) }
  }
  const { parts, observed, baseline_root, sampled } = last
  const results = eachPart(parts).map(([check, part]) => [check, resultOf(check, part, sampled)])
  return { results: Object.fromEntries(results), observed, baseline_root }
}

const DATA_CHECKS: readonly DataCheck[] = ['chain', 'seals', 'ledger', 'policies', 'clock']

const eachPart = (parts: CheckParts): [DataCheck, CheckPart][] =>
  DATA_CHECKS.flatMap((check): [DataCheck, CheckPart][] => {
    const part = parts[check]
    return part ? [[check, part]] : []
  })

const hasFindings = (parts: CheckParts) =>
  Object.values(parts).some(({ findings }) => findings.length > 0)

function inBoth(before: CheckParts, now: CheckParts): CheckParts {
  const kept = eachPart(now).map(([check, part]) => {
    const known = new Set(before[check]?.findings.map(findingKey))
    return [check, { ...part, findings: part.findings.filter((one) => known.has(findingKey(one))) }]
  })
  return Object.fromEntries(kept)
}

async function runChecks(
  check: CheckContext & { readonly sample: Sample },
  task: CheckTask,
): Promise<Omit<CheckReport, 'results'> & { parts: CheckParts; sampled: boolean }> {
  const rows = await countAll(check)
  // All checks but those of chain and policies compare the log with the tables.
  if (task.checks.some((name) => name !== 'chain' && name !== 'policies')) await summariseLog(check)
  const parts: CheckParts = {}
  for (const name of task.checks) parts[name] = await partOf(check, name, rows)
  const observed = await observe(check, rows)
  const sampled = [...check.sample.chosen.values()].some((places) => places !== null)
  return { parts, observed, sampled, baseline_root: await rootAtBaseline(check, task) }
}

type Rows = Omit<TenantObservation['counts'], 'policies_in_force'>

async function countAll({ db }: CheckContext): Promise<Rows> {
  return {
    stores: await countRows(db, 'stores'),
    facts: await countRows(db, 'facts'),
    tombstones: await countRows(db, 'tombstones'),
    decisions: await countRows(db, 'decisions'),
    certificates: await countRows(db, 'certificates'),
  }
}

async function partOf(check: CheckContext, name: DataCheck, rows: Rows): Promise<CheckPart> {
  if (name === 'clock') return checkClock(check)
  const findings: IdentifiedFinding[] = []
  for (const each of CHECKS) {
    if (each.part !== name) continue
    for await (const found of runCheck(each, check)) {
      findings.push(found)
      if (findings.length >= FINDINGS_MAX) break
    }
  }
  return { findings, counts: countsOf(check, name, rows) }
}

function countsOf(
  { counts, ledger }: CheckContext,
  name: DataCheck,
  rows: Rows,
): Record<string, number> {
  switch (name) {
    case 'chain':
      return { entries: counts.entries, checkpoints: counts.epochs }
    case 'seals':
      return {
        stores: counts.stores,
        facts: counts.facts,
        facts_total: rows.facts,
        decisions: counts.decisions,
        decisions_total: rows.decisions,
      }
    case 'ledger':
      return {
        tombstones: counts.tombstones,
        certificates: counts.certificates,
        ledger_entries: ledger.size,
      }
    default:
      return {}
  }
}

function resultOf(
  check: DataCheck,
  { findings, counts }: CheckPart,
  sampled: boolean,
): CheckResult {
  const passed = findings.length === 0
  const sample =
    check === 'seals' && sampled ? `; of more than ${ASSURANCE_SAMPLE} of a kind a sample` : ''
  return {
    status: passed ? 'pass' : 'fail',
    passed,
    detail: `${DETAILS[check]}${sample}`,
    counts: { ...counts },
    findings: findings
      .slice(0, ASSURANCE_FINDINGS_MAX)
      .map(({ kind, id, what }) => ({ kind, id, what })),
    findings_total: findings.length,
  }
}

async function observe({ db, keys }: CheckContext, rows: Rows): Promise<TenantObservation> {
  const head = await findHead(db)
  const { policy_set, in_force, digest } = await digestPolicies(db)
  const size = head?.size ?? 0
  const key_ids = keys.map(({ key_id }) => key_id).sort()
  const counts: TenantObservation['counts'] = { ...rows, policies_in_force: in_force }
  return {
    log: { tree_size: size, root_hash: await rootOf(db, size), generation: head?.generation ?? 0 },
    counts,
    policies: { policy_set, digest },
    keys: { digest: createHash('sha256').update(JSON.stringify(key_ids)).digest('hex'), key_ids },
  }
}

async function rootAtBaseline(
  { db }: CheckContext,
  { baseline_size }: CheckTask,
): Promise<string | null> {
  if (baseline_size === null || baseline_size > ((await findHead(db))?.size ?? 0)) return null
  return rootOf(db, baseline_size)
}

/** Null if the tree is empty, or if rows of it are missing, which the part `chain` reports. */
async function rootOf(db: CheckContext['db'], size: number): Promise<string | null> {
  if (size === 0) return null
  try {
    return Buffer.from(await treeRoot(db, size)).toString('hex')
  } catch {
    return null
  }
}

const SECOND_US = 1_000_000

/** Must run after `summariseLog`. */
async function checkClock({ kernel, db, log }: CheckContext) {
  const findings: { kind: string; id: string; what: string }[] = []
  const add = (id: string, what: string) => findings.push({ kind: 'clock', id, what })
  const now_us = wallTime()
  const head = await findHead(db)
  if (log.back_at !== null) add(`entry ${log.back_at}`, 'is not later than the one before it')
  const newest_us = Math.max(head?.last_us ?? 0, parseTime(log.last_at) ?? 0)
  const behind_us = newest_us - now_us
  if (behind_us > CLOCK_TOLERANCE_US)
    add('machine', `is ${seconds(behind_us)} s behind the newest entry of the log`)
  if (kernel.db.source.engine !== 'postgres') return { findings, counts: {} }
  const offset_us = (await databaseClock(db)) - now_us
  if (Math.abs(offset_us) > CLOCK_TOLERANCE_US)
    add('database', `differs from this machine by ${seconds(offset_us)} s`)
  return { findings, counts: { database_offset_ms: Math.round(offset_us / 1_000) } }
}

const seconds = (us: number): number => Math.round(us / SECOND_US)
