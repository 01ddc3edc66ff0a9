// Erases memories, each with a certificate: erasure.issue, memory.delete, and the same for jobs and
// other operations.
//
// Every erasure runs in this order: finish what an earlier run left (recover.ts), hide the memory
// and record its plan (prepare.ts), destroy its secret and rows (destroy.ts), probe every read path
// and sign the certificate (certify.ts).

import assert from 'node:assert/strict'
import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { erasure, IssuedCertificate, memoryErasure } from '@custos/contract'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../platform/kernel/call.ts'
import {
  noteInterruption,
  requireErasureLease,
  runErasure,
} from '../../platform/kernel/erasure-queue.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { admit } from '../governance/index.ts'
import {
  findStore,
  loadFactStates,
  loadWriteTarget,
  markErasing,
  requireCapability,
} from '../memory/index.ts'
import { meter } from '../tenants/index.ts'
import {
  type ErasureReasons,
  erasureSigner,
  fillReasons,
  type StoredCertificate,
  showCertificate,
} from './certificate.ts'
import { certifyFacts, certifyNothing, UnprovenErasure } from './certify.ts'
import { applyPlans, destroyKeys } from './destroy.ts'
import { findFactRows, findStandingByRef } from './erasure.sql.ts'
import { reportStep } from './plan.ts'
import {
  type EraseRequest,
  type ErasureBatch,
  markDigests,
  markSubject,
  prepareErasure,
  undoErasure,
} from './prepare.ts'
import { finishPendingErasures } from './recover.ts'

export const issue: Handler<(typeof erasure)['issue']> = async (call, { body }) => {
  const request = {
    ref: body.fact_ref,
    store_id: body.store_id ?? null,
    allowed_stores: call.principal.allowed_stores,
    namespace: call.principal.namespace,
    facts_only: false,
    operation: call.operation.id,
    reasons: fillReasons(body),
  }
  const result = await eraseFact(call, request)
  if (result === null) return call.refuse('memory_not_found')
  return showResult(call.kernel, result)
}

export const deleteMemory: Handler<(typeof memoryErasure)['delete']> = async (
  call,
  { params, body },
) => {
  const { ref } = body
  const { store_id } = params
  const { store, states } = await call.read(async (db) => ({
    store: await findStore(db, store_id),
    states: await loadFactStates(db, [ref]),
  }))
  if (store?.state === 'deleting') return call.refuse('store_deleting')
  // `default` has no row before its first write; any other store without a row does not exist.
  if (!store && store_id !== 'default') return call.refuse('store_not_found')
  const { settings } = await loadWriteTarget(call.kernel, call.tenant_id, store_id)
  requireCapability(settings, 'hard_delete', call.operation.id)
  const minted = states.has(ref) ? ['store_id', 'ref'] : ['store_id']
  await admit(call, 'memory.delete', { store_id, ref }, { minted })

  const request = {
    ref,
    store_id,
    allowed_stores: call.principal.allowed_stores,
    namespace: call.principal.namespace,
    facts_only: true,
    operation: call.operation.id,
    reasons: fillReasons(body),
  }
  const result = await eraseFact(call, request)
  if (result === null) return { deleted: false, ref }
  const { deleted, certificate } = result
  return { deleted, erasure_certificate_id: certificate.certificate_id, ref }
}

export interface ErasureResult {
  readonly certificate: StoredCertificate
  /** True if this request (or the first run of its idempotency key) removed a memory. */
  readonly deleted: boolean
  /** Set only in the reply of the run that read the content. */
  readonly content_salt: string | null
}

/** The certificate and the further members of the erasing request's reply. */
export async function showResult(
  kernel: Kernel,
  { certificate, deleted, content_salt }: ErasureResult,
): Promise<IssuedCertificate> {
  return {
    ...(await showCertificate(certificate, kernel.keyring.publishedKeys())),
    deleted,
    memory_deleted: deleted,
    decision_records_scrubbed: certificate.scrubbed_decision_ids.length,
    ...(content_salt === null ? {} : { content_salt }),
  }
}

/** How often a ref may change between unknown and used while its absence is certified. */
const CHANGES_MAX = 5

type EraseCall = Pick<Call, 'kernel' | 'tenant_id' | 'once'>

interface WaitingErasure {
  readonly call: EraseCall
  readonly request: EraseRequest
  resolve(result: ErasureResult | null): void
  reject(error: unknown): void
}

/** Requests waiting for the next group of their tenant, in order of arrival. */
const waitingErasures = perKernel(() => new Map<string, WaitingErasure[]>())

