// DELETE /v1/decisions/scrub/{fact_ref}: a fact becomes the marker wherever decisions used it.

import type { decisions } from '@custos/contract'
import type { Handler } from '../../../platform/call.ts'
import { inErasureTurn, requestInTurn } from '../../../platform/erasure-turn.ts'
import type { Kernel } from '../../../platform/kernel.ts'
import type { LedgerEntry } from '../../../platform/keys/keyring.ts'
import { loadLiveFacts } from '../../memory/index.ts'
import { meter } from '../../tenants/index.ts'
import { findDecision } from '../trail/decisions.sql.ts'
import { readSealed } from '../trail/document.ts'
import { isVisible } from '../trail/filter.ts'
import { refuseHeldUses } from './holds.ts'
import type { ScrubRequest } from './plan-scrub.ts'
import { applyScrubParts, dropScrubParts, loadScrubPart, writeCurrentParts } from './scrub-parts.ts'

// The fact itself stays. Doing it again finds nothing left to replace.
export const scrub: Handler<typeof decisions.scrub> = (call, { params }) => {
  const { kernel, tenant_id, principal } = call
  const { fact_ref } = params
  const { allowed_stores } = principal
  return inErasureTurn(kernel, tenant_id, async () => {
    const facts = await call.read(async (db) => {
      await refuseHeldUses(db, fact_ref, kernel.clock.now(), allowed_stores)
      return loadLiveFacts(kernel, db, [fact_ref])
    })
    const fact = facts.get(fact_ref)
    // Redacting by the words of a store the key may not read would tell whether a guess is right.
    const readable = fact && (allowed_stores.length === 0 || allowed_stores.includes(fact.store_id))
    const content = readable ? fact.content : null
    await applyRequestedPlans(kernel, tenant_id)
    const decision_ids = await scrubDecisions(kernel, tenant_id, {
      subjects: [{ ref: fact_ref, content }],
      erased: false,
      asked: (row) => isVisible(principal, row),
    })
    await call.transact(async (tx) => meter(tx, 'decisions.scrub'))
    return { fact_ref, decisions_affected: decision_ids.length, decision_ids: [...decision_ids] }
  })
}

const PAGE = 20

/**
 * Takes the subjects out of every decision that was asked for and destroys the secrets that the
 * old texts were sealed under; the ids changed. Hold the tenant's erasure turn.
 */
export async function scrubDecisions(
  kernel: Kernel,
  tenant_id: string,
  wanted: ScrubRequest,
): Promise<readonly string[]> {
  const parts = await writeCurrentParts(kernel, tenant_id, wanted)
  if (!parts) return []
  const { parts_id, count } = parts
  try {
    const [entry] = await requestInTurn(kernel, tenant_id, [
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

/** From its ledger entry alone; the ids changed. Safe to run again. */
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
 * Plans that a failure has left half applied, in their order: a new plan is made from what they
 * leave. What else their erasures need is done by the next erasure, or at the next start.
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
 * Whether these data are from before a scrub that the ledger knows as completed: then they hold
 * text whose secrets are destroyed. The newest one of a decision that is here tells for all.
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
