// DELETE /v1/decisions/scrub/{fact_ref}: replaces a memory by the marker wherever decisions used
// it.
//
// A scrub erases no memory, but destroys secrets: so it goes through the erasure ledger as well.

import type { decisions } from '@custos/contract'
import type { Handler } from '../../../platform/kernel/call.ts'
import { requestErasures, runErasure } from '../../../platform/kernel/erasure-queue.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import type { LedgerEntry } from '../../../platform/keys/keyring.ts'
import { loadLiveFacts } from '../../memory/index.ts'
import { meter } from '../../tenants/index.ts'
import { findDecision } from '../trail/decisions.sql.ts'
import { readSealed } from '../trail/document.ts'
import { isVisible } from '../trail/filter.ts'
import { refuseHeldUses } from './holds.ts'
import type { ScrubRequest } from './plan-scrub.ts'
import { applyScrubParts, dropScrubParts, loadScrubPart, writeCurrentParts } from './scrub-parts.ts'

// The memory itself stays. A repetition finds nothing to replace.
export const scrub: Handler<typeof decisions.scrub> = (call, { params }) => {
  const { kernel, tenant_id, principal } = call
  const { fact_ref } = params
  const { allowed_stores } = principal
  return runErasure(kernel, tenant_id, async () => {
    const facts = await call.read(async (db) => {
      await refuseHeldUses(db, fact_ref, kernel.clock.now(), allowed_stores)
      return loadLiveFacts(kernel, db, [fact_ref])
    })
    const fact = facts.get(fact_ref)
    // Redacting by text of a store the key may not read would tell whether a guess is right.
    const readable = fact && (allowed_stores.length === 0 || allowed_stores.includes(fact.store_id))
    const content = readable ? fact.content : null
    await applyRequestedPlans(kernel, tenant_id)
    const decision_ids = await scrubDecisions(kernel, tenant_id, {
      subjects: [{ ref: fact_ref, content }],
      erased: false,
      filter: (row) => isVisible(principal, row),
    })
    await call.transact(async (tx) => meter(tx, 'decisions.scrub'))
    return { fact_ref, decisions_affected: decision_ids.length, decision_ids: [...decision_ids] }
  })
}

const PAGE = 20

/**
 * Removes the subjects from the requested decisions and destroys the secrets that sealed the old
 * texts. Returns the ids of changed decisions. Call it inside `runErasure`.
 */
export async function scrubDecisions(
  kernel: Kernel,
  tenant_id: string,
  request: ScrubRequest,
): Promise<readonly string[]> {
  const parts = await writeCurrentParts(kernel, tenant_id, request)
  if (!parts) return []
  const { parts_id, count } = parts
  try {
    const [entry] = await requestErasures(kernel, tenant_id, [
      {
        tenant_id,
        subject_kind: 'scrub',
        subject: parts_id,
        store_id: null,
        requested_us: kernel.clock.now(),
        plan: { version: 1, kind: 'scrub' },
        parts: { parts_id, count },
      },
    ])
    if (!entry) throw new Error('the ledger answered no row for a request')
    await kernel.step('scrub:requested')
    return await finishScrub(kernel, entry)
  } catch (error) {
    await dropScrubParts(kernel, parts)
    throw error
  }
}

/** Finishes a scrub from its ledger entry alone; returns the ids changed. Safe to run again. */
export async function finishScrub(
  kernel: Kernel,
  { tenant_id, ledger_id, parts }: LedgerEntry,
): Promise<readonly string[]> {
  const changed = parts ? (await applyScrubParts(kernel, tenant_id, parts)).changed : []
  const completed_us = kernel.clock.now()
  await kernel.keyring.ledger.complete([{ ledger_id, certificate: null, completed_us }])
  return changed
}

/**
 * Applies plans that a failure has left half applied, in their order: a new plan reads what they
 * leave. The next erasure or the next start does the rest of their erasures.
 */
async function applyRequestedPlans(kernel: Kernel, tenant_id: string): Promise<void> {
  const entries = await kernel.keyring.ledger.listRequested()
  for (const entry of entries) {
    if (entry.tenant_id !== tenant_id) continue
    if (entry.subject_kind === 'scrub') await finishScrub(kernel, entry)
    else if (entry.parts) await applyScrubParts(kernel, tenant_id, entry.parts)
  }
}

/**
 * Whether these data are older than a scrub that the ledger has completed: then they contain text
 * whose secrets are destroyed. The newest scrub of a decision that is here answers for all.
 */
export async function lacksScrub(kernel: Kernel, tenant_id: string): Promise<boolean> {
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const page = { before, limit: PAGE }
    const entries = await kernel.keyring.ledger.listNewest(tenant_id, 'scrub', page)
    for (const entry of entries) {
      const lacking = await isScrubMissing(kernel, entry)
      if (lacking !== null) return lacking
      before = entry.ledger_id
    }
    if (entries.length < PAGE) return false
  }
}

/** null: it is not completed, or none of its last decisions is here. */
export async function isScrubMissing(
  kernel: Kernel,
  { tenant_id, parts, state }: LedgerEntry,
): Promise<boolean | null> {
  if (state !== 'completed' || !parts) return null
  const { scrubbed } = await loadScrubPart(kernel, parts.parts_id, parts.count - 1)
  return kernel.db.read(tenant_id, async (db) => {
    for (const { decision_id, sealed } of scrubbed.toReversed()) {
      const row = await findDecision(db, Buffer.from(decision_id, 'hex'))
      if (!row) continue
      const planned = readSealed(Buffer.from(sealed, 'base64')).head
      return readSealed(row.sealed).head.revision < planned.revision
    }
    return null
  })
}
