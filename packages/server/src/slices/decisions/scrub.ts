// DELETE /v1/decisions/scrub/{fact_ref}: a fact becomes the marker wherever decisions used it.

import type { decisions } from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import { inErasureTurn } from '../../platform/erasure-turn.ts'
import { openFacts } from '../memory/index.ts'
import { meter } from '../tenants/index.ts'
import { refuseHeldUses } from './holds.ts'
import { applyRequested, scrubNow } from './ledger-scrub.ts'
import { isVisible } from './which.ts'

// The fact itself stays. Doing it again finds nothing left to replace.
export const scrub: Handler<typeof decisions.scrub> = (call, { params }) => {
  const { kernel, tenant_id, principal } = call
  const { fact_ref } = params
  const { allowed_stores } = principal
  return inErasureTurn(kernel, tenant_id, async () => {
    const facts = await call.read(async (db) => {
      await refuseHeldUses(db, fact_ref, kernel.clock.now(), allowed_stores)
      return openFacts(kernel, db, [fact_ref])
    })
    const fact = facts.get(fact_ref)
    // Redacting by the words of a store the key may not read would tell whether a guess is right.
    const readable = fact && (allowed_stores.length === 0 || allowed_stores.includes(fact.store_id))
    const content = readable ? fact.content : null
    await applyRequested(kernel, tenant_id)
    const decision_ids = await scrubNow(kernel, tenant_id, {
      subjects: [{ ref: fact_ref, content }],
      erased: false,
      asked: (row) => isVisible(principal, row),
    })
    await call.transact(async (tx) => meter(tx, 'decisions.scrub'))
    return { fact_ref, decisions_affected: decision_ids.length, decision_ids: [...decision_ids] }
  })
}
