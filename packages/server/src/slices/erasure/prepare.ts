// Prepares an erasure: hides the memory, plans its erasure, records the plan in the ledger.
//
// Until the ledger row is durable, any failure leaves everything unchanged. From then on the
// erasure can only be finished.

import { contentHash } from '@custos/proof'
import type { Tx } from '../../platform/db/tenant-db.ts'
import {
  noteInterruption,
  renewFencingNumber,
  requestErasures,
  requireErasureLease,
} from '../../platform/kernel/erasure-queue.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import type { LedgerParts, NewLedgerEntry, SecretRef } from '../../platform/keys/keyring.ts'
import { includesNamespace } from '../../platform/namespace.ts'
import { Refusal } from '../../platform/refusal.ts'
import {
  dropScrubParts,
  refuseHeldUses,
  retryPlanning,
  type WrittenScrub,
  writeScrubParts,
} from '../decisions/index.ts'
import {
  enqueueMissingVectors,
  findExpired,
  findIndexSecrets,
  listDigestsUsing,
  loadFactsForErasure,
  loadSelfTestStores,
  markErasing,
  unmarkErasing,
} from '../memory/index.ts'
import {
  type ErasureReasons,
  parseCertificate,
  SELF_TEST,
  type StoredCertificate,
} from './certificate.ts'
import {
  deleteReservations,
  findCertificate,
  findFactRows,
  findStandingCertificate,
  insertBareTombstone,
  isNamedByDecision,
  RESERVED_SEQ,
} from './erasure.sql.ts'
import type { FactPlan, PendingErasure } from './plan.ts'
import { reportStep } from './plan.ts'

/** A request to erase one memory. */
export interface EraseRequest {
  readonly ref: number
  /** If set, the memory must be in this store. */
  readonly store_id: string | null
  /** Stores of the credential; empty means all stores of the tenant. */
  readonly allowed_stores: readonly string[]
  /** Namespace of the credential; absent means every namespace. */
  readonly namespace?: string | null | undefined
  /** Acts only on a memory that exists, not on decision records or unknown refs. */
  readonly facts_only: boolean
  readonly operation: string
  readonly reasons: ErasureReasons
}

/** A memory that is hidden, or a ref that only decisions name. */
interface MarkedSubject {
  readonly ref: number
  readonly store_id: string | null
  readonly outcome: 'erased' | 'already_absent'
  readonly certificate_id: string
  readonly reasons: ErasureReasons
}

type MarkResult =
  | { readonly kind: 'certified'; readonly certificate: StoredCertificate }
  | { readonly kind: 'marked'; readonly marked: MarkedSubject }
  | { readonly kind: 'nothing' }
  /** The memory is in a store that the request may not use. Callers see an unknown memory. */
  | { readonly kind: 'out_of_reach' }

/**
 * Finds what a ref identifies and hides it, in the caller's unit of work.
 * @param certificate_id new for this request, or recorded by its first run
 */
export async function markSubject(
  kernel: Kernel,
  tx: Tx,
  request: EraseRequest,
  certificate_id: string,
): Promise<MarkResult> {
  // A memory hidden after the loss of the lease would stay hidden without being erased.
  await requireErasureLease(kernel, tx)
  const { ref, reasons } = request
  const own = await findCertificate(tx, certificate_id)
  const certified = own ?? (await findStandingCertificate(tx, 'fact', String(ref)))
  if (certified) {
    const certificate = parseCertificate(certified.record)
    // The namespace of a memory erased by another request is unknown.
    const known = own !== undefined || request.namespace === undefined
    return known && isReachable(request, certificate.store_id)
      ? { kind: 'certified', certificate }
      : { kind: 'out_of_reach' }
  }
  const [row] = await findFactRows(tx, [ref])
  if (row) {
    if (!isReachable(request, row.store_id) || !includesNamespace(request, row.namespace))
      return { kind: 'out_of_reach' }
    // A key limited to a namespace reads memories only: it sees none here, and no hold. Other keys
    // are told of the hold, and may erase the memory before the timer does.
    if (request.namespace !== undefined && (await findExpired(tx, [ref], tx.now())).has(ref))
      return { kind: 'out_of_reach' }
    await markErasing(tx, [ref])
    const { store_id } = row
    return { kind: 'marked', marked: { ref, store_id, outcome: 'erased', certificate_id, reasons } }
  }
  if (request.facts_only || request.allowed_stores.length > 0) return { kind: 'out_of_reach' }
  if (await isNamedByDecision(tx, ref)) {
    await refuseHeldUses(tx, ref, tx.now())
    // From here on no write takes the number, so the search for its uses is complete.
    await insertBareTombstone(tx, { ref, store_id: null, seq: RESERVED_SEQ, us: tx.now() })
    const outcome = 'already_absent'
    return { kind: 'marked', marked: { ref, store_id: null, outcome, certificate_id, reasons } }
  }
  return { kind: 'nothing' }
}

