// The rows and the log entry of new facts, inside a unit of work.

import { Conflict } from '../../../platform/concurrency.ts'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel.ts'
import { appendCrumb } from '../../gcrumbs/index.ts'
import { enqueueReembed } from '../facts/embeddings.ts'
import { computeCommitmentsRoot } from '../facts/fact-identity.ts'
import { findTombstones, insertFactRows, LIVE } from '../facts/facts.sql.ts'
import type { PreparedFact } from '../facts/prepare-facts.ts'
import { insertValidities } from '../facts/validity.sql.ts'
import type { IndexedFact } from '../index/partition.ts'
import { storeIndexes } from '../index/store-indexes.ts'
import { countCommitted } from '../stores/ingestion.ts'
import { advanceStoreHead, type StoreHead } from '../stores/store-heads.ts'

export interface ValidityInterval {
  /** Null: from the moment of the write. */
  readonly valid_from_us: number | null
  readonly valid_until_us: number | null
}

export interface NewFact {
  readonly fact: PreparedFact
  readonly interval: ValidityInterval
}

interface WriteMoment {
  readonly seq: number
  readonly now_us: number
  readonly predecessor: number | null
}

/** Inserts rows of facts at log position `seq`; returns them as the index takes them. */
export function insertPreparedFacts(
  tx: Tx,
  store_id: string,
  facts: readonly NewFact[],
  { seq, now_us, predecessor }: WriteMoment,
): IndexedFact[] {
  const fresh = facts.map(({ fact, interval }) => {
    const { ref, namespace, token_count, content, metadata, vector } = fact
    const valid_from_us = interval.valid_from_us ?? now_us
    const { valid_until_us } = interval
    return { ref, namespace, content, metadata, valid_from_us, valid_until_us, token_count, vector }
  })
  const rows = facts.map(({ fact: { ref, namespace, token_count, sealed, space_mark } }) => {
    const written = { written_seq: seq, written_us: now_us, sealed_seq: seq }
    return { ref, store_id, namespace, ...written, token_count, state: LIVE, space_mark, sealed }
  })
  const versions = fresh.map(({ ref, valid_from_us, valid_until_us }) => {
    const on_record = { from_seq: seq, until_seq: null, valid_from_us, valid_until_us }
    return { store_id, ref, ...on_record, predecessor, superseded_by: null }
  })
  tx.needs(insertFactRows(tx, rows))
  tx.needs(insertValidities(tx, versions))
  return fresh
}

/**
 * A number can be erased as a label of decisions while a fact is being prepared under it: such a
 * write is prepared again under another.
 */
export async function assertNotErased(tx: Tx, refs: readonly number[]): Promise<void> {
  if ((await findTombstones(tx, refs)).length > 0) throw new Conflict('store')
}

/** New facts of one request: rows, one log entry, the store's position, the index. */
export async function insertFacts(
  kernel: Kernel,
  tx: Tx,
  head: StoreHead,
  facts: readonly NewFact[],
): Promise<{ log_seq: number }> {
  const { store_id } = head
  const refs = facts.map(({ fact }) => fact.ref)
  tx.needs(assertNotErased(tx, refs))
  // A fact is written when its log entry is: `known_at` its time finds it on record.
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
  const at = { seq, now_us, predecessor: null }
  const fresh = insertPreparedFacts(tx, store_id, facts, at)
  await advanceStoreHead(tx, store_id, seq)
  if (facts.some(({ fact }) => fact.embed_later)) await enqueueReembed(kernel, tx, store_id)
  const { tenant_id } = tx
  const change = { tenant_id, store_id, from_seq: head.head_seq, to_seq: seq }
  tx.afterCommit(() => storeIndexes(kernel).applyChange({ ...change, facts: fresh, closed: [] }))
  countCommitted(kernel, tx, store_id, facts.length)
  return { log_seq: seq }
}
