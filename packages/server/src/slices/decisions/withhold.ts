// A decision whose record was changed beside the plan that is to be applied to it.
//
// The number that every turn has keeps this from happening, and each plan is compared with the
// records once more before it goes on record. It is for what neither can see: a keyring that was
// put back to an older state beside processes at work. What the two changes removed can no longer
// be told apart, and secrets of either may be gone. So nothing of the text is kept: the decision
// stays, with its identity and what it used, and shows the marker.

import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { SealError } from '../../platform/keys/seal.ts'
import { clearSession, type DecisionRow, findDecision, findLoggedRecord } from './decisions.sql.ts'
import { type DecisionDocument, NO_SECRET, readSealed, sealDocument } from './document.ts'
import { BeingErased, hex, type OpenedDecision, openRows } from './open.ts'
import { type ScrubbedDecision, storeScrubbed } from './plan-scrub.ts'
import { withoutText } from './redact.ts'
import { listUsed } from './scrub.sql.ts'
import { type FieldCount, scrubDocument } from './scrub-document.ts'

interface Diverged {
  /** The facts that the plan takes out. */
  readonly refs: readonly number[]
  readonly decision: ScrubbedDecision
}

/** Whether the decision was changed: not when another process has done it meanwhile. */
export async function withhold(
  kernel: Kernel,
  tenant_id: string,
  { refs, decision }: Diverged,
): Promise<boolean> {
  const { decision_id } = decision
  const find = (db: TenantDb) => findDecision(db, Buffer.from(decision_id, 'hex'))
  const row = await kernel.db.read(tenant_id, find)
  if (!row) return false
  const planned = { ...row, sealed: Buffer.from(decision.sealed, 'base64') }
  const known =
    (await tryOpen(kernel, tenant_id, row)) ??
    (await tryOpen(kernel, tenant_id, planned)) ??
    (await rebuild(kernel, tenant_id, row))
  const revision =
    1 + Math.max(...[row, planned].map((one) => readSealed(one.sealed).head.revision))
  const { sealed, redactions } = await sealWithout(kernel, tenant_id, {
    row,
    known,
    refs,
    revision,
  })
  const stored = await kernel.db.transact(tenant_id, async (tx) => {
    const now = await find(tx)
    if (!now || !Buffer.from(row.sealed).equals(now.sealed)) return false
    await storeScrubbed(tx, { row: now, sealed, refs, redactions })
    await clearSession(tx, row.seq)
    return true
  })
  if (stored) kernel.logger.error('decision.withheld', { tenant_id, decision_id })
  return stored
}

type Known = Pick<OpenedDecision, 'document' | 'head' | 'secrets'>

async function tryOpen(
  kernel: Kernel,
  tenant_id: string,
  row: DecisionRow,
): Promise<Known | undefined> {
  try {
    return (await openRows(kernel, tenant_id, [row]))[0]
  } catch (error) {
    if (error instanceof BeingErased || error instanceof SealError) return undefined
    throw error
  }
}

/** What stands in the clear, on the log and in the keyring: neither record can be opened. */
async function rebuild(kernel: Kernel, tenant_id: string, row: DecisionRow): Promise<Known> {
  const [refs, logged] = await kernel.db.read(tenant_id, async (db) => [
    await listUsed(db, row.seq),
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

interface Withholding {
  readonly row: DecisionRow
  readonly known: Known
  readonly refs: readonly number[]
  readonly revision: number
}

// Without a secret of its own, as a redaction: what is left is nobody's text.
async function sealWithout(
  kernel: Kernel,
  tenant_id: string,
  { row, known, refs, revision }: Withholding,
): Promise<{ sealed: Buffer; redactions: readonly FieldCount[] }> {
  const decision_id = hex(row.decision_id)
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