/** A credential limited to stores reaches only subjects in them, and none without a store. */
function isReachable(request: EraseRequest, store_id: string | null): boolean {
  const { allowed_stores, facts_only } = request
  if (store_id === null) return !facts_only && allowed_stores.length === 0
  if (request.store_id !== null && request.store_id !== store_id) return false
  return allowed_stores.length === 0 || allowed_stores.includes(store_id)
}

/** 1 to 500 marked subjects of one tenant. */
export interface ErasureBatch {
  readonly marked: readonly MarkedSubject[]
  readonly requested_us: number
}

/** Erasures whose ledger rows are durable. */
export interface RecordedErasure {
  /** In ledger order. */
  readonly pending: readonly PendingErasure[]
  /**
   * Contents of erased memories: in memory only, until the answer is sent. Empty when a later run
   * finishes the erasure. `salt`: 64 hex characters, shown once, never stored.
   */
  readonly known: ReadonlyMap<number, { readonly content: string; readonly salt: string }>
}

/** Plans a batch and records it in the ledger; if that fails, makes the memories visible again. */
export async function prepareErasure(
  kernel: Kernel,
  tenant_id: string,
  batch: ErasureBatch,
): Promise<RecordedErasure & Pick<FactPlans, 'snapshots'>> {
  let parts: LedgerParts | null = null
  try {
    await reportStep(kernel, 'marked')
    const planned = await retryPlanning(kernel, tenant_id, {
      plan: async () => {
        const plans = await planFacts(kernel, tenant_id, batch)
        parts = plans.parts
        await reportStep(kernel, 'planned')
        return plans
      },
      planned_from: (plans) => plans.parts?.planned_from ?? new Map(),
      drop: async (plans) => {
        if (plans.parts) await dropScrubParts(kernel, plans.parts)
      },
    })
    const pending = await recordPlans(kernel, tenant_id, planned, batch.requested_us)
    return { pending, known: planned.known, snapshots: planned.snapshots }
  } catch (error) {
    await undoErasure(kernel, tenant_id, { marked: batch.marked, parts })
    throw error
  }
}

/** Maximum number of digests per erasure. */
const DIGESTS_MAX = 500

/**
 * Hides digests made from marked memories, so that they are erased first and on the same grounds: a
 * certified memory must not live on in a digest. No digest is made from another digest. Call it
 * until it returns none.
 */
export async function markDigests(
  kernel: Kernel,
  tenant_id: string,
  { marked }: ErasureBatch,
): Promise<MarkedSubject[]> {
  const reasons = new Map(marked.map((subject) => [subject.ref, subject.reasons]))
  const uses = await kernel.db.read(tenant_id, (db) => listDigestsUsing(db, [...reasons.keys()]))
  const due = new Map<number, ErasureReasons>()
  for (const { ref, digest_ref } of uses) {
    const own = reasons.get(ref)
    if (own && !reasons.has(digest_ref) && due.size < DIGESTS_MAX) due.set(digest_ref, own)
  }
  if (due.size === 0) return []
  return kernel.db.transact(tenant_id, async (tx) => {
    await requireErasureLease(kernel, tx)
    const rows = await findFactRows(tx, [...due.keys()])
    await markErasing(
      tx,
      rows.map(({ ref }) => ref),
    )
    return rows.flatMap(({ ref, store_id }) => {
      const reasons = due.get(ref)
      const certificate_id = kernel.ids.hex(16)
      return reasons ? [{ ref, store_id, outcome: 'erased' as const, certificate_id, reasons }] : []
    })
  })
}

export const undoErasure = (
  kernel: Kernel,
  tenant_id: string,
  undone: Parameters<typeof undoMarks>[2],
): Promise<void> =>
  undoMarks(kernel, tenant_id, undone).catch((failure: unknown) => {
    // Recovery undoes the marks after an outage; after a lost lease the new owner of the lease
    // does.
    noteInterruption(kernel, tenant_id, failure)
    if (!(failure instanceof Refusal)) throw failure
    kernel.logger.warn('erasure.not_undone', { tenant_id })
  })

