// The rows and the log entry of new facts, inside a unit of work.

import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { commitmentsRoot } from './fact-identity.ts'
import { findTombstones, insertFact, LIVE } from './facts.sql.ts'
import { countCommitted } from './ingestion.ts'
import type { PreparedFact } from './prepare-facts.ts'
import { advanceStore, type StoreHead } from './store-heads.ts'
import { type FreshFact, storeIndexes } from './store-indexes.ts'
import { insertValidity } from './validity.sql.ts'
import { StoreChanged } from './write-target.ts'

export interface Interval {
  /** Null: from the moment of the write. */
  readonly valid_from_us: number | null
  readonly valid_until_us: number | null
}

export interface NewFact {
  readonly fact: PreparedFact
  readonly interval: Interval
}

/** Inserts rows of one fact at log position `seq`; returns it as the index takes it. */
export async function insertPrepared(
  tx: Tx,
  store_id: string,
  { fact, interval }: NewFact,
  at: { seq: number; now_us: number; predecessor: number | null },
): Promise<FreshFact> {
  const { ref, namespace, token_count, sealed, content, metadata, vector } = fact
  const valid_from_us = interval.valid_from_us ?? at.now_us
  const { valid_until_us } = interval
  const inserted = insertFact(tx, {
    ref,
    store_id,
    namespace,
    written_seq: at.seq,
    written_us: at.now_us,
    token_count,
    state: LIVE,
    sealed,
  })
  const valid = insertValidity(tx, {
    store_id,
    ref,
    from_seq: at.seq,
    until_seq: null,
    valid_from_us,
    valid_until_us,
    predecessor: at.predecessor,
    superseded_by: null,
  })
  await Promise.all([inserted, valid])
  return { ref, namespace, content, metadata, valid_from_us, valid_until_us, token_count, vector }
}

/**
 * A number can be erased as a label of decisions while a fact is being prepared under it: such a
 * write is prepared again under another.
 */
export async function assertUnerased(tx: Tx, refs: readonly number[]): Promise<void> {
  if ((await findTombstones(tx, refs)).length > 0) throw new StoreChanged()
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
  await assertUnerased(tx, refs)
  // A fact is written when its log entry is: `known_at` its time finds it on record.
  const { seq, created_us: now_us } = await appendCrumb(tx, {
    event_type: 'memory.written',
    subject: store_id,
    payload: {
      count: refs.length,
      first_ref: Math.min(...refs),
      last_ref: Math.max(...refs),
      commitments_root: commitmentsRoot(facts.map(({ fact }) => fact.commitment)),
    },
  })
  // Sent together: on a database across a network they share the way there and back.
  const at = { seq, now_us, predecessor: null }
  const fresh = await Promise.all(facts.map((fact) => insertPrepared(tx, store_id, fact, at)))
  await advanceStore(tx, store_id, seq)
  const { tenant_id } = tx
  const change = { tenant_id, store_id, from_seq: head.head_seq, to_seq: seq }
  tx.afterCommit(() => storeIndexes(kernel).feed({ ...change, facts: fresh, closed: [] }))
  countCommitted(kernel, tx, store_id, facts.length)
  return { log_seq: seq }
}