/** Number of the tenant's requests that no group has taken yet. */
export const countWaiting = (kernel: Kernel, tenant_id: string): number =>
  waitingErasures(kernel).get(tenant_id)?.length ?? 0

/** A group of this size delays other writers of the tenant by less than 0.1 s. */
const GROUP_MAX = 64

/**
 * Erases together with the tenant's other waiting requests: a group shares commits and flushes.
 * Returns `null` if the request reaches no such memory.
 */
async function eraseFact(call: EraseCall, request: EraseRequest): Promise<ErasureResult | null> {
  const { kernel, tenant_id } = call
  erasureSigner(kernel)
  return new Promise((resolve, reject) => {
    const erasure = { call, request, resolve, reject }
    const waiting = waitingErasures(kernel).get(tenant_id)
    if (waiting) waiting.push(erasure)
    else {
      waitingErasures(kernel).set(tenant_id, [erasure])
      void runNextGroup(kernel, tenant_id)
    }
  })
}

async function runNextGroup(kernel: Kernel, tenant_id: string): Promise<void> {
  let group: readonly WaitingErasure[] = []
  try {
    await runErasure(kernel, tenant_id, async () => {
      // The group includes everything that arrived in this turn of the event loop.
      await yieldToOthers()
      group = takeGroup(kernel, tenant_id)
      await eraseGroup(kernel, tenant_id, group)
    })
  } catch (error) {
    // Without a lease no group was taken. Requests that have a result keep it.
    if (group.length === 0) group = takeGroup(kernel, tenant_id)
    for (const { reject } of group) reject(error)
  }
}

/** Takes each ref once: a second request for it finds the certificate of the first. */
function takeGroup(kernel: Kernel, tenant_id: string): WaitingErasure[] {
  const group = new Map<number, WaitingErasure>()
  const others: WaitingErasure[] = []
  for (const erasure of waitingErasures(kernel).get(tenant_id) ?? []) {
    const { ref } = erasure.request
    if (group.has(ref) || group.size === GROUP_MAX) others.push(erasure)
    else group.set(ref, erasure)
  }
  if (others.length > 0) {
    waitingErasures(kernel).set(tenant_id, others)
    void runNextGroup(kernel, tenant_id)
  } else waitingErasures(kernel).delete(tenant_id)
  return [...group.values()]
}

/** Answers every request of a group; one failure does not affect the others. */
async function eraseGroup(
  kernel: Kernel,
  tenant_id: string,
  group: readonly WaitingErasure[],
): Promise<void> {
  const requested_us = kernel.clock.now()
  const { facts, unfinished } = await finishPendingErasures(kernel, tenant_id)
  const marks = await Promise.allSettled(
    group.map(async ({ call, request }) => {
      if (unfinished.has(`fact:${request.ref}`)) throw new UnprovenErasure()
      return markOnce(call, request)
    }),
  )
  const marked = marks.flatMap((mark) =>
    mark.status === 'fulfilled' && mark.value.found.kind === 'marked'
      ? mark.value.found.marked
      : [],
  )
  const [together] = await Promise.allSettled([
    marked.length === 0 ? null : eraseMarked(kernel, tenant_id, { marked, requested_us }),
  ])
  for (const [i, { call, request, resolve, reject }] of group.entries()) {
    const mark = marks[i]
    try {
      assert(mark)
      if (mark.status === 'rejected') throw mark.reason
      const alone = marked.length === 1
      const erasing = { mark: mark.value, together, alone, requested_us }
      const result = await finishRequest(call, request, erasing)
      const deleted = result?.certificate.outcome === 'erased'
      resolve(result && facts.has(request.ref) ? { ...result, deleted } : result)
    } catch (error) {
      noteInterruption(kernel, tenant_id, error)
      reject(error)
    }
  }
}

