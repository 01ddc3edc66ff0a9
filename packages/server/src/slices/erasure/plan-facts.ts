// Step 2: plans the erasure of facts while their content can still be read.

import { contentHash } from '@custos/proof'
import type { Kernel } from '../../platform/kernel.ts'
import type { NewLedgerEntry } from '../../platform/keys/keyring.ts'
import { planScrub, type ScrubbedDecision } from '../decisions/index.ts'
import { openForErasure } from '../memory/index.ts'
import type { FactPlan, Reasons } from './plan.ts'
import { listUses } from './subjects.sql.ts'

/** A subject that step 1 has hidden, or a ref that only decision records name. */
export interface Marked {
  readonly ref: number
  readonly store_id: string | null
  readonly outcome: 'erased' | 'already_absent'
  readonly certificate_id: string
}

/** What is known of an erased fact in memory only, until the answer has left. */
export interface Known {
  readonly content: string
  /** 64 hex characters: shown once, never stored. */
  readonly salt: string
}

export interface FactErasure {
  readonly marked: readonly Marked[]
  readonly reasons: Reasons
  readonly requested_us: number
}

export interface Planned {
  readonly plans: readonly FactPlan[]
  readonly known: ReadonlyMap<number, Known>
}

export async function planFacts(
  kernel: Kernel,
  tenant_id: string,
  { marked, reasons }: FactErasure,
): Promise<Planned> {
  const refs = marked.map(({ ref }) => ref)
  const opened = await kernel.db.read(tenant_id, (db) => openForErasure(kernel, db, refs))
  const known = new Map<number, Known>()
  for (const ref of refs) {
    const fact = opened.get(ref)
    if (fact) known.set(ref, { content: fact.content, salt: kernel.ids.hex(32) })
  }
  const subjects = refs.map((ref) => ({ ref, content: known.get(ref)?.content ?? null }))
  const scrubbed = await planScrub(kernel, tenant_id, subjects)
  const uses = await kernel.db.read(tenant_id, (db) => listUses(db, refs))
  const share = shareOut(scrubbed, uses)
  const plans = marked.map((subject): FactPlan => {
    const { ref, store_id, outcome, certificate_id } = subject
    const found = known.get(ref)
    return {
      version: 1,
      kind: 'fact',
      certificate_id,
      ref,
      store_id,
      outcome,
      fact_content_hash: found ? contentHash(Buffer.from(found.salt, 'hex'), found.content) : null,
      ...share(ref),
      ...reasons,
    }
  })
  return { plans, known }
}

/** The ledger row of a plan: the erasure's memory outside the data it erases from. */
export const ledgerRow = (
  tenant_id: string,
  plan: FactPlan,
  requested_us: number,
): NewLedgerEntry => ({
  tenant_id,
  subject_kind: 'fact',
  subject: String(plan.ref),
  store_id: plan.store_id,
  requested_us,
  plan,
  destroys: [{ kind: 'fact', number: plan.ref }],
})

type Use = { readonly ref: number; readonly decision_id: Uint8Array }

// A decision that used many facts of a batch is sealed once, without any of their secrets, so its
// document is kept once: in the plan of the first of them. All rows of a batch are requested,
// applied and certified together.
function shareOut(scrubbed: readonly ScrubbedDecision[], uses: readonly Use[]) {
  const documents = new Map(scrubbed.map((decision) => [decision.decision_id, decision]))
  const homeless = new Map(documents)
  const usedBy = new Map<number, string[]>()
  for (const { ref, decision_id } of uses) {
    const ids = usedBy.get(ref) ?? []
    ids.push(Buffer.from(decision_id).toString('hex'))
    usedBy.set(ref, ids)
  }
  return (ref: number) => {
    const decision_ids = usedBy.get(ref) ?? []
    const own = decision_ids.flatMap((id) => homeless.get(id) ?? [])
    for (const { decision_id } of own) homeless.delete(decision_id)
    const redactions = decision_ids.flatMap((decision_id) =>
      (documents.get(decision_id)?.redactions ?? []).map((done) => ({ decision_id, ...done })),
    )
    return {
      decision_ids,
      redactions,
      scrubbed: own.map((decision) => ({
        decision_id: decision.decision_id,
        decision_seq: decision.decision_seq,
        sealed: decision.sealed,
        redactions: decision.redactions.map((done) => ({ ...done })),
      })),
    }
  }
}
