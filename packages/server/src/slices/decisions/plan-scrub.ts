// Removing facts from decisions, in two steps: a plan that needs keys, rows that need none.

import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import {
  type DecisionRow,
  findDecision,
  listBySeqs,
  listUserSeqs,
  unbindUses,
  updateSealed,
} from './decisions.sql.ts'
import { readSealed, sealDocument } from './document.ts'
import { type OpenedDecision, openRows, resolveContents, whenSettled } from './open.ts'
import { findRow } from './reads.ts'
import {
  type FieldCount,
  isScrubbed,
  type ScrubbedDocument,
  type Subject,
  scrubDocument,
} from './scrub-document.ts'

/** A decision without some facts: ciphertext that none of their secrets has a part in. */
export interface ScrubbedDecision {
  readonly decision_id: string
  readonly decision_seq: number
  /** Base64 of the row's new `sealed`. */
  readonly sealed: string
  readonly redactions: readonly FieldCount[]
}

const CHUNK_ROWS = 50

/**
 * Every decision that used a subject and still shows it, sealed again without the subjects'
 * secrets. Changes nothing. Hold the tenant's erasure turn from here until `applyScrub`.
 */
export const planScrub = (
  kernel: Kernel,
  tenant_id: string,
  subjects: readonly Subject[],
): Promise<ScrubbedDecision[]> => planScrubWhere(kernel, tenant_id, { subjects, asked: () => true })

export interface ScrubWanted {
  readonly subjects: readonly Subject[]
  readonly asked: (row: DecisionRow) => boolean
}

export async function planScrubWhere(
  kernel: Kernel,
  tenant_id: string,
  { subjects, asked }: ScrubWanted,
): Promise<ScrubbedDecision[]> {
  const refs = subjects.map(({ ref }) => ref)
  const planned: ScrubbedDecision[] = []
  for await (const chunk of listOpened(kernel, tenant_id, refs)) {
    for (const opened of chunk) {
      if (!asked(opened.row)) continue
      const scrubbed = scrubDocument(opened.document, subjects)
      if (scrubbed) planned.push(await reseal({ kernel, tenant_id, opened }, scrubbed, refs))
    }
  }
  return planned
}

/** Decisions that used any of the refs, opened, oldest first, a chunk at a time. */
export async function* listOpened(
  kernel: Kernel,
  tenant_id: string,
  refs: readonly number[],
): AsyncGenerator<OpenedDecision[]> {
  for (let after_seq = -1; ; ) {
    const page = { after_seq, limit: CHUNK_ROWS }
    const { seqs, opened } = await whenSettled(async () => {
      const found = await kernel.db.read(tenant_id, async (db) => {
        const seqs = await listUserSeqs(db, refs, page)
        return { seqs, rows: seqs.length === 0 ? [] : await listBySeqs(db, seqs) }
      })
      return { seqs: found.seqs, opened: await openRows(kernel, tenant_id, found.rows) }
    })
    if (opened.length > 0) yield opened
    const last = seqs.at(-1)
    if (last === undefined || seqs.length < CHUNK_ROWS) return
    after_seq = last
  }
}

interface Resealing {
  readonly kernel: Kernel
  readonly tenant_id: string
  readonly opened: OpenedDecision
}

async function reseal(
  { kernel, tenant_id, opened }: Resealing,
  { document, redactions }: ScrubbedDocument,
  without: readonly number[],
): Promise<ScrubbedDecision> {
  const { row, decision_id, head, own, secrets } = opened
  const gone = new Set(without)
  const kept = secrets.filter((_, i) => !gone.has(head.bound[i] ?? -1))
  const keys = await kernel.keyring.tenant(tenant_id)
  const sealed = sealDocument(
    {
      owner: { tenant_id, decision_id },
      head: {
        secret_no: head.secret_no,
        revision: head.revision + 1,
        bound: head.bound.filter((ref) => !gone.has(ref)),
      },
      key: keys.decisionKey(decision_id, [...own, ...kept]),
    },
    document,
  )
  return { decision_id, decision_seq: row.seq, sealed: sealed.toString('base64'), redactions }
}

export interface ScrubToApply {
  readonly refs: readonly number[]
  readonly scrubbed: readonly ScrubbedDecision[]
}

/**
 * Stores a plan's documents, with one `decision.scrubbed` on the log for each; the ids really
 * changed. Needs no key, so that it also finishes an erasure whose secret is gone, on this data
 * or on an older copy: rows that are missing, or already as new, are passed over.
 */
export async function applyScrub(tx: Tx, { refs, scrubbed }: ScrubToApply): Promise<string[]> {
  const changed: string[] = []
  for (const decision of scrubbed) {
    const row = await findDecision(tx, Buffer.from(decision.decision_id, 'hex'))
    const sealed = Buffer.from(decision.sealed, 'base64')
    if (!row || !replaces(sealed, row.sealed, refs)) continue
    const { secret_no } = readSealed(sealed).head
    await updateSealed(tx, row.seq, { sealed, secret_no })
    await unbindUses(tx, row.seq, refs)
    const [only] = refs
    await appendCrumb(tx, {
      event_type: 'decision.scrubbed',
      subject: decision.decision_id,
      payload: {
        ref: refs.length === 1 && only !== undefined ? only : null,
        redactions: decision.redactions.reduce((sum, { count }) => sum + count, 0),
      },
    })
    changed.push(decision.decision_id)
  }
  return changed
}

// A newer document stays, unless a secret that is about to go is still part of its key.
function replaces(next: Uint8Array, current: Uint8Array, refs: readonly number[]): boolean {
  const now = readSealed(current).head
  return (
    now.revision < readSealed(next).head.revision || now.bound.some((ref) => refs.includes(ref))
  )
}

/** Those of the decisions whose stored record, opened again, shows nothing of the ref. */
export async function readBackScrubbed(
  kernel: Kernel,
  tenant_id: string,
  decision_ids: readonly string[],
  ref: number,
): Promise<string[]> {
  const shown: string[] = []
  for (const decision_id of decision_ids) {
    const [decision] = await whenSettled(() =>
      kernel.db.read(tenant_id, async (db) => {
        const row = await findRow(db, decision_id)
        const opened = row ? await openRows(kernel, tenant_id, [row]) : []
        return resolveContents(kernel, db, opened)
      }),
    )
    if (!decision || decision.head.bound.includes(ref)) continue
    if (isScrubbed(decision.document, decision.contents, ref)) shown.push(decision_id)
  }
  return shown
}
