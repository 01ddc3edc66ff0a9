// Off-boarding after its mark: ledger, keys, log, checkpoint, certificate; each step once.
//
// What was done is read from the data and the ledger, so that it goes on after a crash at any step,
// and on older data that were restored: there the ledger brings the keys to an end at the opening,
// and the certificate back as it was.

import assert from 'node:assert/strict'
import type { Epoch, TenantCertificate } from '@custos/contract'
import { findTenant } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import {
  type DestructionRow,
  endJobs,
  findDestruction,
  insertDestruction,
  listOpenDestructions,
  updateDestruction,
} from '../../platform/db/destructions.sql.ts'
import { findJob } from '../../platform/db/jobs.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import { inErasureTurn, requestInTurn, requireTurn } from '../../platform/erasure-turn.ts'
import type { Kernel } from '../../platform/kernel.ts'
import type { LedgerEntry } from '../../platform/keys/keyring.ts'
import { Refusal } from '../../platform/refusal.ts'
import { appendCrumb, fitsLog, reconcileLog, rollEpoch } from '../gcrumbs/index.ts'
import { dropCached, loadHeldStores } from '../memory/index.ts'
import { revokeKeysOfTenant } from '../tenants/index.ts'
import { certifyDestruction } from './certificate.ts'
import { countRowsOf, listStoreIds } from './counts.sql.ts'
import {
  type DestructionReasons,
  parsePlan,
  parseReasons,
  reportStep,
  type TenantPlan,
} from './plan.ts'
import { TENANT_REMOVE } from './remove-job.ts'

export interface ResumeOptions {
  /** See reconcileLog. */
  readonly generation_floor?: number
}

/** The tenant is marked, and the caller holds its erasure turn. */
export async function continueDestruction(
  kernel: Kernel,
  tenant_id: string,
  { generation_floor }: ResumeOptions = {},
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
  const [entry] = await requestInTurn(kernel, tenant_id, [
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
  assert(row, 'an off-boarding goes on that never began')
  return row
}

// After the mark: nothing is added to it any more.
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

/** What this process holds in memory of its stores; others drop it when they see the mark. */
async function dropMemory(kernel: Kernel, tenant_id: string): Promise<void> {
  for (const store_id of await kernel.db.read(tenant_id, listStoreIds))
    dropCached(kernel, tenant_id, store_id, [])
}

/** The position of the last entry. */
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
    await requireTurn(kernel, tx)
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

interface StoredResult {
  readonly certificate: TenantCertificate
  readonly completed_us: number
}

/** The one that is stored: the first, also where it comes back from the ledger. */
async function storeCertificate(
  kernel: Kernel,
  entry: LedgerEntry,
  closed: Parameters<typeof certifyDestruction>[1] & { epoch: Epoch },
): Promise<StoredResult> {
  const { tenant_id } = closed
  const row = await loadRow(kernel, tenant_id)
  if (row.record !== null && row.destroyed_us !== null)
    // Written below.
    return { certificate: JSON.parse(row.record), completed_us: row.destroyed_us }
  // The ledger keeps what was stored here once, and only that.
  const kept = entry.state === 'completed' ? (entry.certificate as TenantCertificate) : null
  const certificate = kept ?? (await certifyDestruction(kernel, closed))
  const completed_us = entry.completed_us ?? kernel.clock.now()
  await kernel.db.transact(tenant_id, async (tx) => {
    await requireTurn(kernel, tx)
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
 * Goes on with every off-boarding that a stop has cut off, and begins again those that older data
 * know nothing of. Run at the start, after the log's and erasures' own reconciliation, and from
 * time to time: another process may have died at one.
 */
export async function resumeDestructions(
  kernel: Kernel,
  options: ResumeOptions = {},
): Promise<void> {
  await restartRemovals(kernel)
  for (const tenant_id of await listToResume(kernel))
    await inErasureTurn(kernel, tenant_id, () =>
      resumeDestruction(kernel, tenant_id, options),
    ).catch((error: unknown) => {
      const reason = error instanceof Error ? error.name : 'unknown'
      kernel.logger.error('offboarding.not_finished', { tenant_id, reason })
    })
}

/** Where the job that removes the rows was given up. */
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
  return [...due].sort()
}

async function resumeDestruction(
  kernel: Kernel,
  tenant_id: string,
  options: ResumeOptions,
): Promise<void> {
  const { db, keyring } = kernel
  // Data from before the tenant was made, or of which it was never part.
  if (!(await db.read(tenant_id, (one) => findTenant(one, tenant_id)))) return
  const entry = await keyring.ledger.find(tenant_id, 'tenant', tenant_id)
  if (entry) {
    const { certificate_id, legal_basis, requested_by } = parsePlan(entry.plan)
    const reasons = { legal_basis, requested_by }
    const { requested_us } = entry
    const marking = { certificate_id, requested_us, reasons, despite_holds: true }
    await db.transact(tenant_id, (tx) => markDestroyed(kernel, tx, marking))
  }
  await continueDestruction(kernel, tenant_id, options)
}

interface DestructionMark {
  readonly certificate_id: string
  readonly requested_us: number
  readonly reasons: DestructionReasons
  /** On older data that were restored the keys are gone already, whatever is held. */
  readonly despite_holds: boolean
}

/** How many keys were revoked; refuses `legal_hold` while one stands on any store. */
export async function markDestroyed(
  kernel: Kernel,
  tx: Tx,
  marking: DestructionMark,
): Promise<number> {
  await requireTurn(kernel, tx)
  const { tenant_id } = tx
  const { certificate_id, requested_us, reasons, despite_holds } = marking
  if (await findDestruction(tx, tenant_id)) return 0
  const held = despite_holds ? 0 : (await loadHeldStores(tx, tx.now())).size
  if (held > 0) throw new Refusal('legal_hold', `legal holds stand on ${held} stores of the tenant`)
  await insertDestruction(tx, {
    certificate_id,
    requested_us,
    reasons: JSON.stringify(reasons),
  })
  await endJobs(tx)
  return revokeKeysOfTenant(kernel, tx)
}
