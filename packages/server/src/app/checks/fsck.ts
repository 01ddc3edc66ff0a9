// The consistency check of every tenant's log, seals and rows. Each round of a tenant's checks
// reads one snapshot.

import { basename, join } from 'node:path'
import { canonicalize, type Json } from '@custos/proof'
import type { Config } from '../../config/config.ts'
import { listTenantIds } from '../../platform/db/control.sql.ts'
import { databasePath } from '../../platform/db/data-dir.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import { listMovedIds } from '../../platform/db/moves.sql.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { OfflineError } from '../../platform/operator-error.ts'
import { type RecomputeResult, recompute } from '../../slices/reputation/index.ts'
import { GovernedLog } from '../../slices/tenants/index.ts'
import {
  explainUnreadable,
  openReadOnly,
  type ReadOnlyKernel,
  unreadableCause,
} from '../open/open-read-only.ts'
import {
  type CheckContext,
  type Counts,
  FINDINGS_MAX,
  type Finding,
  findingKey,
  type LedgerState,
  type LogSummary,
  subjectKey,
} from './check-context.ts'
import { summariseLog } from './check-log.ts'
import { CHECKS, CLOCK_CHECK, DESTROYED_CHECKS, runCheck } from './checks.ts'
import { listDamages } from './fsck.sql.ts'

export interface TenantReport {
  readonly tenant_id: string
  readonly counts: Readonly<Counts>
  readonly findings: readonly Finding[]
}

interface FsckOptions {
  /** Checks only this tenant. The data files are checked in any case. */
  readonly tenant_id?: string
  progress?(text: string): void
}

/**
 * Rows change while a service runs, so a tenant with findings is checked again, up to this many
 * times including the first. Only findings that every snapshot shows are reported.
 */
export const ROUNDS_MAX = 3
const LEDGER_PAGE = 500

/** Throws OfflineError or KeyringError if the data cannot be read at all. */
export async function runFsck(config: Config, options: FsckOptions = {}): Promise<TenantReport[]> {
  const open = await openReadOnly(config)
  try {
    return await explainUnreadable(config, async () => {
      const reports: TenantReport[] = []
      for (const tenant_id of await tenantsOf(open, options.tenant_id))
        reports.push(await checkTenant(open, tenant_id, options))
      options.progress?.('the files')
      return [...reports, ...reportFiles(config)]
    })
  } finally {
    await open.close()
  }
}

/** All tenants except those that moved to another cluster, or only the wanted one. */
async function tenantsOf(open: ReadOnlyKernel, wanted: string | undefined): Promise<string[]> {
  await open.snapshots.takeSnapshot()
  const listed = await open.kernel.db.read(PLATFORM, listTenantIds)
  // A tenant with keys but no row was only partly created, or lost its row.
  const { keyring } = open.kernel
  const known = [...(await keyring.listTenants()), ...(await keyring.listDestroyedTenants())]
  const moved = await open.kernel.db.read(PLATFORM, listMovedIds)
  const all = [...new Set([...listed, ...known])].filter((id) => !moved.includes(id)).sort()
  if (wanted === undefined) return all
  if (!all.includes(wanted)) throw new OfflineError(`there is no tenant ${wanted} here`)
  return [wanted]
}

async function checkTenant(
  open: ReadOnlyKernel,
  tenant_id: string,
  options: FsckOptions,
): Promise<TenantReport> {
  let report = await checkOnce(open, tenant_id, options)
  for (let rounds = 1; rounds < ROUNDS_MAX && report.findings.length > 0; rounds += 1) {
    const again = await checkOnce(open, tenant_id, options)
    const before = new Set(report.findings.map(findingKey))
    const findings = again.findings.filter((finding) => before.has(findingKey(finding)))
    report = { ...again, findings }
  }
  return report
}

async function checkOnce(
  open: ReadOnlyKernel,
  tenant_id: string,
  options: FsckOptions,
): Promise<TenantReport> {
  try {
    if (!(await open.kernel.keyring.hasTenant(tenant_id))) return reportMissingKeys(tenant_id)
    return await withSnapshot(open, tenant_id, async (check) => {
      const findings = await collectFindings({
        ...check,
        progress: (text) => options.progress?.(`${tenant_id}, ${text}`),
      })
      return { tenant_id, counts: check.counts, findings }
    })
  } catch (error) {
    const cause = unreadableCause(error)
    if (cause === null) throw error
    return reportUnreadable(tenant_id, cause)
  }
}

