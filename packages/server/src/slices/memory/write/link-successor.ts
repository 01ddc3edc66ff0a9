// Links a new version to the open head of a version chain inside a unit of work.

import type { TenantDb, Tx } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { appendCrumb } from '../../gcrumbs/index.ts'
import { reserveMemories } from '../../tenants/index.ts'
import { enqueueReembed } from '../facts/embeddings.ts'
import { computeCommitmentsRoot } from '../facts/fact-identity.ts'
import { ERASING, type FactRow } from '../facts/facts.sql.ts'
import type { PreparedFact } from '../facts/prepare-facts.ts'
import { endDigests } from '../facts/sessions.ts'
import { closeVersion, findCurrentValidity, insertValidity } from '../facts/validity.sql.ts'
import { storeIndexes } from '../index/store-indexes.ts'
import { countCommitted } from '../stores/ingestion.ts'
import { advanceStoreHead, type StoreHead } from '../stores/store-heads.ts'
import { assertNotErased, insertPreparedFacts } from './insert-facts.ts'

/**
 * Maximum number of links followed to find the head of a chain, as the unit of work blocks all
 * other writes.
 */
const LINKS_MAX = 10_000

interface Link {
  readonly head: StoreHead
  readonly old: FactRow
  readonly fact: PreparedFact
  readonly interval: {
    readonly valid_from_us: number | null
    readonly valid_until_us: number | null
  }
}

/**
 * Ends the old version when the new one begins. Refuses `erasing`, `superseded` and
 * `order_inverted`.
 */
export async function linkSuccessor(
  kernel: Kernel,
  tx: Tx,
  { head, old, fact, interval }: Link,
): Promise<{ log_seq: number; written_us: number }> {
  if (old.state === ERASING) throw new Refusal('erasing')
  if (old.superseded_by !== null) return refuseClosed(tx, old)
  const current = await findCurrentValidity(tx, old.ref)
  if (!current) throw new Error('a live fact has a current version')
  const { store_id } = head
  const reserve = await reserveMemories(kernel, tx, 1)
  tx.needs(assertNotErased(tx, [fact.ref]))
  const { seq, created_us: now_us } = await appendCrumb(tx, {
    event_type: 'memory.superseded',
    subject: store_id,
    payload: {
      ref: fact.ref,
      old_ref: old.ref,
      commitments_root: computeCommitmentsRoot([fact.commitment]),
    },
  })
  const valid_from_us = interval.valid_from_us ?? now_us
  if (valid_from_us <= old.valid_from_us) throw new Refusal('order_inverted')

  reserve(seq)
  const at = { seq, now_us, predecessor: old.ref }
  const timed = { valid_from_us, valid_until_us: interval.valid_until_us }
  const indexed = insertPreparedFacts(tx, store_id, [{ fact, interval: timed }], at)
  // An imported version may end before its successor begins; the gap then remains.
  const valid_until_us = Math.min(old.valid_until_us ?? valid_from_us, valid_from_us)
  await closeVersion(tx, current, seq)
  await insertValidity(tx, {
    ...current,
    from_seq: seq,
    until_seq: null,
    valid_until_us,
    superseded_by: fact.ref,
  })
  // Digests made from the old version end with it.
  const stale = head.digest_after_s === null ? [] : await endDigests(tx, [old.ref], seq)
  await advanceStoreHead(tx, store_id, seq)
  if (fact.embed_later) await enqueueReembed(kernel, tx, store_id)
  const change = { tenant_id: tx.tenant_id, store_id, from_seq: head.head_seq, to_seq: seq }
  const closed = [{ ref: old.ref, valid_until_us }, ...stale]
  tx.afterCommit(() => storeIndexes(kernel).applyChange({ ...change, facts: indexed, closed }))
  countCommitted(kernel, tx, store_id, 1)
  return { log_seq: seq, written_us: now_us }
}

async function refuseClosed(tx: Tx, old: FactRow): Promise<never> {
  const head = await findChainHead(tx, old)
  throw new Refusal('superseded', `the current version is ${head}`, { members: { head } })
}

/** Follows the chain to its end. Each link begins later than the last, so there is an end. */
async function findChainHead(db: TenantDb, from: FactRow): Promise<number> {
  let head: Pick<FactRow, 'ref' | 'superseded_by' | 'valid_from_us'> = from
  for (let links = 0; head.superseded_by !== null && links < LINKS_MAX; links += 1) {
    const next = await findCurrentValidity(db, head.superseded_by)
    if (!next || next.valid_from_us <= head.valid_from_us) break
    head = next
  }
  return head.ref
}
