// The consistency check: every tenant's log, seals and rows, each tenant on one snapshot.

import { canonicalize, type Json } from '@custos/proof'
import type { Config } from '../../config/config.ts'
import { listTenantIds } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import { checkDecisions } from '../../slices/decisions/index.ts'
import { checkPolicies } from '../../slices/governance/index.ts'
import { checkRecords } from '../../slices/records/index.ts'
import { recompute } from '../../slices/reputation/index.ts'
import { OfflineError } from '../offline-error.ts'
import { openReadOnly, type ReadOnlyKernel } from '../open-read-only.ts'
import { checkCertificates } from './check-certificates.ts'
import { checkFacts } from './check-facts.ts'
import { checkLog, summariseLog } from './check-log.ts'
import { checkStores } from './check-stores.ts'
import { checkTombstones } from './check-tombstones.ts'
import { checkValidity } from './check-validity.ts'
import {
  type Check,
  type Counts,
  FINDINGS_MAX,
  type Finding,
  type Found,
  type LedgerState,
  type LogSummary,
  subjectKey,
} from './finding.ts'

export interface TenantReport {
  readonly tenant_id: string
  readonly counts: Readonly<Counts>
  readonly findings: readonly Finding[]
}

export interface FsckOptions {
  /** Only this tenant. */
  readonly tenant_id?: string
  progress?(text: string): void
}

/** Rows move while a service runs: what is still found on a fresh snapshot is a finding. */
const LOOKS_MAX = 3
const LEDGER_PAGE = 500

/** Throws OfflineError or KeyringError when the data cannot be looked at at all. */
export async function runFsck(config: Config, options: FsckOptions = {}): Promise<TenantReport[]> {
  const open = await openReadOnly(config)
  try {
    const reports: TenantReport[] = []
    for (const tenant_id of await tenantsOf(open, options.tenant_id))
      reports.push(await checkTenant(open, tenant_id, options))
    return reports
  } finally {
    await open.close()
  }
}

/** All tenants there are, or the one that is wanted. */
export async function tenantsOf(
  open: ReadOnlyKernel,
  wanted: string | undefined,
): Promise<string[]> {
  await open.snapshots.takeSnapshot()
  const listed = await open.kernel.db.read(PLATFORM, listTenantIds)
  // A tenant with keys but without a row was cut off while it was made, or lost its row.
  const all = [...new Set([...listed, ...(await open.kernel.keyring.listTenants())])].sort()
  if (wanted === undefined) return all
  if (!all.includes(wanted)) throw new OfflineError(`there is no tenant ${wanted} here`)
  return [wanted]
}

async function checkTenant(
  open: ReadOnlyKernel,
  tenant_id: string,
  options: FsckOptions,
): Promise<TenantReport> {
  let report = await look(open, tenant_id, options)
  for (let looks = 1; looks < LOOKS_MAX && report.findings.length > 0; looks += 1) {
    const again = await look(open, tenant_id, options)
    const before = new Set(report.findings.map(nameOf))
    const findings = again.findings.filter((finding) => before.has(nameOf(finding)))
    report = { ...again, findings }
  }
  return report
}

const nameOf = ({ kind, id, what }: Finding): string => JSON.stringify([kind, id, what])

async function look(
  open: ReadOnlyKernel,
  tenant_id: string,
  options: FsckOptions,
): Promise<TenantReport> {
  const { kernel, snapshots } = open
  if (!(await kernel.keyring.hasTenant(tenant_id))) return keyless(tenant_id)
  // What the keyring says is done was done in the data before: so the keyring is read first.
  const signed = await kernel.keyring.checkpoints.last(tenant_id)
  const ledger = await readLedger(open, tenant_id)
  await snapshots.takeSnapshot()
  try {
    return await kernel.db.read(tenant_id, async (db) => {
      const check: Check = {
        kernel,
        db,
        keys: kernel.keyring.publishedKeys(),
        ledger,
        signed,
        log: emptySummary(),
        counts: noCounts(),
        progress: (text) => options.progress?.(`${tenant_id}, ${text}`),
      }
      const findings = await gather(check)
      return { tenant_id, counts: check.counts, findings }
    })
  } finally {
    await snapshots.release()
  }
}

