// erasure.issue and memory.delete, and the same for jobs: erases memories, each with a certificate.
//
// Every erasure goes through these files in this order: what an earlier run left is finished
// (recover.ts), the memory is hidden and its plan recorded (prepare.ts), its secret and rows are
// destroyed (destroy.ts), every read path is checked and the certificate signed (certify.ts).

import type { erasure, IssuedCertificate, memoryErasure } from '@custos/contract'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../platform/kernel/call.ts'
import { requireErasureLease, runErasure } from '../../platform/kernel/erasure-queue.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { admit } from '../governance/index.ts'
import {
  findStore,
  loadFactStates,
  loadWriteTarget,
  markErasing,
  requireCapability,
} from '../memory/index.ts'
import {
  type ErasureReasons,
  erasureSigner,
  fillReasons,
  type StoredCertificate,
  showCertificate,
} from './certificate.ts'
import { type CertifiedBatch, certifyFacts, certifyNothing, UnprovenErasure } from './certify.ts'
import { applyPlans, destroyKeys } from './destroy.ts'
import { findFactRows, findStandingByRef } from './erasure.sql.ts'

import {
  type EraseRequest,
  type ErasureBatch,
  markSubject,
  prepareErasure,
  type RecordedErasure,
} from './prepare.ts'
import { finishPendingErasures } from './recover.ts'
import { reportStep } from './steps.ts'

export const issue: Handler<(typeof erasure)['issue']> = async (call, { body }) => {
  const request = {
    ref: body.fact_ref,
    store_id: body.store_id ?? null,
    allowed_stores: call.principal.allowed_stores,
    namespace: call.principal.namespace,
    facts_only: false,
    operation: call.operation.id,
  }
  const result = await eraseFact(call, request, fillReasons(body))
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
  // `default` has no row before its first write; any other store without one does not exist.
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
  }
  const result = await eraseFact(call, request, fillReasons(body))
  if (result === null) return { deleted: false, ref }
  const { deleted, certificate } = result
  return { deleted, erasure_certificate_id: certificate.certificate_id, ref }
}

export interface ErasureResult {
  readonly certificate: StoredCertificate
  /** This request (or the first run of its idempotency key) removed a memory. */
  readonly deleted: boolean
  /** Only in the answer of the run that read the content. */
  readonly content_salt: string | null
}

/** The certificate and what the answer of the erasing request adds beside it. */
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

type EraseCall = Pick<Call, 'kernel' | 'tenant_id' | 'once'>

/** How often a ref may change from unknown to used while its absence is certified. */
const CHANGES_MAX = 5

/** null when the request reaches no such memory. */
async function eraseFact(
  call: EraseCall,
  request: EraseRequest,
  reasons: ErasureReasons,
): Promise<ErasureResult | null> {
  const { kernel, tenant_id } = call
  erasureSigner(kernel)
  return runErasure(kernel, tenant_id, async () => {
    const requested_us = kernel.clock.now()
    const finished = await finishPendingErasures(kernel, tenant_id)
    if (finished.unfinished.has(`fact:${request.ref}`)) throw new UnprovenErasure()
    const result = await eraseNow(call, request, { reasons, requested_us })
    if (!result || !finished.facts.has(request.ref)) return result
    return { ...result, deleted: result.certificate.outcome === 'erased' }
  })
}

async function eraseNow(
  call: EraseCall,
  request: EraseRequest,
  { reasons, requested_us }: Pick<ErasureBatch, 'reasons' | 'requested_us'>,
): Promise<ErasureResult | null> {
  const { kernel, tenant_id } = call
  const { ref } = request
  const first = await markOnce(call, request)
  const { certificate_id } = first
  let { found } = first
  for (let changes = 0; ; changes += 1) {
    if (found.kind === 'out_of_reach') return null
    if (found.kind === 'certified') {
      const { certificate } = found
      const own = certificate.certificate_id === certificate_id
      return { certificate, deleted: own && certificate.outcome === 'erased', content_salt: null }
    }
    if (found.kind === 'marked') {
      const { marked } = found
      const batch = { marked: [marked], reasons, requested_us }
      const erased = await eraseMarked(kernel, tenant_id, batch)
      const certificate = erased.certificates.get(ref)
      if (!certificate) throw new UnprovenErasure()
      const content_salt = erased.known.get(ref)?.salt ?? null
      return { certificate, deleted: marked.outcome === 'erased', content_salt }
    }
    const subject = { ref, reasons, requested_us, certificate_id }
    const certificate = await certifyNothing(kernel, tenant_id, subject)
    if (certificate) return { certificate, deleted: false, content_salt: null }
    // A memory or a decision has taken the number meanwhile.
    if (changes === CHANGES_MAX) throw new Error('the ref kept changing while it was certified')
    found = await kernel.db.transact(tenant_id, (tx) =>
      markSubject(kernel, tx, request, certificate_id),
    )
  }
}

