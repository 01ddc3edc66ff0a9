// Stores a scrub's plan in the erasure ledger, in parts of limited size, and applies it.

import assert from 'node:assert/strict'
import { setImmediate as yieldToOthers } from 'node:timers/promises'
import Type, { type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { toHex } from '../../../platform/bytes.ts'
import { Conflict, retryOnConflict } from '../../../platform/concurrency.ts'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../../platform/kernel/kernel.ts'
import type { LedgerParts } from '../../../platform/keys/keyring.ts'
import { SealError } from '../../../platform/keys/seal.ts'
import {
  clearSession,
  type DecisionRow,
  findDecision,
  findLoggedRecord,
  findRevisions,
  listUsedRefs,
} from '../trail/decisions.sql.ts'
import { type DecisionDocument, NO_SECRET, readSealed, sealDocument } from '../trail/document.ts'
import { isErasureConflict, type OpenedDecision, openRows } from '../trail/open.ts'
import { type FieldCount, scrubDocument } from '../trail/scrub-document.ts'
import {
  applyScrub,
  type PlannedScrub,
  planScrub,
  type ScrubbedDecision,
  type ScrubRequest,
  storeScrubbed,
} from './plan-scrub.ts'
import { withoutText } from './redact-decision.ts'

/** Limits of one part. A document larger than the limits gets a part of its own. */
export const partLimits: (kernel: Kernel) => { bytes_max: number; decisions_max: number } =
  perKernel(() => ({ bytes_max: 4 * 1024 * 1024, decisions_max: 200 }))

const REVISIONS_AT_ONCE = 500
const PLANS_MAX = 3

const ScrubPart = Type.Object({
  version: Type.Literal(1),
  /** The removed memories. */
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
type ScrubPart = Static<typeof ScrubPart>

const parts = Compile(ScrubPart)

/** Parts of a plan, and the documents that it was planned from. */
export interface WrittenScrub extends LedgerParts {
  /** Revision of every decision in the plan, by seq. */
  readonly planned_from: ReadonlyMap<number, number>
}

/**
 * Plans a scrub and durably stores the plan, part by part; returns null if there is nothing to
 * scrub. The parts have no effect until a ledger entry claims them. A failure removes them at once,
 * an interruption at the next start. Call it inside `runErasure`.
 */
export async function writeScrubParts(
  kernel: Kernel,
  tenant_id: string,
  request: ScrubRequest,
): Promise<WrittenScrub | null> {
  const { bytes_max, decisions_max } = partLimits(kernel)
  const parts_id = kernel.ids.hex(16)
  const refs = request.subjects.map(({ ref }) => ref)
  const planned_from = new Map<number, number>()
  let count = 0
  let buffered: PlannedScrub[] = []
  let bytes = 0
  const write = async () => {
    if (buffered.length === 0) return
    const plan = buildPart(refs, buffered)
    const renewals = buffered.flatMap(({ renewal }) => renewal ?? [])
    await kernel.keyring.ledger.addPart({ tenant_id, parts_id, part: count, plan, renewals })
    count += 1
    buffered = []
    bytes = 0
    await kernel.step('scrub:planned')
    await yieldToOthers()
  }
  try {
    for await (const planned of planScrub(kernel, tenant_id, request)) {
      const size = planned.scrubbed.sealed.length
      if (buffered.length === decisions_max || bytes + size > bytes_max) await write()
      buffered.push(planned)
      planned_from.set(planned.scrubbed.decision_seq, planned.planned_from)
      bytes += size
    }
    await write()
  } catch (error) {
    await dropScrubParts(kernel, { parts_id, count })
    throw error
  }
  return count === 0 ? null : { parts_id, count, planned_from }
}

const buildPart = (refs: readonly number[], planned: readonly PlannedScrub[]): ScrubPart => ({
  version: 1,
  refs: [...refs],
  scrubbed: planned.map(({ scrubbed }) => ({
    ...scrubbed,
    used: [...scrubbed.used],
    redactions: scrubbed.redactions.map((done) => ({ ...done })),
  })),
})

/**
 * Whether every decision still has the revision that was planned from. This is the last check
 * before the plan enters the ledger: from then on secrets are destroyed, and a document changed in
 * between would be lost.
 */
async function isCurrent(
  kernel: Kernel,
  tenant_id: string,
  planned_from: ReadonlyMap<number, number>,
): Promise<boolean> {
  const planned = [...planned_from]
  for (let at = 0; at < planned.length; at += REVISIONS_AT_ONCE) {
    const some = planned.slice(at, at + REVISIONS_AT_ONCE)
    const seqs = some.map(([seq]) => seq)
    const now = await kernel.db.read(tenant_id, (db) => findRevisions(db, seqs))
    if (some.some(([seq, revision]) => now.get(seq) !== revision)) return false
  }
  return true
}

interface PlanningSteps<T> {
  readonly plan: () => Promise<T>
  /** Revision of each decision in the plan, by seq. */
  readonly planned_from: (planned: T) => ReadonlyMap<number, number>
  /** Discards the plan. */
  readonly drop: (planned: T) => Promise<void>
}

/** Plans again while records change concurrently; finally refuses `unavailable`. */
export const retryPlanning = <T>(
  kernel: Kernel,
  tenant_id: string,
  { plan, planned_from, drop }: PlanningSteps<T>,
): Promise<T> =>
  retryOnConflict(
    async () => {
      const planned = await plan()
      if (await isCurrent(kernel, tenant_id, planned_from(planned))) return planned
      await drop(planned)
      throw new Conflict('erasure_plan')
    },
    { on: 'erasure_plan', attempts: PLANS_MAX, retry_after_s: 5 },
  )

/** Same as `writeScrubParts`, repeated until no decision changed during planning. */
export const writeCurrentParts = (
  kernel: Kernel,
  tenant_id: string,
  request: ScrubRequest,
): Promise<WrittenScrub | null> =>
  retryPlanning(kernel, tenant_id, {
    plan: () => writeScrubParts(kernel, tenant_id, request),
    planned_from: (written) => written?.planned_from ?? new Map(),
    drop: async (written) => {
      if (written) await dropScrubParts(kernel, written)
    },
  })

/** Discards a plan that no ledger entry has claimed; does nothing to a claimed one. */
export async function dropScrubParts(kernel: Kernel, written: LedgerParts): Promise<void> {
  await kernel.step('scrub:undo')
  await kernel.keyring.ledger.dropParts(written.parts_id)
}

/** Loads a part as it was written. The ledger may come from a copy on disk. */
export async function loadScrubPart(
  kernel: Kernel,
  parts_id: string,
  part: number,
): Promise<ScrubPart> {
  const { plan } = await kernel.keyring.ledger.loadPart(parts_id, part)
  assert(parts.Check(plan), 'a part of a plan is of a version that is not known here')
  return plan
}

export interface Redaction {
  readonly decision_id: string
  readonly field: string
  readonly count: number
}

/**
 * Stores the documents of a claimed plan, one unit of work per part, then destroys the secrets they
 * no longer need. Needs no keys. Safe to run again, also after a stop between parts.
 * @returns ids of the decisions really changed, and what the plan replaces, by the ref that was
 * used, applied now or before
 */
export async function applyScrubParts(
  kernel: Kernel,
  tenant_id: string,
  { parts_id, count }: LedgerParts,
) {
  const changed: string[] = []
  const redactions = new Map<number, Redaction[]>()
  for (let part = 0; part < count; part += 1) {
    const { refs, scrubbed } = await loadScrubPart(kernel, parts_id, part)
    const stored = await kernel.db.transact(tenant_id, (tx) => applyScrub(tx, { refs, scrubbed }))
    changed.push(...stored.changed)
    for (const decision of stored.diverged)
      if (await withholdDecision(kernel, tenant_id, { refs, decision }))
        changed.push(decision.decision_id)
    for (const { decision_id, used, redactions: done } of scrubbed)
      for (const ref of used) {
        const known = redactions.get(ref) ?? []
        redactions.set(ref, known)
        known.push(...done.map((one) => ({ decision_id, ...one })))
      }
    await kernel.step('scrub:applied')
    await yieldToOthers()
  }
  await kernel.keyring.ledger.destroyRenewed(parts_id)
  return { changed, redactions }
}

/** Returns whether the decision was changed; false if another process changed it meanwhile. */
async function withholdDecision(
  kernel: Kernel,
  tenant_id: string,
  { refs, decision }: { refs: readonly number[]; decision: ScrubbedDecision },
): Promise<boolean> {
  const { decision_id } = decision
  const find = (db: TenantDb) => findDecision(db, Buffer.from(decision_id, 'hex'))
  const row = await kernel.db.read(tenant_id, find)
  if (!row) return false
  const planned = { ...row, sealed: Buffer.from(decision.sealed, 'base64') }
  const known =
    (await tryOpenRow(kernel, tenant_id, row)) ??
    (await tryOpenRow(kernel, tenant_id, planned)) ??
    (await rebuildDecision(kernel, tenant_id, row))
  const revision =
    1 + Math.max(...[row, planned].map((one) => readSealed(one.sealed).head.revision))
  const { sealed, redactions } = await sealWithoutText(kernel, tenant_id, {
    row,
    known,
    refs,
    revision,
  })
  const stored = await kernel.db.transact(tenant_id, async (tx) => {
    const now = await find(tx)
    if (!now || !Buffer.from(row.sealed).equals(now.sealed)) return false
    await storeScrubbed(tx, now, { sealed, refs, redactions })
    await clearSession(tx, row.seq)
    return true
  })
  if (stored) kernel.logger.error('decision.withheld', { tenant_id, decision_id })
  return stored
}

type ReadableDecision = Pick<OpenedDecision, 'document' | 'head' | 'secrets'>

async function tryOpenRow(
  kernel: Kernel,
  tenant_id: string,
  row: DecisionRow,
): Promise<ReadableDecision | undefined> {
  try {
    return (await openRows(kernel, tenant_id, [row]))[0]
  } catch (error) {
    if (isErasureConflict(error) || error instanceof SealError) return undefined
    throw error
  }
}

/** Used if neither document opens: takes what is readable in the row, the log and the keyring. */
async function rebuildDecision(
  kernel: Kernel,
  tenant_id: string,
  row: DecisionRow,
): Promise<ReadableDecision> {
  const [refs, logged] = await kernel.db.read(tenant_id, async (db) => [
    await listUsedRefs(db, row.seq),
    await findLoggedRecord(db, row.seq),
  ])
  const signer = kernel.keyring.signer('decision')
  const document: DecisionDocument = {
    query: '',
    output: '',
    session_id: null,
    parameters: null,
    refs,
    contents: [],
    scores: [],
    known: [],
    gone: [],
    scrubbed: refs,
    redactions: [],
    commitment_salt: null,
    record_digest: logged?.payload.record_digest ?? '',
    signature: signer.sign(row.decision_id).toString('base64'),
    public_key: signer.public_key.toString('base64'),
    key_id: signer.key_id,
  }
  return { document, head: { ...readSealed(row.sealed).head, bound: [] }, secrets: [] }
}

// Seals without an own secret, like a redaction, because no text is left.
async function sealWithoutText(
  kernel: Kernel,
  tenant_id: string,
  given: { row: DecisionRow; known: ReadableDecision; refs: readonly number[]; revision: number },
): Promise<{ sealed: Buffer; redactions: readonly FieldCount[] }> {
  const { row, known, refs, revision } = given
  const decision_id = toHex(row.decision_id)
  const keep = known.head.bound.map((ref) => !refs.includes(ref))
  const bound = known.head.bound.filter((_, i) => keep[i])
  const { left, redactions } = withoutText({ ...known, head: { ...known.head, bound } })
  const subjects = refs.map((ref) => ({ ref, content: null }))
  const document = scrubDocument(left, subjects)?.document ?? left
  const keys = await kernel.keyring.tenant(tenant_id)
  const key = keys.decisionKey(
    decision_id,
    known.secrets.filter((_, i) => keep[i]),
  )
  const head = { secret_no: NO_SECRET, revision, bound }
  const sealed = sealDocument({ owner: { tenant_id, decision_id }, head, key }, document)
  return { sealed, redactions }
}