interface FactPlans {
  readonly plans: readonly FactPlan[]
  /** Planned changes to decisions, already durable; `null` if no decision used the memories. */
  readonly parts: WrittenScrub | null
  readonly known: RecordedErasure['known']
  /** Secrets of index snapshots that may hold the memories. */
  readonly snapshots: Awaited<ReturnType<typeof findIndexSecrets>>
}

async function planFacts(
  kernel: Kernel,
  tenant_id: string,
  { marked }: ErasureBatch,
): Promise<FactPlans> {
  const refs = marked.map(({ ref }) => ref)
  const store_ids = [...new Set(marked.flatMap(({ store_id }) => store_id ?? []))]
  const { opened, selfTests, snapshots } = await kernel.db.read(tenant_id, async (db) => ({
    opened: await loadFactsForErasure(kernel, db, refs),
    selfTests: await loadSelfTestStores(db, store_ids),
    snapshots: await findIndexSecrets(db, store_ids),
  }))
  const known = new Map<number, { content: string; salt: string }>()
  for (const ref of refs) {
    const fact = opened.get(ref)
    if (fact) known.set(ref, { content: fact.content, salt: kernel.ids.hex(32) })
  }
  const subjects = refs.map((ref) => ({ ref, content: known.get(ref)?.content ?? null }))
  const parts = await writeScrubParts(kernel, tenant_id, { subjects, erased: true })
  const plans = marked.map(({ ref, store_id, outcome, certificate_id, reasons }): FactPlan => {
    const salted = known.get(ref)
    return {
      version: 2,
      kind: 'fact',
      certificate_id,
      ref,
      store_id,
      outcome,
      fact_content_hash: salted
        ? contentHash(Buffer.from(salted.salt, 'hex'), salted.content)
        : null,
      ...(selfTests.has(store_id ?? '') ? SELF_TEST : reasons),
    }
  })
  return { plans, parts, known, snapshots }
}

async function recordPlans(
  kernel: Kernel,
  tenant_id: string,
  { plans, parts, snapshots }: FactPlans,
  requested_us: number,
): Promise<PendingErasure[]> {
  // Added to each row; a row that is in the ledger already stays unchanged.
  const bySnapshot = snapshots.map(
    ({ secret_no }): SecretRef => ({ kind: 'decision', number: secret_no }),
  )
  const rows = plans.map(
    (plan): NewLedgerEntry => ({
      tenant_id,
      subject_kind: 'fact',
      subject: String(plan.ref),
      store_id: plan.store_id,
      requested_us,
      plan,
      destroys: [{ kind: 'fact', number: plan.ref }, ...bySnapshot],
      parts: parts && { parts_id: parts.parts_id, count: parts.count },
    }),
  )
  const entries = await requestErasures(kernel, tenant_id, rows)
  // Rows recorded earlier keep their own parts. If that is true of all, no row claims these parts.
  if (parts) await kernel.keyring.ledger.dropParts(parts.parts_id)
  const bySubject = new Map(entries.map((entry) => [entry.subject, entry]))
  return plans.flatMap((plan) => {
    const entry = bySubject.get(String(plan.ref))
    return entry ? [{ entry, plan }] : []
  })
}

// A ledger row may be durable although recording it failed. The tenant's next erasure then finishes
// it, and the memory stays hidden until then.
async function undoMarks(
  kernel: Kernel,
  tenant_id: string,
  { marked, parts }: { marked: readonly MarkedSubject[]; parts: LedgerParts | null },
): Promise<void> {
  await kernel.step('erasure:undo')
  if (parts) await kernel.keyring.ledger.dropParts(parts.parts_id)
  await unmarkUnrequested(
    kernel,
    tenant_id,
    marked.map(({ ref }) => ref),
  )
}

/**
 * Makes marked memories visible again unless the ledger has them. Refuses `unavailable` if another
 * process has the lease: a memory shown while that process erases it could be named by a decision
 * that its plan has not seen, and nobody could then open that decision.
 */
export async function unmarkUnrequested(
  kernel: Kernel,
  tenant_id: string,
  refs: readonly number[],
): Promise<void> {
  if (refs.length === 0) return
  await renewFencingNumber(kernel, tenant_id)
  const undone: number[] = []
  for (const ref of refs)
    if (!(await kernel.keyring.ledger.find(tenant_id, 'fact', String(ref)))) undone.push(ref)
  if (undone.length === 0) return
  await kernel.db.transact(tenant_id, async (tx) => {
    await requireErasureLease(kernel, tx)
    await unmarkErasing(tx, undone)
    await enqueueMissingVectors(kernel, tx, undone)
    await deleteReservations(tx, undone)
  })
}
