// After a restore: brings the erasures the ledger remembers into data from before them.

import type { Kernel } from '../../platform/kernel.ts'
import type { LedgerEntry } from '../../platform/keys/keyring.ts'
import { forget } from '../memory/index.ts'
import { applyPlans, scrub } from './apply-plans.ts'
import type { StoredCertificate } from './certificate.ts'
import { countStanding, findStanding } from './certificates.sql.ts'
import { storeFactCertificate } from './certify-facts.ts'
import { applyRedactionPlan, storeRedactionCertificate } from './finish-redaction.ts'
import { type FactPlan, readPlan } from './plan.ts'
import { findTombstones } from './subjects.sql.ts'

const PAGE = 200

/** Whether the ledger has completed erasures that the data knows nothing of. */
export async function needsReplay(kernel: Kernel, tenant_id: string): Promise<boolean> {
  const completed = await kernel.keyring.ledger.countCompleted(tenant_id)
  if (completed === 0) return false
  return (await kernel.db.read(tenant_id, countStanding)) < completed
}

/**
 * Applies, in ledger order, every plan from the first one whose effect is missing, and stores the
 * certificates as they were. Documents are written again even where a later one stands: the later
 * plan follows and wins. Safe to run again.
 */
export async function replayLedger(kernel: Kernel, tenant_id: string): Promise<void> {
  let replaying = false
  let after = 0
  for (;;) {
    const entries = await kernel.keyring.ledger.list(tenant_id, { after, limit: PAGE })
    for (const entry of entries) {
      replaying ||= await isMissing(kernel, tenant_id, entry)
      if (replaying) await replayEntry(kernel, tenant_id, entry)
      after = entry.ledger_id
    }
    if (entries.length < PAGE) return
  }
}

async function isMissing(
  kernel: Kernel,
  tenant_id: string,
  { subject_kind, subject, state }: LedgerEntry,
): Promise<boolean> {
  // Rows of deleted stores are found by their secrets, once their facts are gone.
  if (subject_kind === 'store') return false
  return kernel.db.read(tenant_id, async (db) => {
    if (await findStanding(db, subject_kind, subject)) return false
    if (state === 'completed') return true
    return subject_kind === 'fact' && (await findTombstones(db, [Number(subject)])).length === 0
  })
}

async function replayEntry(kernel: Kernel, tenant_id: string, entry: LedgerEntry): Promise<void> {
  const plan = readPlan(entry.plan)
  const { subject_kind, subject } = entry
  if (plan.kind === 'store' || subject_kind === 'store') return
  if (plan.kind === 'fact') await replayFact(kernel, tenant_id, plan)
  else await applyRedactionPlan(kernel, tenant_id, plan)
  if (entry.state !== 'completed') return
  // The ledger keeps what certify stored, and only that.
  const certificate = entry.certificate as StoredCertificate
  const completed_us = entry.completed_us ?? kernel.clock.now()
  await kernel.db.transact(tenant_id, async (tx) => {
    if (await findStanding(tx, subject_kind, subject)) return
    if (plan.kind === 'fact') await storeFactCertificate(tx, certificate, completed_us)
    else await storeRedactionCertificate(tx, certificate, completed_us)
  })
}

async function replayFact(kernel: Kernel, tenant_id: string, plan: FactPlan): Promise<void> {
  await applyPlans(kernel, tenant_id, [plan])
  await kernel.db.transact(tenant_id, (tx) => scrub(tx, [plan]))
  if (plan.store_id !== null) forget(kernel, tenant_id, plan.store_id, [plan.ref])
}
