// Erases one memory for a request: the same operation behind issue and a store's delete.

import type { Call } from '../../platform/call.ts'
import { inErasureTurn } from '../../platform/erasure-turn.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { type Begun, begin, type EraseRequest } from './begin.ts'
import { erasureSigner, type StoredCertificate } from './certificate.ts'
import { certifyNothing } from './certify-nothing.ts'
import { eraseMarked } from './erase.ts'
import { finishPending } from './finish-pending.ts'
import type { Reasons } from './plan.ts'
import type { Marked } from './plan-facts.ts'

export interface Answer {
  readonly certificate: StoredCertificate
  /** This request (or the first run of its idempotency key) removed a memory. */
  readonly deleted: boolean
  /** Only in the answer of the run that read the content. */
  readonly content_salt: string | null
}

const CHANGES_MAX = 5

/** null when the request reaches no such memory. */
export async function eraseFact(
  call: Pick<Call, 'kernel' | 'tenant_id' | 'once'>,
  request: EraseRequest,
  reasons: Reasons,
): Promise<Answer | null> {
  const { kernel, tenant_id } = call
  erasureSigner(kernel)
  return inErasureTurn(kernel, tenant_id, async () => {
    const requested_us = kernel.clock.now()
    const finished = await finishPending(kernel, tenant_id)
    if (finished.unfinished.has(`fact:${request.ref}`)) throw new UnprovenErasure()
    const { begun, certificate_id } = await beginOnce(call, request)
    const job: EraseJob = { tenant_id, request, reasons, requested_us, certificate_id }
    const answer = await settle(kernel, job, begun)
    if (!answer || !finished.facts.has(request.ref)) return answer
    return { ...answer, deleted: answer.certificate.outcome === 'erased' }
  })
}

/** Goes on from what step 1 found. */
async function settle(
  kernel: Kernel,
  job: EraseJob,
  begun: Begun,
  changes = 0,
): Promise<Answer | null> {
  if (begun.kind === 'out_of_reach') return null
  if (begun.kind === 'marked') return eraseNow(kernel, job, begun.marked)
  if (begun.kind === 'certified') {
    const { certificate } = begun
    const own = certificate.certificate_id === job.certificate_id
    return { certificate, deleted: own && certificate.outcome === 'erased', content_salt: null }
  }
  const certificate = await certifyNothing(kernel, job)
  if (certificate) return { certificate, deleted: false, content_salt: null }
  if (changes === CHANGES_MAX) throw new Error('the ref kept changing while it was looked for')
  // A memory or a decision took the number meanwhile: look again.
  const { tenant_id, request, certificate_id } = job
  const again = await kernel.db.transact(tenant_id, (tx) =>
    begin(kernel, tx, request, certificate_id),
  )
  return settle(kernel, job, again, changes + 1)
}

interface BegunOnce {
  readonly begun: Begun
  readonly certificate_id: string
}

/** Step 1 with the idempotency record: a key used for another body is refused before anything. */
async function beginOnce(
  call: Pick<Call, 'kernel' | 'once'>,
  request: EraseRequest,
): Promise<BegunOnce> {
  const minted = call.kernel.ids.hex(16)
  return call.once({
    run: async (tx) => {
      const begun = await begin(call.kernel, tx, request, minted)
      const ids = { certificate_id: minted, kind: begun.kind }
      return { reply: { begun, certificate_id: minted }, ids }
    },
    replay: async (tx, ids) => {
      const certificate_id = String(ids['certificate_id'])
      // A number without a memory then may have one now: the retry must not reach it.
      if (ids['kind'] === 'out_of_reach') return { begun: { kind: 'out_of_reach' }, certificate_id }
      const begun = await begin(call.kernel, tx, request, certificate_id)
      return { begun, certificate_id }
    },
  })
}

export interface EraseJob {
  readonly tenant_id: string
  readonly request: EraseRequest
  readonly reasons: Reasons
  readonly requested_us: number
  /** Minted for this request, or recorded by the first run of its idempotency key. */
  readonly certificate_id: string
}

async function eraseNow(
  kernel: Kernel,
  { tenant_id, reasons, requested_us }: EraseJob,
  marked: Marked,
): Promise<Answer> {
  const erased = await eraseMarked(kernel, tenant_id, { marked: [marked], reasons, requested_us })
  const certificate = erased.certificates.get(marked.ref)
  if (!certificate) throw new UnprovenErasure()
  const content_salt = erased.known.get(marked.ref)?.salt ?? null
  return { certificate, deleted: marked.outcome === 'erased', content_salt }
}

/** A read path still shows what should be gone: no certificate, an error in the log, a 500. */
export class UnprovenErasure extends Error {
  constructor() {
    super('the erasure could not be verified; it stays requested and is tried again')
    this.name = 'UnprovenErasure'
  }
}
