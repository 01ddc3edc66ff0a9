// The steps of an off-boarding, each done once: mark, ledger, keys, log, checkpoint, certificate.
//
// Progress is read from the data and the ledger, so the off-boarding resumes after a crash at any
// step, and on restored older data: there the keyring destroys the keys again when it opens, and
// the ledger returns the original certificate.

import assert from 'node:assert/strict'
import type { Epoch, TenantCertificate } from '@custos/contract'
import {
  TENANT_ERASURE_KIND,
  type TenantErasureStatement,
  tenantErasureBytes,
  verifyTenantErasure,
} from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import { countLiveCredentials, findTenant } from '../../platform/db/control.sql.ts'
import { type DatabaseStats, PLATFORM } from '../../platform/db/database.ts'
import {
  type DestructionRow,
  endJobs,
  findDestruction,
  insertDestruction,
  listOpenDestructions,
  updateDestruction,
} from '../../platform/db/destructions.sql.ts'
import { findJob } from '../../platform/db/jobs.sql.ts'
import { countRowsOf, listStoreIds } from '../../platform/db/migrations/tenant-tables.sql.ts'
import { findMove, insertMove, listMovingIds } from '../../platform/db/moves.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import {
  requestErasures,
  requireErasureLease,
  runErasure,
} from '../../platform/kernel/erasure-queue.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import type { LedgerEntry } from '../../platform/keys/keyring.ts'
import { KeyringError } from '../../platform/keys/keyring-error.ts'
import { Refusal } from '../../platform/refusal.ts'
import { openedDecisions } from '../decisions/index.ts'
import { type ErasureReasons, erasureSigner } from '../erasure/index.ts'
import { appendCrumb, fitsLog, reconcileLog, refuseEntries, rollEpoch } from '../gcrumbs/index.ts'
import { dropCached, loadHeldStores } from '../memory/index.ts'
import { revokeKeysOfTenant } from '../tenants/index.ts'
import {
  isMove,
  type MovePlan,
  parsePlan,
  parseReasons,
  reportStep,
  type TenantPlan,
} from './plan.ts'
import { TENANT_REMOVE } from './remove-job.ts'

/** Runs every step after the mark. Call it inside `runErasure`. */
export async function continueDestruction(
  kernel: Kernel,
  tenant_id: string,
  { generation_floor }: { generation_floor?: number } = {},
): Promise<void> {
  const entry = await requestDestruction(kernel, tenant_id)
  await reportStep(kernel, 'ledger')
  await kernel.keyring.destroyTenant(tenant_id)
  await dropMemory(kernel, tenant_id)
  await reportStep(kernel, 'key')

  const plan = parsePlan(entry.plan)
  const log_seq = await closeLog(kernel, tenant_id, { plan, generation_floor })
  await reportStep(kernel, 'logged')
  const epoch = await rollEpoch(kernel, tenant_id)
  await reportStep(kernel, 'checkpoint')

  const closed = { tenant_id, plan, requested_us: entry.requested_us, log_seq, epoch }
  const { certificate, completed_us } = await storeCertificate(kernel, entry, closed)
  await reportStep(kernel, 'certified')
  const { ledger_id } = entry
  await kernel.keyring.ledger.complete([{ ledger_id, certificate, completed_us }])
  await reportStep(kernel, 'completed')
}

async function requestDestruction(kernel: Kernel, tenant_id: string): Promise<LedgerEntry> {
  const known = await kernel.keyring.ledger.find(tenant_id, 'tenant', tenant_id)
  if (known) return known
  const row = await loadRow(kernel, tenant_id)
  const plan: TenantPlan = {
    version: 1,
    kind: 'tenant',
    certificate_id: row.certificate_id,
    counts: await countContent(kernel, tenant_id),
    ...parseReasons(row.reasons),
  }
  const [entry] = await requestErasures(kernel, tenant_id, [
    {
      tenant_id,
      subject_kind: 'tenant',
      subject: tenant_id,
      store_id: null,
      requested_us: row.requested_us,
      plan,
      destroys: [],
    },
  ])
  assert(entry, 'the ledger answered no row for a request')
  return entry
}

async function loadRow(kernel: Kernel, tenant_id: string): Promise<DestructionRow> {
  const row = await kernel.db.read(tenant_id, (db) => findDestruction(db, tenant_id))
  assert(row, 'an off-boarding without a row is continued')
  return row
}

