// The consistency check: every tenant's log, seals and rows, each tenant on one snapshot.

import { canonicalize, type Json } from '@custos/proof'
import type { Config } from '../../config/config.ts'
import { listTenantIds } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { checkDecisions, checkSomeDecisions } from '../../slices/decisions/index.ts'
import { findHead } from '../../slices/gcrumbs/index.ts'
import { checkPolicies } from '../../slices/governance/index.ts'
import { checkRecords } from '../../slices/records/index.ts'
import { recompute } from '../../slices/reputation/index.ts'
import { OfflineError } from '../offline-error.ts'
import { openReadOnly, type ReadOnlyKernel } from '../open-read-only.ts'
import { checkAudits } from './check-audits.ts'
import { checkCertificates } from './check-certificates.ts'
import { checkDestroyed } from './check-destroyed.ts'
import { checkFacts } from './check-facts.ts'
import { checkLog, summariseLog } from './check-log.ts'
import { checkManifests } from './check-manifests.ts'
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
  nameOf,
  subjectKey,
} from './finding.ts'
import { countRows } from './fsck.sql.ts'
import { placesOf } from './sample.ts'

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
export const LOOKS_MAX = 3
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
  const { keyring } = open.kernel
  const known = [...(await keyring.listTenants()), ...(await keyring.listDestroyedTenants())]
  const all = [...new Set([...listed, ...known])].sort()
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

async function look(
  open: ReadOnlyKernel,
  tenant_id: string,
  options: FsckOptions,
): Promise<TenantReport> {
  if (!(await open.kernel.keyring.hasTenant(tenant_id))) return keyless(tenant_id)
  return onSnapshot(open, tenant_id, async (check) => {
    const findings = await gather({
      ...check,
      progress: (text) => options.progress?.(`${tenant_id}, ${text}`),
    })
    return { tenant_id, counts: check.counts, findings }
  })
}

/** One look at a tenant whose keys there are. */
export async function onSnapshot<T>(
  { kernel, snapshots }: ReadOnlyKernel,
  tenant_id: string,
  act: (check: Check) => Promise<T>,
): Promise<T> {
  // What the keyring says is done was done in the data before: so the keyring is read first.
  const signed = await kernel.keyring.checkpoints.last(tenant_id)
  const ledger = await readLedger(kernel, tenant_id)
  await snapshots.takeSnapshot()
  try {
    return await kernel.db.read(tenant_id, (db) =>
      act({
        kernel,
        db,
        keys: kernel.keyring.publishedKeys(),
        ledger,
        signed,
        log: emptySummary(),
        counts: noCounts(),
        progress() {},
      }),
    )
  } finally {
    await snapshots.release()
  }
}

const emptySummary = (): LogSummary => ({
  written: new Map(),
  erased: new Map(),
  certified: new Map(),
  audited: new Map(),
  manifests: new Map(),
  registered: { records: new Map(), approvals: new Map() },
  decisions: 0,
  last_at: '',
  back_at: null,
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

async function readLedger(kernel: Kernel, tenant_id: string) {
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

export const FSCK_CHECKS: readonly (readonly [Found['kind'], Run])[] = [
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
  ['audit', checkAudits],
  ['manifest', checkManifests],
]

const DESTROYED_CHECKS: typeof FSCK_CHECKS = [['certificate', checkDestroyed]]

async function gather(check: Check): Promise<Finding[]> {
  const findings: Finding[] = []
  await summariseLog(check)
  const destroyed = await check.kernel.keyring.listDestroyedTenants()
  const checks = destroyed.includes(check.db.tenant_id) ? DESTROYED_CHECKS : FSCK_CHECKS
  for (const [kind, run] of checks)
    for await (const found of guarded(kind, run(check))) {
      findings.push({ tenant_id: check.db.tenant_id, ...found })
      if (findings.length >= FINDINGS_MAX) return findings
    }
  return findings
}

// Rows that nothing of ours could have written may break a reader in ways it does not expect: the
// other checks go on. The name only: a message may quote what could not be read.
export async function* guarded(
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
  const { db, counts, log } = check
  const { checked, faults } = await decisionsChecked(check)
  const there = check.sample ? await countRows(db, 'decisions') : checked
  counts.decisions = checked
  for (const { decision_id, fault } of faults)
    yield { kind: 'decision', id: decision_id, what: fault }
  if (log.decisions !== there)
    yield {
      kind: 'log',
      id: 'decisions',
      what: `the log has ${log.decisions} logged decisions, ${there} are here`,
    }
}

const DECISIONS_PAGE = 50

async function decisionsChecked({ kernel, db, sample, log, progress }: Check) {
  const { tenant_id } = db
  const wanted = { name: 'decisions', there: log.decisions, page: DECISIONS_PAGE }
  const places =
    sample &&
    (await placesOf(sample, wanted, async () => {
      return { first: 0, last: ((await findHead(db))?.size ?? 1) - 1 }
    }))
  return places
    ? checkSomeDecisions(kernel, tenant_id, places)
    : checkDecisions(kernel, tenant_id, (done) => progress(`decision ${done}`))
}
