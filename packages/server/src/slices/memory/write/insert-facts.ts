// Inserts the rows and the log entry of new facts inside a unit of work.

import { Conflict } from '../../../platform/concurrency.ts'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { appendCrumb } from '../../gcrumbs/index.ts'
import { reserveMemories } from '../../tenants/index.ts'
import { enqueueReembed } from '../facts/embeddings.ts'
import { computeCommitmentsRoot } from '../facts/fact-identity.ts'
import { findTombstones, insertFactRows, LIVE } from '../facts/facts.sql.ts'
import { searchedText } from '../facts/item-name.ts'
import type { PreparedFact } from '../facts/prepare-facts.ts'
import { noteSessionFacts } from '../facts/sessions.ts'
import { insertValidities } from '../facts/validity.sql.ts'
import type { IndexedFact } from '../index/partition.ts'
import { storeIndexes } from '../index/store-indexes.ts'
import { insertExpiries } from '../stores/expiries.sql.ts'
import { countCommitted } from '../stores/ingestion.ts'
import { advanceStoreHead, type StoreHead } from '../stores/store-heads.ts'

export interface NewFact {
  readonly fact: PreparedFact
  /** `valid_from_us` is `null` for a fact that is valid from the time of the write. */
  readonly interval: {
    readonly valid_from_us: number | null
    readonly valid_until_us: number | null
  }
}

/** Inserts fact rows at log position `seq`; returns the facts for the index. */
export function insertPreparedFacts(
  tx: Tx,
  store_id: string,
  facts: readonly NewFact[],
  {
    seq,
    now_us,
    predecessor,
  }: { readonly seq: number; readonly now_us: number; readonly predecessor: number | null },
): IndexedFact[] {
  const indexed = facts.map(({ fact, interval }) => {
    const { ref, namespace, token_count, metadata, vector, expires_us = null } = fact
    const content = searchedText(fact)
    const held = { ref, namespace, content, metadata, token_count, vector, expires_us }
    const valid_from_us = interval.valid_from_us ?? now_us
    const { valid_until_us } = interval
    return { ...held, valid_from_us, valid_until_us }
  })
  const rows = facts.map(({ fact: { ref, namespace, token_count, sealed, space_mark } }) => {
    const written = { written_seq: seq, written_us: now_us, sealed_seq: seq }
    return { ref, store_id, namespace, ...written, token_count, state: LIVE, space_mark, sealed }
  })
  const versions = indexed.map(({ ref, valid_from_us, valid_until_us }) => {
    const interval = { from_seq: seq, until_seq: null, valid_from_us, valid_until_us }
    return { store_id, ref, ...interval, predecessor, superseded_by: null }
  })
  tx.gather(insertFactRows, rows)
  tx.gather(insertValidities, versions)
  const expiring = indexed.flatMap(({ ref, expires_us }) =>
    expires_us === null ? [] : [{ ref, store_id, expires_us }],
  )
  tx.gather(insertExpiries, expiring)
  noteSessionFacts(
    tx,
    { store_id, seq, now_us },
    facts.map(({ fact }) => fact),
  )
  return indexed
}

/**
 * Throws a conflict if one of the refs was erased, as a label of decisions, while a fact was
 * prepared under it. The write is then prepared again under another ref.
 */
export async function assertNotErased(tx: Tx, refs: readonly number[]): Promise<void> {
  if ((await findTombstones(tx, refs)).length > 0) throw new Conflict('store')
}

/**
 * Inserts the facts of one request: rows, one log entry, the store's log position, the index.
 * Refuses `quota_exceeded`.
 */
export async function insertFacts(
  kernel: Kernel,
  tx: Tx,
  head: StoreHead,
  facts: readonly NewFact[],
): Promise<{ log_seq: number; written_us: number }> {
  const { store_id } = head
  const refs = facts.map(({ fact }) => fact.ref)
  const reserve = await reserveMemories(kernel, tx, facts.length)
  tx.needs(assertNotErased(tx, refs))
  // A fact has the time of its log entry, so `known_at` with that time finds it on record.
  const { seq, created_us: now_us } = await appendCrumb(tx, {
    event_type: 'memory.written',
    subject: store_id,
    payload: {
      count: refs.length,
      first_ref: Math.min(...refs),
      last_ref: Math.max(...refs),
      commitments_root: computeCommitmentsRoot(facts.map(({ fact }) => fact.commitment)),
    },
  })
  reserve(seq)
  const at = { seq, now_us, predecessor: null }
  const indexed = insertPreparedFacts(tx, store_id, facts, at)
  await advanceStoreHead(tx, store_id, seq)
  if (facts.some(({ fact }) => fact.embed_later)) await enqueueReembed(kernel, tx, store_id)
  const { tenant_id } = tx
  const change = { tenant_id, store_id, from_seq: head.head_seq, to_seq: seq }
  tx.afterCommit(() => storeIndexes(kernel).applyChange({ ...change, facts: indexed, closed: [] }))
  countCommitted(kernel, tx, store_id, facts.length)
  return { log_seq: seq, written_us: now_us }
}