// Runs after the mark, so the counts no longer change.
async function countContent(kernel: Kernel, tenant_id: string): Promise<TenantPlan['counts']> {
  const requested = await kernel.keyring.ledger.listRequested()
  const open_erasures = requested.filter((entry) => entry.tenant_id === tenant_id).length
  return kernel.db.read(tenant_id, async (db) => ({
    stores: await countRowsOf(db, 'stores'),
    facts: await countRowsOf(db, 'facts'),
    decisions: await countRowsOf(db, 'decisions'),
    records: await countRowsOf(db, 'records'),
    certificates: await countRowsOf(db, 'certificates'),
    open_erasures,
  }))
}

/** Drops what this process cached of the tenant; others do so when they see the mark. */
async function dropMemory(kernel: Kernel, tenant_id: string): Promise<void> {
  openedDecisions.removeTenant(tenant_id)
  for (const store_id of await kernel.db.read(tenant_id, listStoreIds))
    dropCached(kernel, tenant_id, store_id, [])
}

/** Appends the last entry of the log; returns its position. */
async function closeLog(
  kernel: Kernel,
  tenant_id: string,
  { plan, generation_floor }: { plan: TenantPlan; generation_floor: number | undefined },
): Promise<number> {
  const row = await loadRow(kernel, tenant_id)
  if (row.log_seq !== null) return row.log_seq
  const stored = await kernel.keyring.checkpoints.last(tenant_id)
  const fits = await kernel.db.read(tenant_id, (db) => fitsLog(db, stored))
  if (!fits || generation_floor !== undefined)
    await reconcileLog(kernel, tenant_id, {
      certificates_missing: false,
      ...(generation_floor === undefined ? {} : { generation_floor }),
    })
  return kernel.db.transact(tenant_id, async (tx) => {
    await requireErasureLease(kernel, tx)
    const { stores, facts, decisions, records } = plan.counts
    const { certificate_id } = plan
    const { seq } = await appendCrumb(tx, {
      event_type: 'tenant.destroyed',
      subject: tenant_id,
      payload: { certificate_id, stores, facts, decisions, records },
    })
    await updateDestruction(tx, { log_seq: seq })
    return seq
  })
}

/** Returns the stored certificate, which is the first one, even if it comes from the ledger. */
async function storeCertificate(
  kernel: Kernel,
  entry: LedgerEntry,
  closed: Parameters<typeof certifyDestruction>[1] & { epoch: Epoch },
): Promise<{ certificate: TenantCertificate; completed_us: number }> {
  const { tenant_id } = closed
  const row = await loadRow(kernel, tenant_id)
  if (row.record !== null && row.destroyed_us !== null)
    // The record was written below.
    return { certificate: JSON.parse(row.record), completed_us: row.destroyed_us }
  // The ledger contains only certificates that were stored here.
  const kept = entry.state === 'completed' ? (entry.certificate as TenantCertificate) : null
  const certificate = kept ?? (await certifyDestruction(kernel, closed))
  const completed_us = entry.completed_us ?? kernel.clock.now()
  await kernel.db.transact(tenant_id, async (tx) => {
    await requireErasureLease(kernel, tx)
    const job = await kernel.jobs.enqueue(tx, TENANT_REMOVE, {})
    await updateDestruction(tx, {
      destroyed_us: completed_us,
      record: JSON.stringify(certificate),
      job_id: job.job_id,
    })
  })
  return { certificate, completed_us }
}

/**
 * Resumes every interrupted off-boarding and repeats those that older data lack. Runs at startup,
 * after log and erasures are reconciled, and periodically: another process may have died during
 * one.
 */
export async function resumeDestructions(
  kernel: Kernel,
  options: { generation_floor?: number } = {},
): Promise<void> {
  await restartRemovals(kernel)
  for (const tenant_id of await listToResume(kernel))
    await runErasure(kernel, tenant_id, () => resumeDestruction(kernel, tenant_id, options)).catch(
      (error: unknown) => {
        const reason = error instanceof Error ? error.name : 'unknown'
        kernel.logger.error('offboarding.not_finished', { tenant_id, reason })
      },
    )
}

/** Restarts the job that removes the rows if the job was abandoned. */
async function restartRemovals({ db, jobs }: Kernel): Promise<void> {
  const open = await db.read(PLATFORM, listOpenDestructions)
  for (const { tenant_id, job_id } of open) {
    if (job_id === null) continue
    const job = await db.read(tenant_id, (one) => findJob(one, job_id))
    if (job && job.state !== 'failed') continue
    await db.transact(tenant_id, async (tx) => {
      const next = await jobs.enqueue(tx, TENANT_REMOVE, {})
      await updateDestruction(tx, { job_id: next.job_id })
    })
  }
}

