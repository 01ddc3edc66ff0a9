// Removes a decision's own text and the secret that seals every copy of the text.

import type { Tx } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { clearSession, findDecision } from '../trail/decisions.sql.ts'
import { type DecisionDocument, NO_SECRET, readSealed, sealDocument } from '../trail/document.ts'
import { type OpenedDecision, openRows, replaceSealed, retryWhileErasing } from '../trail/open.ts'
import { findDecisionRow } from '../trail/reads.ts'
import { MARKER } from '../trail/redact-text.ts'
import type { FieldCount } from '../trail/scrub-document.ts'

export interface PlannedRedaction {
  /** All that storing it needs: no content and no key, so it may outlive both. */
  readonly plan: {
    readonly decision_id: string
    readonly decision_seq: number
    /** Base64 of the new `sealed` value of the row. */
    readonly sealed: string
    /** Record secret to destroy, which makes every copy of the text unreadable. */
    readonly old_secret_no: number
    readonly redactions: readonly FieldCount[]
  }
  /** Revision of the document that the plan was made from. */
  readonly planned_from: number
  readonly store_id: string
  /** query ‖ 0x1F ‖ output before the redaction. Hashed with a salt, never stored. */
  readonly hash_input: string
}

/**
 * Plans the decision with the marker as query and output, without parameters, contents of unbound
 * memories, and the session, whose id may name a person. The result has no secret of its own,
 * because an older keyring that replays the plan would lack a new one. Changes nothing. Returns
 * undefined if there is no such decision. Plan and apply inside one `runErasure`.
 */
export async function planRedaction(
  kernel: Kernel,
  tenant_id: string,
  decision_id: string,
): Promise<PlannedRedaction | undefined> {
  const [opened] = await retryWhileErasing(async () => {
    const row = await kernel.db.read(tenant_id, (db) => findDecisionRow(db, decision_id))
    return row ? openRows(kernel, tenant_id, [row]) : []
  })
  if (!opened) return undefined
  const { row, head, secrets, document } = opened
  const keys = await kernel.keyring.tenant(tenant_id)
  const { left, redactions } = withoutText(opened)
  const sealed = sealDocument(
    {
      owner: { tenant_id, decision_id },
      head: { secret_no: NO_SECRET, revision: head.revision + 1, bound: head.bound },
      key: keys.decisionKey(decision_id, secrets),
    },
    left,
  )
  return {
    plan: {
      decision_id,
      decision_seq: row.seq,
      sealed: sealed.toString('base64'),
      old_secret_no: head.secret_no,
      redactions,
    },
    planned_from: head.revision,
    store_id: row.store_id,
    hash_input: `${document.query}\u001f${document.output}`,
  }
}

export function withoutText({ document, head }: Pick<OpenedDecision, 'document' | 'head'>): {
  left: DecisionDocument
  redactions: FieldCount[]
} {
  const { query, output, parameters, session_id, refs } = document
  const bound = new Set(head.bound)
  const isOwn = (content: string | true, i: number) =>
    typeof content === 'string' && content !== MARKER && !bound.has(refs[i] ?? -1)
  const own = document.contents.filter(isOwn).length
  const redactions = [
    { field: 'query', count: query === MARKER ? 0 : 1 },
    { field: 'output', count: output === MARKER ? 0 : 1 },
    { field: 'parameters', count: parameters === null ? 0 : 1 },
    { field: 'session_id', count: session_id === null ? 0 : 1 },
    { field: 'retrieved_contents', count: own },
  ].filter(({ count }) => count > 0)
  const left = {
    ...document,
    query: MARKER,
    output: MARKER,
    parameters: null,
    session_id: null,
    contents: document.contents.map((content, i) => (isOwn(content, i) ? MARKER : content)),
    commitment_salt: null,
    redactions: [...document.redactions, ...redactions.map((done) => ({ ...done, ref: null }))],
  }
  return { left, redactions }
}

/**
 * Stores a planned redaction; needs no keys. Returns false if the decision is not in these data or
 * is redacted already. The caller, who knows the certificate, appends `decision.redacted` to the
 * log.
 */
export async function applyRedaction(tx: Tx, plan: PlannedRedaction['plan']): Promise<boolean> {
  const row = await findDecision(tx, Buffer.from(plan.decision_id, 'hex'))
  const sealed = Buffer.from(plan.sealed, 'base64')
  if (!row) return false
  const { revision, secret_no } = readSealed(row.sealed).head
  // Keeps a newer document, unless it needs the secret that is to be destroyed.
  const newer = revision >= readSealed(sealed).head.revision
  if (newer && secret_no !== plan.old_secret_no) return false
  await replaceSealed(tx, row, { sealed, secret_no: NO_SECRET })
  await clearSession(tx, row.seq)
  return true
}
