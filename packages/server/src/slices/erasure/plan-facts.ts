// Step 2: plans the erasure of facts while their content can still be read.

import { contentHash } from '@custos/proof'
import type { Kernel } from '../../platform/kernel.ts'
import type { LedgerParts, NewLedgerEntry } from '../../platform/keys/keyring.ts'
import { type WrittenScrub, writeScrubParts } from '../decisions/index.ts'
import { openForErasure } from '../memory/index.ts'
import type { FactPlan, Reasons } from './plan.ts'

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
  /** What happens to decisions, durable already; null: no decision used them. */
  readonly parts: WrittenScrub | null
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
  const parts = await writeScrubParts(kernel, tenant_id, { subjects, erased: true })
  const plans = marked.map((subject): FactPlan => {
    const { ref, store_id, outcome, certificate_id } = subject
    const found = known.get(ref)
    return {
      version: 2,
      kind: 'fact',
      certificate_id,
      ref,
      store_id,
      outcome,
      fact_content_hash: found ? contentHash(Buffer.from(found.salt, 'hex'), found.content) : null,
      ...reasons,
    }
  })
  return { plans, parts, known }
}

/** The ledger row of a plan: the erasure's memory outside the data it erases from. */
export const ledgerRow = (
  tenant_id: string,
  plan: FactPlan,
  { requested_us, parts }: { requested_us: number; parts: LedgerParts | null },
): NewLedgerEntry => ({
  tenant_id,
  subject_kind: 'fact',
  subject: String(plan.ref),
  store_id: plan.store_id,
  requested_us,
  plan,
  destroys: [{ kind: 'fact', number: plan.ref }],
  parts: parts && { parts_id: parts.parts_id, count: parts.count },
})