async function listToResume({ db, keyring }: Kernel): Promise<string[]> {
  const open = await db.read(PLATFORM, listOpenDestructions)
  const ended = open.filter(({ record }) => record !== null).map(({ tenant_id }) => tenant_id)
  const requested = (await keyring.ledger.listRequested())
    .filter(({ subject_kind }) => subject_kind === 'tenant')
    .map(({ tenant_id }) => tenant_id)
  const due = new Set([...open.map(({ tenant_id }) => tenant_id), ...requested])
  for (const tenant_id of ended) if (!requested.includes(tenant_id)) due.delete(tenant_id)
  for (const tenant_id of await keyring.listDestroyedTenants())
    if (!(await db.read(tenant_id, (one) => findDestruction(one, tenant_id)))) due.add(tenant_id)
  for (const tenant_id of await db.read(PLATFORM, listMovingIds)) due.delete(tenant_id)
  return [...due].sort()
}

async function resumeDestruction(
  kernel: Kernel,
  tenant_id: string,
  options: { generation_floor?: number },
): Promise<void> {
  const { db, keyring } = kernel
  // The data are from before the tenant was created, or never contained it.
  if (!(await db.read(tenant_id, (one) => findTenant(one, tenant_id)))) return
  const entry = await keyring.ledger.find(tenant_id, 'tenant', tenant_id)
  if (entry && isMove(entry.plan)) return markMoved(kernel, tenant_id, entry.plan)
  if (entry) {
    const { certificate_id, legal_basis, requested_by } = parsePlan(entry.plan)
    const reasons = { legal_basis, requested_by }
    const { requested_us } = entry
    const marking = { certificate_id, requested_us, reasons, despite_holds: true }
    await db.transact(tenant_id, (tx) => markDestroyed(kernel, tx, marking))
  }
  await continueDestruction(kernel, tenant_id, options)
}

/** For data from before a tenant moved to another cluster: nobody acts for it here any more. */
async function markMoved({ db }: Kernel, tenant_id: string, plan: MovePlan): Promise<void> {
  const known = await db.read(tenant_id, findMove)
  if (known && known.state !== 'arrived') return
  const { move_id, address, started_us } = plan
  const row = { tenant_id, move_id, state: 'left', address, started_us, proof: null } as const
  await db.transact(tenant_id, (tx) => insertMove(tx, row))
}

interface DestructionMark {
  readonly certificate_id: string
  readonly requested_us: number
  readonly reasons: ErasureReasons
  /** True for restored older data: the keys are destroyed already, whatever is on hold. */
  readonly despite_holds: boolean
}

/**
 * The first step: from this commit on nobody acts for the tenant, and its log accepts no more
 * entries. Returns how many keys were revoked. Refuses `legal_hold` while any store has a hold.
 */
export async function markDestroyed(
  kernel: Kernel,
  tx: Tx,
  marking: DestructionMark,
): Promise<number> {
  await requireErasureLease(kernel, tx)
  const { tenant_id } = tx
  const { certificate_id, requested_us, reasons, despite_holds } = marking
  if (await findDestruction(tx, tenant_id)) return 0
  const held = despite_holds ? 0 : (await loadHeldStores(tx, tx.now())).size
  if (held > 0) throw new Refusal('legal_hold', `${held} stores of the tenant are on legal hold`)
  await insertDestruction(tx, {
    certificate_id,
    requested_us,
    reasons: JSON.stringify(reasons),
  })
  await refuseEntries(tx)
  await endJobs(tx)
  return revokeKeysOfTenant(kernel, tx)
}

interface ClosedTenant {
  readonly tenant_id: string
  readonly plan: TenantPlan
  readonly requested_us: number
  /** Log position of the `tenant.destroyed` entry. */
  readonly log_seq: number
  readonly epoch: Epoch
}

/** Throws if anything is left: only what was observed is certified. */
async function certifyDestruction(
  kernel: Kernel,
  closed: ClosedTenant,
): Promise<TenantCertificate> {
  const { tenant_id, plan, log_seq, epoch } = closed
  const ran_us = kernel.clock.now()
  const paths = await verifyDestruction(kernel, tenant_id)
  const left = paths.find(({ result }) => result === 'present')
  if (left) throw new Error(`the tenant is destroyed, but ${left.path} is still present`)
  const { epoch_number, tree_size, root_hash, checkpoint } = epoch
  const completed_us = kernel.clock.now()
  return signCertificate(kernel, {
    record_kind: TENANT_ERASURE_KIND,
    certificate_id: plan.certificate_id,
    tenant_id,
    counts: { ...plan.counts, log_entries: log_seq + 1 },
    destroyed: Object.fromEntries(paths.map(({ path, result }) => [path, result])),
    verification: { ran_at: formatTime(ran_us), paths },
    last_checkpoint: { epoch_number, tree_size, root_hash, checkpoint },
    remains: REMAINS,
    limits: listLimits(kernel.db.stats().engine),
    legal_basis: plan.legal_basis,
    requested_by: plan.requested_by,
    erasure_requested_at: formatTime(closed.requested_us),
    erasure_completed_at: formatTime(completed_us),
    log_seq,
  })
}

