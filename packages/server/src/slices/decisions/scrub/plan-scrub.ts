// Removing facts from decisions, in two steps: a plan that needs keys, rows that need none.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { toHex } from '../../../platform/bytes.ts'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel.ts'
import type { Renewal } from '../../../platform/keys/keyring.ts'
import { sealRenewed } from '../../../platform/keys/ledger/renewals.ts'
import { recordSecrets } from '../../../platform/record-secrets.ts'
import { appendCrumb } from '../../gcrumbs/index.ts'
import {
  type DecisionRow,
  findDecision,
  listBySeqs,
  listDecisionsUsing,
  listSizes,
  unbindFacts,
  updateSealed,
} from '../trail/decisions.sql.ts'
import { readSealed, sealDocument } from '../trail/document.ts'
import { type OpenedDecision, openRows, retryWhileErasing } from '../trail/open.ts'
import {
  type FieldCount,
  type ScrubbedDocument,
  type ScrubSubject,
  scrubDocument,
} from './scrub-document.ts'

/** A decision without some facts: ciphertext that none of their secrets has a part in. */
export interface ScrubbedDecision {
  readonly decision_id: string
  readonly decision_seq: number
  /** Base64 of the row's new `sealed`. */
  readonly sealed: string
  /** The record secret it no longer needs, to be destroyed; null: it keeps its own. */
  readonly old_secret_no: number | null
  /** Which of the facts it used. */
  readonly used: readonly number[]
  readonly redactions: readonly FieldCount[]
}

export interface PlannedScrub {
  readonly scrubbed: ScrubbedDecision
  /** Revision of the document that it was made from. */
  readonly planned_from: number
  readonly renewal: Renewal | null
}

export interface ScrubRequest {
  readonly subjects: readonly ScrubSubject[]
  /** Their secrets are about to be destroyed. */
  readonly erased: boolean
  /** Which decisions; absent: all that used a subject. */
  readonly asked?: (row: DecisionRow) => boolean
}

const PAGE_ROWS = 50
/** Documents opened at once; one alone may be larger. */
const OPENED_BYTES_MAX = 4 * 1024 * 1024

/**
 * Every decision that used a subject and still shows it, sealed again without the subjects'
 * secrets, one at a time. Changes nothing but the stock of record secrets. Hold the tenant's
 * erasure turn from here until `applyScrub`.
 */
export async function* planScrub(
  kernel: Kernel,
  tenant_id: string,
  wanted: ScrubRequest,
): AsyncGenerator<PlannedScrub> {
  const refs = wanted.subjects.map(({ ref }) => ref)
  for await (const chunk of listOpened(kernel, tenant_id, refs))
    for (const opened of chunk) {
      if (wanted.asked && !wanted.asked(opened.row)) continue
      const scrubbed = scrubDocument(opened.document, wanted.subjects)
      if (scrubbed) yield await reseal({ kernel, tenant_id, opened, wanted }, scrubbed)
    }
}

/** Decisions that used any of the refs, opened, oldest first, a few megabytes at a time. */
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
      // Opening and searching megabytes takes a while: other requests are answered in between.
      await nextTurn()
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

interface ResealInput {
  readonly kernel: Kernel
  readonly tenant_id: string
  readonly opened: OpenedDecision
  readonly wanted: ScrubRequest
}

async function reseal(
  resealing: ResealInput,
  { document, redactions }: ScrubbedDocument,
): Promise<PlannedScrub> {
  const { kernel, tenant_id, opened, wanted } = resealing
  const { row, decision_id, head, secrets } = opened
  const gone = new Set(wanted.subjects.map(({ ref }) => ref))
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
 * A new secret of its own, so that destroying the old one closes every copy of the old text. Where
 * the old text was sealed with a fact whose secret is about to go, that closes them already.
 */
async function renewOwnSecret(
  { kernel, tenant_id, opened: { head, own }, wanted }: ResealInput,
  gone: ReadonlySet<number>,
): Promise<{ own: readonly Buffer[]; renewal: Renewal | null }> {
  const closed = wanted.erased && head.bound.some((ref) => gone.has(ref))
  const [old] = own
  if (closed || !old) return { own, renewal: null }
  const { secret_no, secret } = await recordSecrets(kernel).take(tenant_id)
  const renewed = { tenant_id, number: head.secret_no, renewed_as: secret_no }
  return { own: [secret], renewal: sealRenewed(renewed, old, secret) }
}

export interface ScrubPlan {
  readonly refs: readonly number[]
  readonly scrubbed: readonly ScrubbedDecision[]
}

export interface ScrubResult {
  /** Ids of the decisions really changed. */
  readonly changed: readonly string[]
  /** Not changed: their records are no longer those that the plan was made from. */
  readonly diverged: readonly ScrubbedDecision[]
}

/**
 * Stores a plan's documents, with one `decision.scrubbed` on the log for each. Needs no key, so
 * that it also finishes an erasure whose secret is gone, on this data or on an older copy: rows
 * that are missing, or already as new, are passed over.
 */
export async function applyScrub(tx: Tx, { refs, scrubbed }: ScrubPlan): Promise<ScrubResult> {
  const changed: string[] = []
  const diverged: ScrubbedDecision[] = []
  for (const decision of scrubbed) {
    const row = await findDecision(tx, Buffer.from(decision.decision_id, 'hex'))
    if (!row) continue
    const sealed = Buffer.from(decision.sealed, 'base64')
    const standing = compareRevision(decision, { next: sealed, current: row.sealed, refs })
    if (standing === 'diverged') diverged.push(decision)
    if (standing !== 'older') continue
    const { redactions } = decision
    await storeScrubbed(tx, { row, sealed, refs, redactions })
    changed.push(decision.decision_id)
  }
  return { changed, diverged }
}

export interface RowReplacement {
  readonly row: DecisionRow
  /** Its new document. */
  readonly sealed: Uint8Array
  /** The facts that are no longer in it. */
  readonly refs: readonly number[]
  readonly redactions: readonly FieldCount[]
}

export async function storeScrubbed(
  tx: Tx,
  { row, sealed, refs, redactions }: RowReplacement,
): Promise<void> {
  const { secret_no } = readSealed(sealed).head
  await updateSealed(tx, row.seq, { sealed, secret_no })
  await unbindFacts(tx, row.seq, refs)
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

interface DocumentPair {
  readonly next: Uint8Array
  readonly current: Uint8Array
  readonly refs: readonly number[]
}

/**
 * What the present document is to a plan. `older`: the one the plan was made from, or one before it
 * in data that were restored, which every plan from there on is applied to in its order. `newer`:
 * this plan, or one made from what it left, is in it. `diverged`: it has as many revisions as the
 * plan or more, and yet a secret that this plan destroys is part of its key. Then both were made
 * from one record, without each other's changes: to put either in the other's place would undo an
 * erasure, or leave a record whose key is gone.
 */
function compareRevision(
  { old_secret_no }: ScrubbedDecision,
  { next, current, refs }: DocumentPair,
): 'older' | 'newer' | 'diverged' {
  const now = readSealed(current).head
  if (now.revision < readSealed(next).head.revision) return 'older'
  const needed = now.secret_no === old_secret_no || now.bound.some((ref) => refs.includes(ref))
  return needed ? 'diverged' : 'newer'
}