interface FirstMark {
  readonly found: Awaited<ReturnType<typeof markSubject>>
  /** Minted for this request, or recorded by the first run of its idempotency key. */
  readonly certificate_id: string
}

/** Marks with the idempotency record: a key used for another body is refused before anything. */
async function markOnce(call: EraseCall, request: EraseRequest): Promise<FirstMark> {
  const { kernel } = call
  const minted = kernel.ids.hex(16)
  return call.once({
    run: async (tx) => {
      const found = await markSubject(kernel, tx, request, minted)
      const ids = { certificate_id: minted, kind: found.kind }
      return { reply: { found, certificate_id: minted }, ids }
    },
    replay: async (tx, ids) => {
      const certificate_id = String(ids['certificate_id'])
      // A number without a memory then may have one now: the retry must not reach it.
      if (ids['kind'] === 'out_of_reach') return { found: { kind: 'out_of_reach' }, certificate_id }
      const found = await markSubject(kernel, tx, request, certificate_id)
      return { found, certificate_id }
    },
  })
}

type ErasedBatch = CertifiedBatch & Pick<RecordedErasure, 'known'>

/**
 * Erases 1..500 marked subjects of one tenant. Call it inside `runErasure`. A failure before the
 * ledger rows are durable leaves everything as it was.
 */
async function eraseMarked(
  kernel: Kernel,
  tenant_id: string,
  batch: ErasureBatch,
): Promise<ErasedBatch> {
  const recorded = await prepareErasure(kernel, tenant_id, batch)
  await reportStep(kernel, 'ledger_recorded')

  const refs = batch.marked.map(({ ref }) => ref)
  await destroyKeys(kernel, tenant_id, refs)
  const applied = await applyPlans(kernel, tenant_id, recorded)

  const certified = await certifyFacts(kernel, tenant_id, { ...recorded, ...applied })
  return { ...certified, known: recorded.known }
}

interface MarkedFacts extends Pick<ErasureBatch, 'reasons' | 'requested_us'> {
  /** 1..500, hidden by the caller inside its `runErasure`. */
  readonly facts: readonly { readonly ref: number; readonly store_id: string }[]
}

/** Erases marked memories for a job; the refs of those that could not be proven erased. */
export async function eraseMarkedFacts(
  kernel: Kernel,
  tenant_id: string,
  { facts, reasons, requested_us }: MarkedFacts,
): Promise<readonly number[]> {
  const outcome = 'erased' as const
  const marked = facts.map(({ ref, store_id }) => {
    return { ref, store_id, outcome, certificate_id: kernel.ids.hex(16) }
  })
  return (await eraseMarked(kernel, tenant_id, { marked, reasons, requested_us })).unproven
}

interface EraseFactsRequest {
  /** At most 500. */
  readonly refs: readonly number[]
  readonly reasons: ErasureReasons
  /** In the unit that hides them: those of the refs that are not to be erased. */
  listExempt(tx: Tx, refs: readonly number[]): Promise<ReadonlySet<number>>
}

interface EraseFactsResult {
  /** Ids of the certificates, also where another request had erased it before. */
  readonly certificates: ReadonlyMap<number, string>
  readonly exempt: ReadonlySet<number>
  /** A read path still shows them: no certificate, requested until a later try finds them gone. */
  readonly unproven: ReadonlySet<number>
}

/**
 * Erases a batch of memories for a job. Safe to run again after any failure: what is erased by then
 * has a certificate. A ref in none of the answers was no memory, or no longer is one. Refuses
 * `no_signing_key` before anything is done.
 */
export async function eraseFacts(
  kernel: Kernel,
  tenant_id: string,
  { refs, reasons, listExempt }: EraseFactsRequest,
): Promise<EraseFactsResult> {
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
