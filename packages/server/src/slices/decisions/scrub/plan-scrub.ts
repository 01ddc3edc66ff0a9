// Removes memories from decisions in two steps: planning needs keys, applying rows needs none.

import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { toHex } from '../../../platform/bytes.ts'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { recordSecrets } from '../../../platform/kernel/record-secrets.ts'
import type { Renewal } from '../../../platform/keys/keyring.ts'
import { sealRenewed } from '../../../platform/keys/ledger/renewals.ts'
import { appendCrumb } from '../../gcrumbs/index.ts'
import {
  clearSession,
  type DecisionRow,
  findDecision,
  listBySeqs,
  listDecisionsUsing,
  listSizes,
  unbindFacts,
} from '../trail/decisions.sql.ts'
import { readSealed, sealDocument } from '../trail/document.ts'
import { type OpenedDecision, openRows, replaceSealed, retryWhileErasing } from '../trail/open.ts'
import { type FieldCount, type ScrubSubject, scrubDocument } from '../trail/scrub-document.ts'

/** A decision after the removal of memories, sealed under a key without their secrets. */
export interface ScrubbedDecision {
  readonly decision_id: string
  readonly decision_seq: number
  /** Base64 of the new `sealed` value of the row. */
  readonly sealed: string
  /** The record secret to destroy; `null` if the decision keeps its secret. */
  readonly old_secret_no: number | null
  /** The removed memories that it used. */
  readonly used: readonly number[]
  readonly redactions: readonly FieldCount[]
}

export interface PlannedScrub {
  readonly scrubbed: ScrubbedDecision
  /** Revision of the document that the plan was made from. */
  readonly planned_from: number
  readonly renewal: Renewal | null
}

export interface ScrubRequest {
  readonly subjects: readonly ScrubSubject[]
  /** Whether the subjects' secrets are about to be destroyed. */
  readonly erased: boolean
  /** Selects decisions; absent means all that used a subject. */
  readonly filter?: (row: DecisionRow) => boolean
}

const PAGE_ROWS = 50
/** Bytes of documents opened at once; a single document may be larger. */
const OPENED_BYTES_MAX = 4 * 1024 * 1024

/**
 * Plans every decision that used a subject and still shows it, sealed again without the subjects'
 * secrets, one at a time. Changes nothing except the supply of record secrets. Plan and apply
 * inside one `runErasure`.
 */
export async function* planScrub(
  kernel: Kernel,
  tenant_id: string,
  request: ScrubRequest,
): AsyncGenerator<PlannedScrub> {
  const refs = request.subjects.map(({ ref }) => ref)
  for await (const chunk of listOpened(kernel, tenant_id, refs))
    for (const opened of chunk) {
      if (request.filter && !request.filter(opened.row)) continue
      const scrubbed = scrubDocument(opened.document, request.subjects)
      if (scrubbed) yield await reseal({ kernel, tenant_id, opened, request }, scrubbed)
    }
}

/** Yields opened decisions that used any of the refs, oldest first, a few megabytes at a time. */
export async function* listOpened(
  kernel: Kernel,
  tenant_id: string,
  refs: readonly number[],
): AsyncGenerator<OpenedDecision[]> {
  for (let after_seq = -1; ; ) {
    const page = { after_seq, limit: PAGE_ROWS }
    const seqs = await kernel.db.read(tenant_id, (db) => listDecisionsUsing(db, refs, page))
    const last = seqs.at(-1)
    if (last === undefined) return
    const sizes = await kernel.db.read(tenant_id, (db) => listSizes(db, seqs))
    for (const few of groupBySize(sizes)) {
      yield await retryWhileErasing(async () =>
        openRows(kernel, tenant_id, await kernel.db.read(tenant_id, (db) => listBySeqs(db, few))),
      )
      // Opening and searching megabytes takes time, so yield to other requests.
      await yieldToOthers()
    }
    if (seqs.length < PAGE_ROWS) return
    after_seq = last
  }
}

function groupBySize(sizes: readonly { seq: number; bytes: number }[]): number[][] {
  const groups: number[][] = []
  let room = 0
  for (const { seq, bytes } of sizes) {
    const group = groups.at(-1)
    if (group && bytes <= room) group.push(seq)
    else {
      groups.push([seq])
      room = OPENED_BYTES_MAX
    }
    room -= bytes
  }
  return groups
}