const emptySummary = (): LogSummary => ({
  written: new Map(),
  erased: new Map(),
  certified: new Map(),
  registered: { records: new Map(), approvals: new Map() },
  decisions: 0,
})

const noCounts = (): Counts => ({
  entries: 0,
  epochs: 0,
  stores: 0,
  facts: 0,
  tombstones: 0,
  decisions: 0,
  certificates: 0,
})

const keyless = (tenant_id: string): TenantReport => ({
  tenant_id,
  counts: noCounts(),
  findings: [{ tenant_id, kind: 'log', id: 'keys', what: 'the keyring has no keys of the tenant' }],
})

async function readLedger({ kernel }: ReadOnlyKernel, tenant_id: string) {
  const entries = new Map<string, LedgerState>()
  for (let after = 0; ; ) {
    const page = await kernel.keyring.ledger.list(tenant_id, { after, limit: LEDGER_PAGE })
    for (const { subject_kind, subject, state, certificate, ledger_id } of page) {
      // Parsed from the ledger's JSON.
      const kept = state === 'completed' ? canonicalize(certificate as Json) : null
      entries.set(subjectKey(subject_kind, subject), { state, certificate: kept })
      after = ledger_id
    }
    if (page.length < LEDGER_PAGE) return entries
  }
}

type Run = (check: Check) => AsyncGenerator<Found>

const CHECKS: readonly (readonly [Found['kind'], Run])[] = [
  ['log', checkLog],
  ['store', (check) => checkStores({ ...check, keyring: check.kernel.keyring })],
  ['fact', checkFacts],
  ['validity', checkValidity],
  ['tombstone', checkTombstones],
  ['decision', checkAllDecisions],
  ['certificate', checkCertificates],
  ['policy', checkAllPolicies],
  ['record', checkAllRecords],
  ['reputation', checkReputation],
]

async function gather(check: Check): Promise<Finding[]> {
  const findings: Finding[] = []
  await summariseLog(check)
  for (const [kind, run] of CHECKS)
    for await (const found of guarded(kind, run(check))) {
      findings.push({ tenant_id: check.db.tenant_id, ...found })
      if (findings.length >= FINDINGS_MAX) return findings
    }
  return findings
}

// Rows that nothing of ours could have written may break a reader in ways it does not expect: the
// other checks go on. The name only: a message may quote what could not be read.
async function* guarded(
  kind: Found['kind'],
  findings: AsyncGenerator<Found>,
): AsyncGenerator<Found> {
  try {
    yield* findings
  } catch (error) {
    const name = error instanceof Error ? error.name : 'unknown'
    yield { kind, id: '-', what: `the check could not go on: ${name}` }
  }
}

async function* checkAllPolicies({ kernel, db }: Check): AsyncGenerator<Found> {
  const { faults } = await checkPolicies(kernel, db)
  for (const { policy_id, fault } of faults) yield { kind: 'policy', id: policy_id, what: fault }
}

async function* checkAllRecords({ kernel, db, log }: Check): AsyncGenerator<Found> {
  for await (const { kind, id, fault } of checkRecords(kernel, db, log.registered))
    yield { kind, id, what: fault }
}

async function* checkReputation({ db, progress }: Check): AsyncGenerator<Found> {
  const show = (entry: number) => progress(`reputation at entry ${entry}`)
  const { differences } = await recompute(db, show)
  for (const { table, id, what } of differences)
    yield { kind: 'reputation', id: `${table} ${id}`, what }
}

async function* checkAllDecisions(check: Check): AsyncGenerator<Found> {
  const { kernel, db, counts, log } = check
  const { checked, faults } = await checkDecisions(kernel, db.tenant_id, (done) =>
    check.progress(`decision ${done}`),
  )
  counts.decisions = checked
  for (const { decision_id, fault } of faults)
    yield { kind: 'decision', id: decision_id, what: fault }
  if (log.decisions !== checked)
    yield {
      kind: 'log',
      id: 'decisions',
      what: `the log has ${log.decisions} logged decisions, ${checked} are here`,
    }
}
