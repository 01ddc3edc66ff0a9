// One look at a tenant for assurance: what `custos fsck` checks, sorted under the checks' names.

import { createHash } from 'node:crypto'
import { ASSURANCE_FINDINGS_MAX, ASSURANCE_SAMPLE, type CheckResult } from '@custos/contract'
import type {
  CountName,
  DataCheck,
  Look,
  LookTask,
  Observed,
} from '../../slices/assurance/index.ts'
import { findHead, treeRoot } from '../../slices/gcrumbs/index.ts'
import { digestPolicies } from '../../slices/governance/index.ts'
import { summariseLog } from '../fsck/check-log.ts'
import { type Check, FINDINGS_MAX, type Found, nameOf, type Sample } from '../fsck/finding.ts'
import { countRows } from '../fsck/fsck.sql.ts'
import { FSCK_CHECKS, guarded, LOOKS_MAX, onSnapshot } from '../fsck/fsck.ts'
import type { ReadOnlyKernel } from '../open-read-only.ts'
import { checkClock } from './check-clock.ts'

/** What a check found, and what it looked at. */
interface Part {
  readonly findings: readonly Problem[]
  readonly counts: Readonly<Record<string, number>>
}

type Problem = Omit<Found, 'kind'> & { readonly kind: string }
type Parts = Partial<Record<DataCheck, Part>>

const KINDS: Readonly<Record<Exclude<DataCheck, 'clock'>, readonly Found['kind'][]>> = {
  chain: ['log'],
  seals: ['store', 'fact', 'decision', 'record', 'audit'],
  ledger: ['validity', 'tombstone', 'certificate', 'manifest'],
  policies: ['policy'],
}

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

/** A tenant that was destroyed, or was never whole. */
class NoKeys extends Error {
  override readonly name = 'NoKeys'
}

/** Rows move while the service runs: what is still found on a fresh snapshot is a finding. */
export async function lookAt(open: ReadOnlyKernel, task: LookTask): Promise<Look> {
  if (!(await open.kernel.keyring.hasTenant(task.tenant_id))) throw new NoKeys()
  const sample: Sample = { size: ASSURANCE_SAMPLE, seed: task.seed, chosen: new Map() }
  const once = () =>
    onSnapshot(open, task.tenant_id, (check) => lookOnce({ ...check, sample }, task))
  let look = await once()
  for (let looks = 1; looks < LOOKS_MAX && hasFindings(look.parts); looks += 1) {
    const before = look.parts
    const again = await once()
    look = { ...again, parts: inBoth(before, again.parts) }
  }
  const { parts, observed, baseline_root, sampled } = look
  const results = eachPart(parts).map(([check, part]) => [check, resultOf(check, part, sampled)])
  return { results: Object.fromEntries(results), observed, baseline_root }
}

const CHECKS: readonly DataCheck[] = ['chain', 'seals', 'ledger', 'policies', 'clock']

const eachPart = (parts: Parts): [DataCheck, Part][] =>
  CHECKS.flatMap((check): [DataCheck, Part][] => {
    const part = parts[check]
    return part ? [[check, part]] : []
  })

const hasFindings = (parts: Parts) =>
  Object.values(parts).some(({ findings }) => findings.length > 0)

function inBoth(before: Parts, now: Parts): Parts {
  const kept = eachPart(now).map(([check, part]) => {
    const known = new Set(before[check]?.findings.map(nameOf))
    return [check, { ...part, findings: part.findings.filter((one) => known.has(nameOf(one))) }]
  })
  return Object.fromEntries(kept)
}

interface Once extends Omit<Look, 'results'> {
  readonly parts: Parts
  readonly sampled: boolean
}

async function lookOnce(check: Check & { readonly sample: Sample }, task: LookTask): Promise<Once> {
  const rows = await countAll(check)
  // What the log speaks of is compared with what there is: by all checks but the chain's own.
  if (task.checks.some((name) => name !== 'chain' && name !== 'policies')) await summariseLog(check)
  const parts: Parts = {}
  for (const name of task.checks) parts[name] = await partOf(check, name, rows)
  const observed = await observe(check, rows)
  const sampled = [...check.sample.chosen.values()].some((places) => places !== null)
  return { parts, observed, sampled, baseline_root: await rootAtBaseline(check, task) }
}

type Rows = Omit<Observed['counts'], 'policies_in_force'>

async function countAll({ db }: Check): Promise<Rows> {
  return {
    stores: await countRows(db, 'stores'),
    facts: await countRows(db, 'facts'),
    tombstones: await countRows(db, 'tombstones'),
    decisions: await countRows(db, 'decisions'),
    certificates: await countRows(db, 'certificates'),
  }
}

async function partOf(check: Check, name: DataCheck, rows: Rows): Promise<Part> {
  if (name === 'clock') return checkClock(check)
  const findings: Problem[] = []
  for (const [kind, run] of FSCK_CHECKS) {
    if (!KINDS[name].includes(kind)) continue
    for await (const found of guarded(kind, run(check))) {
      findings.push(found)
      if (findings.length >= FINDINGS_MAX) break
    }
  }
  return { findings, counts: countsOf(check, name, rows) }
}

function countsOf({ counts, ledger }: Check, name: DataCheck, rows: Rows): Record<string, number> {
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

function resultOf(check: DataCheck, { findings, counts }: Part, sampled: boolean): CheckResult {
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

async function observe({ db, keys }: Check, rows: Rows): Promise<Observed> {
  const head = await findHead(db)
  const { policy_set, in_force, digest } = await digestPolicies(db)
  const size = head?.size ?? 0
  const key_ids = keys.map(({ key_id }) => key_id).sort()
  const counts: Record<CountName, number> = { ...rows, policies_in_force: in_force }
  return {
    log: { tree_size: size, root_hash: await rootOf(db, size), generation: head?.generation ?? 0 },
    counts,
    policies: { policy_set, digest },
    keys: { digest: createHash('sha256').update(JSON.stringify(key_ids)).digest('hex'), key_ids },
  }
}

async function rootAtBaseline({ db }: Check, { baseline_size }: LookTask): Promise<string | null> {
  if (baseline_size === null || baseline_size > ((await findHead(db))?.size ?? 0)) return null
  return rootOf(db, baseline_size)
}

/** Null where there is none, or where rows of the tree are missing: `chain` says which. */
async function rootOf(db: Check['db'], size: number): Promise<string | null> {
  if (size === 0) return null
  try {
    return Buffer.from(await treeRoot(db, size)).toString('hex')
  } catch {
    return null
  }
}
