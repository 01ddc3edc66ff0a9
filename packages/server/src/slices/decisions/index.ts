// The decision trail: handlers, scrubbing, legal holds on decisions, and the interface for
// erasures.
//
// A decision of a held store, or one that used a held store's memory, keeps its own text. Check
// this inside `runErasure`: placing a hold is a run of its own, so no hold comes between the check
// and the ledger row, after which a redaction can only be finished.

import type { decisions } from '@custos/contract'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Handler, HandlersOf } from '../../platform/kernel/call.ts'
import { requestErasures, runErasure } from '../../platform/kernel/erasure-queue.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import type { LedgerEntry } from '../../platform/keys/keyring.ts'
import { Refusal } from '../../platform/refusal.ts'
import { listStoresOfFacts, loadHeldStores, loadLiveFacts } from '../memory/index.ts'
import { meter } from '../tenants/index.ts'
import type { ScrubRequest } from './scrub/plan-scrub.ts'
import {
  applyScrubParts,
  dropScrubParts,
  loadScrubPart,
  writeCurrentParts,
} from './scrub/scrub-parts.ts'
import { findDecision, findFactInStores, findUseInStores } from './trail/decisions.sql.ts'
import { readSealed } from './trail/document.ts'
import { log } from './trail/log.ts'
import { exportDecisions, get, isVisible, list, stats } from './trail/reads.ts'
import { replay } from './trail/replay.ts'

const holdRefusal = () =>
  new Refusal(
    'legal_hold',
    'a legal hold is on the store of the decision, or on a store that it used',
  )

/**
 * Refuses `legal_hold` if removing the ref from decisions would remove what a hold keeps: its
 * memory is in a held store, or a decision of a held store shows it.
 * @param reach the only stores whose decisions are changed; empty means every store. A caller that
 * reaches neither the memory nor a decision that used it removes nothing and is not told of a hold.
 */
export async function refuseHeldUses(
  db: TenantDb,
  ref: number,
  at_us: number,
  reach: readonly string[] = [],
): Promise<void> {
  const stores = await loadHeldStores(db, at_us)
  if (stores.size === 0) return
  const within = (store_id: string) => reach.length === 0 || reach.includes(store_id)
  const [store_id] = await listStoresOfFacts(db, [ref])
  if (store_id !== undefined && stores.has(store_id))
    if (within(store_id) || (await findUseInStores(db, ref, reach))) throw holdRefusal()
  const reached = [...stores].filter(within)
  if (reached.length > 0 && (await findUseInStores(db, ref, reached))) throw holdRefusal()
}

/** Refuses `legal_hold` for a decision of a held store, and for one that used a memory of one. */
export async function refuseHeldDecision(
  db: TenantDb,
  decision_id: string,
  at_us: number,
): Promise<void> {
  const stores = await loadHeldStores(db, at_us)
  if (stores.size === 0) return
  const row = await findDecision(db, Buffer.from(decision_id, 'hex'))
  if (!row) return
  if (stores.has(row.store_id) || (await findFactInStores(db, row.seq, [...stores])))
    throw holdRefusal()
}

/**
 * Replaces a memory by the marker in all decisions that used it. Erases no memory but destroys
 * secrets, so it is recorded in the erasure ledger too. A repetition finds nothing to replace.
 */
const scrub: Handler<typeof decisions.scrub> = (call, { params }) => {
  const { kernel, tenant_id, principal } = call
  const { fact_ref } = params
  const { allowed_stores } = principal
  return runErasure(kernel, tenant_id, async () => {
    const facts = await call.read(async (db) => {
      await refuseHeldUses(db, fact_ref, kernel.clock.now(), allowed_stores)
      return loadLiveFacts(kernel, db, [fact_ref])
    })
    const fact = facts.get(fact_ref)
    // Redacting by text that the key may not read would tell whether a guess of it is right.
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

/** Finishes a scrub from its ledger entry alone; returns ids of changed decisions. Idempotent. */
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
 * Applies, in order, plans that a failure left half applied, because a new plan reads their
 * results. The next erasure or the next start finishes the rest of their erasures.
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
 * Whether these data are older than a scrub that the ledger has completed. They then contain text
 * whose secrets are destroyed. It suffices to check the newest scrub of a decision that exists
 * here.
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

/** Returns `null` if the scrub is not completed or none of its last decisions is here. */
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

export { findBoundText, hasRedactedText } from './bound/bound-texts.sql.ts'
export {
  boundTextSource,
  countTextsUsing,
  describeDisclosures,
  destroyTextsUsing,
  isTextStored,
  noteDisclosure,
  openText,
  openTextsOfRun,
  type PreparedText,
  prepareText,
  storeText,
} from './bound/bound-texts.ts'
export { probeDecisions, probeRedaction, readBackScrubbed } from './scrub/probe.ts'
export {
  applyRedaction,
  type PlannedRedaction,
  planRedaction,
} from './scrub/redact-decision.ts'
export {
  applyScrubParts,
  dropScrubParts,
  partLimits,
  type Redaction,
  retryPlanning,
  type WrittenScrub,
  writeScrubParts,
} from './scrub/scrub-parts.ts'
export {
  checkDecisions,
  checkSomeDecisions,
  digestDocuments,
} from './trail/check.ts'
export { type DecisionFilter, listDecisions } from './trail/decisions.sql.ts'
export { logDecision, prepareDecision } from './trail/log.ts'
export { openedDecisions, openRows, ownTexts, retryWhileErasing, textsIn } from './trail/open.ts'
export { showBySeqs } from './trail/reads.ts'
export { findOccurrences, foldText, MARKER, toNfc } from './trail/redact-text.ts'

export const decisionsHandlers = {
  log,
  list,
  stats,
  export: exportDecisions,
  get,
  replay,
  scrub,
} satisfies HandlersOf<typeof decisions>
