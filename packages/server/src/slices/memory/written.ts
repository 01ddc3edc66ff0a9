// Answers to writes, the first time and when a retry asks again.

import type { Written } from '@custos/contract'
import type { ReplayIds } from '../../platform/call.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { openFacts } from './opened-fact.ts'
import type { PreparedFact } from './prepare-facts.ts'

/** What is kept with an idempotency key: numbers, nothing of the content. */
export interface WrittenIds extends ReplayIds {
  readonly ref: number
  readonly duplicate_of: number | null
  readonly log_seq: number
  readonly token_count: number
}

/** What a unit of `once` hands out: rendered after it, since opening a seal needs the keyring. */
export type Outcome<T, I> = { readonly fresh: T } | { readonly again: I }

export const showWritten = (fact: PreparedFact, ids: WrittenIds): Written => ({
  ref: ids.ref,
  content_hash: fact.content_hash,
  status: 'stored',
  duplicate_of: ids.duplicate_of,
  log_seq: ids.log_seq,
  token_count: ids.token_count,
})

/** The same answer from the rows; a memory erased since has no hash any more. */
export async function showWrittenAgain(
  kernel: Kernel,
  tenant_id: string,
  ids: WrittenIds,
): Promise<Written> {
  const { ref, duplicate_of, log_seq, token_count } = ids
  const facts = await kernel.db.read(tenant_id, (db) => openFacts(kernel, db, [ref]))
  const fact = facts.get(ref)
  return {
    ref,
    content_hash: fact?.document.fact_id ?? null,
    status: fact ? 'stored' : 'erased',
    duplicate_of,
    log_seq,
    token_count,
  }
}