/** @param alone whether no other memory was marked in the group */
async function finishRequest(
  call: EraseCall,
  request: EraseRequest,
  {
    mark,
    together,
    alone,
    requested_us,
  }: {
    readonly mark: Awaited<ReturnType<typeof markOnce>>
    readonly together: PromiseSettledResult<Awaited<ReturnType<typeof eraseMarked>> | null>
    readonly alone: boolean
    readonly requested_us: number
  },
): Promise<ErasureResult | null> {
  const { kernel, tenant_id } = call
  const { ref } = request
  const { certificate_id } = mark
  let { found } = mark
  let batch = found.kind === 'marked' && together.status === 'fulfilled' ? together.value : null
  if (found.kind === 'marked' && together.status === 'rejected') {
    if (alone) throw together.reason
    // Another memory of the group may have caused the failure, so this one is tried alone.
    const { unfinished } = await finishPendingErasures(kernel, tenant_id)
    if (unfinished.has(`fact:${ref}`)) throw new UnprovenErasure()
    found = await markAgain(call, request, certificate_id)
  }
  for (let changes = 0; ; changes += 1) {
    if (found.kind === 'out_of_reach') return null
    if (found.kind === 'certified') {
      const { certificate } = found
      const own = certificate.certificate_id === certificate_id
      return { certificate, deleted: own && certificate.outcome === 'erased', content_salt: null }
    }
    if (found.kind === 'marked') {
      const { marked } = found
      batch ??= await eraseMarked(kernel, tenant_id, { marked: [marked], requested_us })
      const certificate = batch.certificates.get(ref)
      if (!certificate) throw new UnprovenErasure()
      const content_salt = batch.known.get(ref)?.salt ?? null
      return { certificate, deleted: marked.outcome === 'erased', content_salt }
    }
    const { reasons } = request
    const subject = { ref, reasons, requested_us, certificate_id }
    const certificate = await certifyNothing(kernel, tenant_id, subject)
    if (certificate) return { certificate, deleted: false, content_salt: null }
    // A memory or a decision has taken the number meanwhile.
    if (changes === CHANGES_MAX) throw new Error('the ref kept changing while it was certified')
    found = await markAgain(call, request, certificate_id)
  }
}

/** Marks again for a request that has already been counted. */
const markAgain = ({ kernel, tenant_id }: EraseCall, request: EraseRequest, id: string) =>
  kernel.db.transact(tenant_id, (tx) => markSubject(kernel, tx, request, id))

/**
 * Marks with the idempotency record: a key used for another body is refused before anything. The id
 * is minted for this request, or recorded by the first run of its idempotency key.
 */
async function markOnce(
  call: EraseCall,
  request: EraseRequest,
): Promise<{ found: Awaited<ReturnType<typeof markSubject>>; certificate_id: string }> {
  const { kernel } = call
  const minted = kernel.ids.hex(16)
  return call.once({
    run: async (tx) => {
      meter(tx, request.operation)
      const found = await markSubject(kernel, tx, request, minted)
      const ids = { certificate_id: minted, kind: found.kind }
      return { reply: { found, certificate_id: minted }, ids }
    },
    replay: async (tx, ids) => {
      const certificate_id = String(ids['certificate_id'])
      // The number may have a memory by now, which the retry must not reach.
      if (ids['kind'] === 'out_of_reach') return { found: { kind: 'out_of_reach' }, certificate_id }
      meter(tx, request.operation)
      const found = await markSubject(kernel, tx, request, certificate_id)
      return { found, certificate_id }
    },
  })
}

/**
 * Erases 1 to 500 marked subjects of one tenant; digests made from them first. Call it inside
 * `runErasure`. A failure before the ledger rows are durable leaves everything unchanged.
 */
async function eraseMarked(kernel: Kernel, tenant_id: string, batch: ErasureBatch) {
  try {
    for (;;) {
      const marked = await markDigests(kernel, tenant_id, batch)
      if (marked.length === 0) break
      const { requested_us } = batch
      const { unproven } = await eraseBatch(kernel, tenant_id, { marked, requested_us })
      if (unproven.length > 0) throw new UnprovenErasure()
    }
  } catch (error) {
    await undoErasure(kernel, tenant_id, { marked: batch.marked, parts: null })
    throw error
  }
  return eraseBatch(kernel, tenant_id, batch)
}

async function eraseBatch(kernel: Kernel, tenant_id: string, batch: ErasureBatch) {
  const recorded = await prepareErasure(kernel, tenant_id, batch)
  await reportStep(kernel, 'ledger_recorded')

  const refs = batch.marked.map(({ ref }) => ref)
  await destroyKeys(kernel, tenant_id, { refs, snapshots: recorded.snapshots })
  const applied = await applyPlans(kernel, tenant_id, recorded)

  const certified = await certifyFacts(kernel, tenant_id, { ...recorded, ...applied })
  return { ...certified, known: recorded.known }
}

/**
 * Erases 1..500 memories, which the caller has hidden inside its `runErasure`, for a job; the refs
 * of those that could not be proven erased.
 */
export async function eraseMarkedFacts(
  kernel: Kernel,
  tenant_id: string,
  batch: Pick<ErasureBatch, 'requested_us'> & {
    readonly reasons: ErasureReasons
    readonly facts: readonly { readonly ref: number; readonly store_id: string }[]
  },
): Promise<readonly number[]> {
  const { facts, reasons, requested_us } = batch
  const outcome = 'erased' as const
  const marked = facts.map(({ ref, store_id }) => {
    return { ref, store_id, outcome, certificate_id: kernel.ids.hex(16), reasons }
  })
  return (await eraseMarked(kernel, tenant_id, { marked, requested_us })).unproven
}

