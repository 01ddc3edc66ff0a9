// The plan of a scrub in the erasure ledger: in parts, so that no row and no unit grows with it.

import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import Type, { type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { type Kernel, perKernel } from '../../platform/kernel.ts'
import type { LedgerParts } from '../../platform/keys/keyring.ts'
import { applyScrub, type PlannedScrub, planScrub, type ScrubWanted } from './plan-scrub.ts'

/** Bounds of one part; a document larger than all of it is a part of its own. */
export const partLimits: (kernel: Kernel) => { bytes_max: number; decisions_max: number } =
  perKernel(() => ({ bytes_max: 4 * 1024 * 1024, decisions_max: 200 }))

const Part = Type.Object({
  version: Type.Literal(1),
  /** The facts that are taken out. */
  refs: Type.Array(Type.Integer()),
  scrubbed: Type.Array(
    Type.Object({
      decision_id: Type.String(),
      decision_seq: Type.Integer(),
      sealed: Type.String(),
      old_secret_no: Type.Union([Type.Integer(), Type.Null()]),
      used: Type.Array(Type.Integer()),
      redactions: Type.Array(Type.Object({ field: Type.String(), count: Type.Integer() })),
    }),
  ),
})
type Part = Static<typeof Part>

const parts = Compile(Part)

/**
 * Plans a scrub and makes the plan durable, part by part; null when there is nothing to scrub.
 * Of no effect until a ledger entry claims it. Nothing of it stays when it fails, nor, from the
 * next start on, when it is cut off. Hold the tenant's erasure turn.
 */
export async function writeScrubParts(
  kernel: Kernel,
  tenant_id: string,
  wanted: ScrubWanted,
): Promise<LedgerParts | null> {
  const { bytes_max, decisions_max } = partLimits(kernel)
  const parts_id = kernel.ids.hex(16)
  const refs = wanted.subjects.map(({ ref }) => ref)
  let count = 0
  let held: PlannedScrub[] = []
  let bytes = 0
  const write = async () => {
    if (held.length === 0) return
    const plan = planOf(refs, held)
    const renewals = held.flatMap(({ renewal }) => renewal ?? [])
    await kernel.keyring.ledger.addPart({ tenant_id, parts_id, part: count, plan, renewals })
    count += 1
    held = []
    bytes = 0
    await kernel.step('scrub:planned')
    await nextTurn()
  }
  try {
    for await (const planned of planScrub(kernel, tenant_id, wanted)) {
      const size = planned.scrubbed.sealed.length
      if (held.length === decisions_max || bytes + size > bytes_max) await write()
      held.push(planned)
      bytes += size
    }
    await write()
  } catch (error) {
    await dropScrubParts(kernel, { parts_id, count })
    throw error
  }
  return count === 0 ? null : { parts_id, count }
}

const planOf = (refs: readonly number[], held: readonly PlannedScrub[]): Part => ({
  version: 1,
  refs: [...refs],
  scrubbed: held.map(({ scrubbed }) => ({
    ...scrubbed,
    used: [...scrubbed.used],
    redactions: scrubbed.redactions.map((done) => ({ ...done })),
  })),
})

/** Takes back a plan that no ledger entry has claimed; does nothing to one that is claimed. */
export async function dropScrubParts(kernel: Kernel, written: LedgerParts): Promise<void> {
  await kernel.step('scrub:undo')
  await kernel.keyring.ledger.dropParts(written.parts_id)
}

/** A part as it was written; the ledger may have come from a copy on disk. */
export async function loadScrubPart(kernel: Kernel, parts_id: string, part: number): Promise<Part> {
  const { plan } = await kernel.keyring.ledger.loadPart(parts_id, part)
  assert(parts.Check(plan), 'a part of a plan is of a version that is not known here')
  return plan
}

export interface Redaction {
  readonly decision_id: string
  readonly field: string
  readonly count: number
}

export interface AppliedScrub {
  /** Decisions really changed. */
  readonly changed: readonly string[]
  /** What the plan replaces, by the ref that was used, applied now or before. */
  readonly redactions: ReadonlyMap<number, readonly Redaction[]>
}

/**
 * Stores the documents of a claimed plan, one unit for each part, then destroys the secrets they
 * no longer need. Needs no key. Safe to run again, and to go on with after a stop between parts.
 */
export async function applyScrubParts(
  kernel: Kernel,
  tenant_id: string,
  { parts_id, count }: LedgerParts,
): Promise<AppliedScrub> {
  const changed: string[] = []
  const redactions = new Map<number, Redaction[]>()
  for (let part = 0; part < count; part += 1) {
    const { refs, scrubbed } = await loadScrubPart(kernel, parts_id, part)
    changed.push(
      ...(await kernel.db.transact(tenant_id, (tx) => applyScrub(tx, { refs, scrubbed }))),
    )
    for (const { decision_id, used, redactions: done } of scrubbed)
      for (const ref of used) {
        const known = redactions.get(ref) ?? []
        redactions.set(ref, known)
        known.push(...done.map((one) => ({ decision_id, ...one })))
      }
    await kernel.step('scrub:applied')
    await nextTurn()
  }
  await kernel.keyring.ledger.destroyRenewed(parts_id)
  return { changed, redactions }
}
