// After a restore: brings the erasures the ledger remembers into data from before them.

import type { Kernel } from '../../platform/kernel.ts'
import type { LedgerEntry } from '../../platform/keys/keyring.ts'
import { isLacking, lacksScrub } from '../decisions/index.ts'
import { forget } from '../memory/index.ts'
import { applyParts, replaceRows } from './apply-plans.ts'
import type { StoredCertificate } from './certificate.ts'
import { countStanding, findStanding } from './certificates.sql.ts'
import { storeFactCertificate } from './certify-facts.ts'
import { applyRedactionPlan, storeRedactionCertificate } from './finish-redaction.ts'
import { type FactPlan, readPlan } from './plan.ts'
import { findTombstones, HELD_SEQ } from './subjects.sql.ts'

const PAGE = 200

/** Whether the ledger has completed erasures or scrubs that the data knows nothing of. */
export async function needsReplay(kernel: Kernel, tenant_id: string): Promise<boolean> {
  const completed = await kernel.keyring.ledger.countCompleted(tenant_id)
  const standing = completed === 0 ? 0 : await kernel.db.read(tenant_id, countStanding)
  return standing < completed || lacksScrub(kernel, tenant_id)
}

/**
 * Applies, in ledger order, every plan from the first one whose effect is missing, and stores the
 * certificates as they were. Documents are written again even where a later one stands: the later
 * plan follows and wins. Safe to run again.
 */
export async function replayLedger(kernel: Kernel, tenant_id: string): Promise<void> {
  let replaying = false
  let after = 0
  let parts_id: string | undefined
  for (;;) {
    const entries = await kernel.keyring.ledger.list(tenant_id, { after, limit: PAGE })
    for (const entry of entries) {
      replaying ||= await isMissing(kernel, tenant_id, entry)
      after = entry.ledger_id
      if (!replaying) continue
      // The rows of a batch share their parts and follow each other.
      if (entry.parts?.parts_id !== parts_id) await applyParts(kernel, tenant_id, [entry])
      parts_id = entry.parts?.parts_id
      await replayEntry(kernel, tenant_id, entry)
    }
    if (entries.length < PAGE) return
  }
}

async function isMissing(kernel: Kernel, tenant_id: string, entry: LedgerEntry): Promise<boolean> {
  const { subject_kind, subject, state } = entry
  // Rows of deleted stores are found by their secrets, once their facts are gone.
  if (subject_kind === 'store' || subject_kind === 'tenant') return false
  if (subject_kind === 'scrub') return (await isLacking(kernel, entry)) === true
  return kernel.db.read(tenant_id, async (db) => {
    if (await findStanding(db, subject_kind, subject)) return false
    if (state === 'completed') return true
    if (subject_kind !== 'fact') return false
    const found = await findTombstones(db, [Number(subject)])
    return found.every(({ erased_seq }) => erased_seq === HELD_SEQ)
  })
}

async function replayEntry(kernel: Kernel, tenant_id: string, entry: LedgerEntry): Promise<void> {
  const { subject_kind, subject } = entry
  // Whoever off-boards the tenant goes on with it.
  if (subject_kind === 'tenant') return
  const plan = readPlan(entry.plan)
  if (plan.kind === 'store' || subject_kind === 'store') return
  if (plan.kind === 'scrub' || subject_kind === 'scrub') return
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
  await replaceRows(kernel, tenant_id, [plan])
  if (plan.store_id !== null) forget(kernel, tenant_id, plan.store_id, [plan.ref])
}
