// Removing a decision's own text: planned under a new secret, so that the old one can be destroyed.

import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { recordSecrets } from '../../platform/record-secrets.ts'
import { findDecision, updateSealed } from './decisions.sql.ts'
import { type DecisionDocument, readSealed, sealDocument } from './document.ts'
import { openRows, whenSettled } from './open.ts'
import { findRow } from './reads.ts'
import { MARKER } from './redaction.ts'
import type { FieldCount } from './scrub-document.ts'

/** All that storing the redaction needs; no content and no key, so it may outlive both. */
export interface DecisionRedaction {
  readonly decision_id: string
  readonly decision_seq: number
  /** Base64 of the row's new `sealed`. */
  readonly sealed: string
  /** Record secret to destroy: with it goes every copy of the text. */
  readonly old_secret_no: number
  readonly new_secret_no: number
  readonly redactions: readonly FieldCount[]
}

export interface PlannedRedaction {
  readonly plan: DecisionRedaction
  readonly store_id: string
  /** query ‖ 0x1F ‖ output as they were: to be hashed with a salt, never stored. */
  readonly hash_input: string
}

/**
 * The decision with the marker in place of query and output, and without parameters. Changes
 * nothing. undefined: no such decision. Hold the tenant's erasure turn until it is applied.
 */
export async function planRedaction(
  kernel: Kernel,
  tenant_id: string,
  decision_id: string,
): Promise<PlannedRedaction | undefined> {
  const [opened] = await whenSettled(async () => {
    const row = await kernel.db.read(tenant_id, (db) => findRow(db, decision_id))
    return row ? openRows(kernel, tenant_id, [row]) : []
  })
  if (!opened) return undefined
  const { row, head, secrets, document } = opened
  const fresh = await recordSecrets(kernel).take(tenant_id)
  const keys = await kernel.keyring.tenant(tenant_id)
  const redactions = redactionsOf(document)
  const sealed = sealDocument(
    {
      owner: { tenant_id, decision_id },
      head: { secret_no: fresh.secret_no, revision: head.revision + 1, bound: head.bound },
      key: keys.decisionKey(decision_id, [fresh.secret, ...secrets.slice(1)]),
    },
    withoutText(document, redactions),
  )
  return {
    plan: {
      decision_id,
      decision_seq: row.seq,
      sealed: sealed.toString('base64'),
      old_secret_no: head.secret_no,
      new_secret_no: fresh.secret_no,
      redactions,
    },
    store_id: row.store_id,
    hash_input: `${document.query}\u001f${document.output}`,
  }
}

function redactionsOf({ query, output, parameters }: DecisionDocument): FieldCount[] {
  return [
    ...(query === MARKER ? [] : [{ field: 'query', count: 1 }]),
    ...(output === MARKER ? [] : [{ field: 'output', count: 1 }]),
    ...(parameters === null ? [] : [{ field: 'parameters', count: 1 }]),
  ]
}

const withoutText = (
  document: DecisionDocument,
  redactions: readonly FieldCount[],
): DecisionDocument => ({
  ...document,
  query: MARKER,
  output: MARKER,
  parameters: null,
  commitment_salt: null,
  redactions: [...document.redactions, ...redactions.map((done) => ({ ...done, ref: null }))],
})

/**
 * Stores a planned redaction; needs no key. false: the decision is not in these data, or is
 * redacted already. The caller puts `decision.redacted` on the log: it knows the certificate.
 */
export async function applyRedaction(tx: Tx, plan: DecisionRedaction): Promise<boolean> {
  const row = await findDecision(tx, Buffer.from(plan.decision_id, 'hex'))
  const sealed = Buffer.from(plan.sealed, 'base64')
  if (!row) return false
  const { revision, secret_no } = readSealed(row.sealed).head
  // A newer document stays, unless it needs the secret that is about to go.
  const newer = revision >= readSealed(sealed).head.revision
  if (newer && secret_no !== plan.old_secret_no) return false
  await updateSealed(tx, row.seq, { sealed, secret_no: plan.new_secret_no })
  return true
}