/** Runs `act` on one snapshot of a tenant that has keys. */
export async function withSnapshot<T>(
  { kernel, snapshots }: ReadOnlyKernel,
  tenant_id: string,
  act: (check: CheckContext) => Promise<T>,
): Promise<T> {
  // Reads the keyring before the data. What the keyring records as done was done in the data
  // earlier, so the later snapshot of the data must show it.
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
  governed: new GovernedLog(),
  registered: { records: new Map(), approvals: new Map() },
  decisions: 0,
  last_at: '',
  back_at: null,
})

const noCounts = (): Counts => ({
  entries: 0,
  epochs: 0,
  witnessed: 0,
  stores: 0,
  facts: 0,
  tombstones: 0,
  decisions: 0,
  certificates: 0,
})

const reportOnly = (tenant_id: string, id: string, what: string): TenantReport => ({
  tenant_id,
  counts: noCounts(),
  findings: [{ tenant_id, kind: 'log', id, what }],
})

const reportMissingKeys = (tenant_id: string): TenantReport =>
  reportOnly(tenant_id, 'keys', 'the keyring has no keys of the tenant')

/** Part of a file is damaged or missing, so nothing more can be checked for this tenant. */
const reportUnreadable = (tenant_id: string, cause: string): TenantReport =>
  reportOnly(tenant_id, 'files', `cannot be read (${cause}): restore a backup`)

/** Replaces the tenant id in findings on files, which belong to all tenants. */
export const OF_FILES = '-'

function reportFiles({ postgres, data_dir }: Config): TenantReport[] {
  if (postgres !== null) return []
  const paths = [databasePath(data_dir), join(data_dir, 'keyring', 'keyring.db')]
  const findings = paths.flatMap((path) =>
    describeDamages(path).map((damage) => ({
      tenant_id: OF_FILES,
      kind: 'file' as const,
      id: basename(path),
      what: `${damage}: restore a backup`,
    })),
  )
  return findings.length === 0 ? [] : [{ tenant_id: OF_FILES, counts: noCounts(), findings }]
}

function describeDamages(path: string): string[] {
  try {
    return listDamages(path)
  } catch (error) {
    const cause = unreadableCause(error)
    if (cause === null) throw error
    return [cause]
  }
}

async function readLedger(kernel: Kernel, tenant_id: string) {
  const entries = new Map<string, LedgerState>()
  for (let after = 0; ; ) {
    const page = await kernel.keyring.ledger.list(tenant_id, { after, limit: LEDGER_PAGE })
    for (const { subject_kind, subject, state, certificate, ledger_id } of page) {
      // The value was parsed from the ledger's JSON.
      const kept = state === 'completed' ? canonicalize(certificate as Json) : null
      entries.set(subjectKey(subject_kind, subject), { state, certificate: kept })
      after = ledger_id
    }
    if (page.length < LEDGER_PAGE) return entries
  }
}

async function collectFindings(check: CheckContext): Promise<Finding[]> {
  const findings: Finding[] = []
  await summariseLog(check)
  const destroyed = await check.kernel.keyring.listDestroyedTenants()
  const checks = [
    CLOCK_CHECK,
    ...(destroyed.includes(check.db.tenant_id) ? DESTROYED_CHECKS : CHECKS),
  ]
  for (const each of checks)
    for await (const found of runCheck(each, check)) {
      findings.push({ tenant_id: check.db.tenant_id, ...found })
      if (findings.length >= FINDINGS_MAX) return findings
    }
  return findings
}

export interface TenantReputation extends RecomputeResult {
  readonly tenant_id: string
}

/** Throws OfflineError or KeyringError if the data cannot be read at all. */
export async function runRecompute(
  config: Config,
  options: FsckOptions = {},
): Promise<TenantReputation[]> {
  const open = await openReadOnly(config)
  const { kernel, snapshots } = open
  try {
    const reports: TenantReputation[] = []
    const destroyed = await kernel.keyring.listDestroyedTenants()
    await explainUnreadable(config, async () => {
      for (const tenant_id of await tenantsOf(open, options.tenant_id)) {
        await snapshots.takeSnapshot()
        const show = (entry: number) => options.progress?.(`${tenant_id}, entry ${entry}`)
        const found = await kernel.db.read(tenant_id, (db) => recompute(db, show))
        await snapshots.release()
        // For a tenant without keys, off-boarding deleted the reputation rows and kept the log, so
        // differences are expected.
        const removed = destroyed.includes(tenant_id)
        reports.push({ tenant_id, ...found, ...(removed ? { differences: [] } : {}) })
      }
    })
    return reports
  } finally {
    await open.close()
  }
}