interface EraseFactsRequest {
  /** At most 500 refs. */
  readonly refs: readonly number[]
  readonly reasons: ErasureReasons
  /** Called in the unit that hides the refs; returns those that are not to be erased. */
  listExempt(tx: Tx, refs: readonly number[]): Promise<ReadonlySet<number>>
}

/**
 * Erases a batch of memories for a job. Safe to run again after any failure: memories erased by
 * then have certificates. A ref that is in no result never was a memory or no longer is one.
 * Refuses `no_signing_key` before it changes anything.
 * @returns by ref the ids of the certificates, also where another request had erased it before; in
 * `unproven` what a read path still shows: no certificate, requested until a later try finds it
 * gone
 */
export async function eraseFacts(
  kernel: Kernel,
  tenant_id: string,
  { refs, reasons, listExempt }: EraseFactsRequest,
) {
  erasureSigner(kernel)
  return runErasure(kernel, tenant_id, async () => {
    const requested_us = kernel.clock.now()
    const { unfinished } = await finishPendingErasures(kernel, tenant_id)
    const unproven = new Set(refs.filter((ref) => unfinished.has(`fact:${ref}`)))
    const fresh = refs.filter((ref) => !unproven.has(ref))
    const { facts, exempt } = await kernel.db.transact(tenant_id, async (tx) => {
      await requireErasureLease(kernel, tx)
      const exempt = await listExempt(tx, fresh)
      const facts = (await findFactRows(tx, fresh)).filter(({ ref }) => !exempt.has(ref))
      await markErasing(
        tx,
        facts.map(({ ref }) => ref),
      )
      return { facts, exempt }
    })
    if (facts.length > 0) {
      const marked = { facts, reasons, requested_us }
      for (const ref of await eraseMarkedFacts(kernel, tenant_id, marked)) unproven.add(ref)
    }
    const certificates = await kernel.db.read(tenant_id, (db) => findStandingByRef(db, refs))
    return { certificates, exempt, unproven }
  })
}

/** Memories erased per batch. */
const LISTED_BATCH = 500

/** What the unit of work lists: refs to erase in this order, and the ids that a retry returns. */
interface ListedErasure {
  readonly refs: readonly number[]
  readonly ids: Readonly<Record<string, unknown>>
}

/**
 * Runs a unit of work and erases what it lists; a retry erases what is left. Refuses
 * `no_signing_key`, `legal_hold`.
 * @returns the ids of the unit, and certificate ids by ref
 */
export async function eraseListed(
  call: Pick<Call, 'kernel' | 'tenant_id' | 'once'>,
  { reasons, list }: { reasons: ErasureReasons; list: (tx: Tx) => Promise<ListedErasure> },
): Promise<{ ids: ListedErasure['ids']; certificates: ReadonlyMap<number, string> }> {
  const { kernel, tenant_id } = call
  erasureSigner(kernel)
  return runErasure(kernel, tenant_id, async () => {
    const requested_us = kernel.clock.now()
    await finishPendingErasures(kernel, tenant_id)
    const hide = async (tx: Tx, { refs, ids }: ListedErasure) => {
      const rows = new Map((await findFactRows(tx, refs)).map((row) => [row.ref, row]))
      await markErasing(tx, [...rows.keys()])
      return { refs, ids, facts: refs.flatMap((ref) => rows.get(ref) ?? []) }
    }
    const { refs, ids, facts } = await call.once({
      async run(tx) {
        await requireErasureLease(kernel, tx)
        const listed = await list(tx)
        const { refs, ids } = listed
        return { reply: await hide(tx, listed), ids: { refs, ids } }
      },
      async replay(tx, stored) {
        await requireErasureLease(kernel, tx)
        const refs = Array.isArray(stored['refs']) ? stored['refs'].map(Number) : []
        return hide(tx, { refs, ids: Object(stored['ids']) })
      },
    })
    for (let at = 0; at < facts.length; at += LISTED_BATCH) {
      const batch = { facts: facts.slice(at, at + LISTED_BATCH), reasons, requested_us }
      if ((await eraseMarkedFacts(kernel, tenant_id, batch)).length > 0) throw new UnprovenErasure()
    }
    const certificates = await kernel.db.read(tenant_id, (db) => findStandingByRef(db, refs))
    return { ids, certificates }
  })
}