async function verifyDestruction(
  kernel: Kernel,
  tenant_id: string,
): Promise<{ readonly path: string; readonly result: 'destroyed' | 'revoked' | 'present' }[]> {
  const gone = (there: boolean) => (there ? 'present' : 'destroyed')
  const keys = await hasKeys(kernel, tenant_id)
  const remains = await kernel.keyring.hasRemains(tenant_id)
  const live = await kernel.db.read(tenant_id, (db) => countLiveCredentials(db, tenant_id))
  return [
    { path: 'keyring.tenant_key', result: gone(keys) },
    { path: 'keyring.label_salt', result: gone(keys) },
    { path: 'keyring.secrets', result: gone(remains) },
    { path: 'credentials', result: live > 0 ? 'present' : 'revoked' },
  ]
}

async function hasKeys(kernel: Kernel, tenant_id: string): Promise<boolean> {
  try {
    await kernel.keyring.tenant(tenant_id)
    return true
  } catch (error) {
    if (error instanceof KeyringError && error.code === 'tenant_destroyed') return false
    throw error
  }
}

async function signCertificate(
  kernel: Kernel,
  statement: TenantErasureStatement,
): Promise<TenantCertificate> {
  const signer = erasureSigner(kernel)
  const certificate: TenantCertificate = {
    ...statement,
    counts: { ...statement.counts },
    destroyed: { ...statement.destroyed },
    verification: {
      ran_at: statement.verification.ran_at,
      paths: statement.verification.paths.map((path) => ({ ...path })),
    },
    last_checkpoint: { ...statement.last_checkpoint },
    remains: [...statement.remains],
    limits: [...statement.limits],
    signature: signer.sign(tenantErasureBytes(statement)).toString('base64'),
    public_key: signer.public_key.toString('base64'),
    key_id: signer.key_id,
  }
  const verdict = await verifyTenantErasure(certificate, kernel.keyring.publishedKeys())
  assert(verdict.valid, `a new certificate does not verify: ${verdict.reason}`)
  return certificate
}

const REMAINS: readonly string[] = [
  'The log: ids, numbers, times, digests and HMACs whose key is destroyed; store ids as callers ' +
    'chose them.',
  'Certificates of erasures with the reasons given in them, tombstones with ids and numbers.',
  'Signatures of witnesses and timestamps of authorities on checkpoints of the log.',
  'Revoked API keys without their names: hashes, ids, scopes and stores.',
  'Counts of use by month and operation; the name and plan the operator gave the tenant.',
  'This certificate, in the data, in the erasure ledger and its copy.',
]

const HEAPS =
  'Memory of running processes: a text handled shortly before may lie in a heap, swap area or ' +
  'core dump until it is reused; other processes drop keys and indexes within about a second.'
const KEYRING_COPIES =
  'Copies of the keyring made before still hold the keys until they are started with the erasure ' +
  'ledger or deleted, for anyone who has the master key; without them, what is sealed in copies ' +
  'of the data cannot be read.'
const OUTSIDE =
  'Copies made outside the service: exports, answers already given, logs and prompts of callers.'
const ROWS =
  'The rows are unreadable from here on and removed by a job, which this certificate comes before.'
const LABELS =
  'Labels callers chose are not sealed: ids of stores and models, namespaces of memories, and ' +
  'names of API keys given before names were sealed. They are in clear in the rows until that ' +
  'job has ended, and in copies of the data made before (backups, replicas, write-ahead logs) ' +
  'until these are deleted or overwritten.'
const SENT_OUT =
  'What embedding services outside keep of texts that were sent to them is not covered.'
const PG_LOG =
  'The keyring is on PostgreSQL: deleted keys stay in unused pages, the write-ahead log, ' +
  'replicas and backups of the keyring database until these are rewritten or recycled.'

const listLimits = (engine: DatabaseStats['engine']): string[] => [
  HEAPS,
  OUTSIDE,
  KEYRING_COPIES,
  ...(engine === 'postgres' ? [PG_LOG] : []),
  ROWS,
  LABELS,
  SENT_OUT,
]