async function reseal(
  resealing: { kernel: Kernel; tenant_id: string; opened: OpenedDecision; request: ScrubRequest },
  { document, redactions }: NonNullable<ReturnType<typeof scrubDocument>>,
): Promise<PlannedScrub> {
  const { kernel, tenant_id, opened, request } = resealing
  const { row, decision_id, head, secrets } = opened
  const gone = new Set(request.subjects.map(({ ref }) => ref))
  const kept = secrets.filter((_, i) => !gone.has(head.bound[i] ?? -1))
  const { own, renewal } = await renewOwnSecret(resealing, gone)
  const keys = await kernel.keyring.tenant(tenant_id)
  const sealed = sealDocument(
    {
      owner: { tenant_id, decision_id },
      head: {
        secret_no: renewal?.renewed_as ?? head.secret_no,
        revision: head.revision + 1,
        bound: head.bound.filter((ref) => !gone.has(ref)),
      },
      key: keys.decisionKey(decision_id, [...own, ...kept]),
    },
    document,
  )
  const scrubbed = {
    decision_id,
    decision_seq: row.seq,
    sealed: sealed.toString('base64'),
    old_secret_no: renewal?.number ?? null,
    used: [...gone].filter((ref) => document.refs.includes(ref)),
    redactions,
  }
  return { scrubbed, planned_from: head.revision, renewal }
}

/**
 * Gives the decision a new secret, so that destroying the old one makes every copy of the old text
 * unreadable. Not needed if the old text was sealed with a fact's secret that is destroyed anyway.
 */
async function renewOwnSecret(
  { kernel, tenant_id, opened: { head, own }, request }: Parameters<typeof reseal>[0],
  gone: ReadonlySet<number>,
): Promise<{ own: readonly Buffer[]; renewal: Renewal | null }> {
  const closed = request.erased && head.bound.some((ref) => gone.has(ref))
  const [old] = own
  if (closed || !old) return { own, renewal: null }
  const { secret_no, secret } = await recordSecrets(kernel).take(tenant_id)
  const renewed = { tenant_id, number: head.secret_no, renewed_as: secret_no }
  return { own: [secret], renewal: sealRenewed(renewed, old, secret) }
}

/**
 * Stores a plan's documents and appends a `decision.scrubbed` log entry for each. Needs no keys, so
 * it can also finish an erasure whose secret is destroyed, on these data or an older copy: missing
 * rows and rows that are up to date are skipped.
 * @returns ids of the changed decisions, and of those whose documents have diverged from the plan
 */
export async function applyScrub(
  tx: Tx,
  { refs, scrubbed }: { refs: readonly number[]; scrubbed: readonly ScrubbedDecision[] },
) {
  const changed: string[] = []
  const diverged: ScrubbedDecision[] = []
  for (const decision of scrubbed) {
    const row = await findDecision(tx, Buffer.from(decision.decision_id, 'hex'))
    if (!row) continue
    const sealed = Buffer.from(decision.sealed, 'base64')
    const state = compareRevision(decision, { next: sealed, current: row.sealed, refs })
    if (state === 'diverged') diverged.push(decision)
    if (state !== 'older') continue
    const { redactions } = decision
    await storeScrubbed(tx, row, { sealed, refs, redactions })
    changed.push(decision.decision_id)
  }
  return { changed, diverged }
}

/**
 * Replaces the document of a row.
 * @param change.refs the memories that are no longer in it
 */
export async function storeScrubbed(
  tx: Tx,
  row: DecisionRow,
  change: { sealed: Uint8Array; refs: readonly number[]; redactions: readonly FieldCount[] },
): Promise<void> {
  const { sealed, refs, redactions } = change
  const { secret_no } = readSealed(sealed).head
  await replaceSealed(tx, row, { sealed, secret_no })
  await unbindFacts(tx, row.seq, refs)
  // Filtering by the label would confirm a guess of the erased text.
  if (redactions.some(({ field }) => field === 'session_id')) await clearSession(tx, row.seq)
  const [only] = refs
  await appendCrumb(tx, {
    event_type: 'decision.scrubbed',
    subject: toHex(row.decision_id),
    payload: {
      ref: refs.length === 1 && only !== undefined ? only : null,
      redactions: redactions.reduce((sum, { count }) => sum + count, 0),
    },
  })
}

/**
 * How the stored document relates to a plan. `older`: it is the plan's source, or an earlier one in
 * restored data, to which all later plans are applied in order. `newer`: it contains this plan, or
 * a plan that followed it. `diverged`: it has at least as many revisions as the plan, but its key
 * includes a secret that this plan destroys. Both then descend from one document without each
 * other's changes: replacing either by the other would undo an erasure or leave a document without
 * a key.
 */
function compareRevision(
  { old_secret_no }: ScrubbedDecision,
  { next, current, refs }: { next: Uint8Array; current: Uint8Array; refs: readonly number[] },
): 'older' | 'newer' | 'diverged' {
  const now = readSealed(current).head
  if (now.revision < readSealed(next).head.revision) return 'older'
  const needed = now.secret_no === old_secret_no || now.bound.some((ref) => refs.includes(ref))
  return needed ? 'diverged' : 'newer'
}
