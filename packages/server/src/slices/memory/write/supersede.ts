// POST /v1/stores/{store_id}/supersede: compare-and-set on the open head of a version chain; and
// how every writer links a new version to that head inside a unit of work.

import type { memory, SupersedeReply } from '@custos/contract'
import { Conflict } from '../../../platform/concurrency.ts'
import type { TenantDb, Tx } from '../../../platform/db/tenant-db.ts'
import type { Call, Handler, IdempotentUnit } from '../../../platform/kernel/call.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { parseNamespace } from '../../../platform/namespace.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { appendCrumb } from '../../gcrumbs/index.ts'
import { meter, reserveMemories } from '../../tenants/index.ts'
import { enqueueReembed } from '../facts/embeddings.ts'
import { computeCommitmentsRoot } from '../facts/fact-identity.ts'
import { ERASING, type FactRow, findFact } from '../facts/facts.sql.ts'
import { findItemRefs } from '../facts/items.sql.ts'
import { prepareFacts } from '../facts/prepare-facts.ts'
import { listDigestsAmong } from '../facts/session-digests.sql.ts'
import { endDigests } from '../facts/sessions.ts'
import { closeVersion, findCurrentValidity, insertValidity } from '../facts/validity.sql.ts'
import { storeIndexes } from '../index/store-indexes.ts'
import { findExpired } from '../stores/expiries.sql.ts'
import { countCommitted, countPending } from '../stores/ingestion.ts'
import { advanceStoreHead, type StoreHead } from '../stores/store-heads.ts'
import { requireCapability } from '../stores/store-settings.ts'
import { loadTargetHead, loadWriteTarget, retryOnStoreConflict } from '../stores/write-target.ts'
import { findDuplicates, withoutHidden } from './duplicates.ts'
import { assertNotErased, insertFacts, insertPreparedFacts, type NewFact } from './insert-facts.ts'
import {
  gateWrites,
  mergeWriteOptions,
  parseWrite,
  showReplayedWrite,
  showWriteReply,
  type WriteReplayIds,
} from './write.ts'

interface SupersedeReplayIds extends WriteReplayIds {
  /** Whether `old_ref` is a fact of the store and namespace. */
  readonly known: boolean
}

export const supersede: Handler<typeof memory.supersede> = async (
  call,
  { params, query, body },
) => {
  await loadWriteTarget(call.kernel, call.tenant_id, params.store_id)
  const [admitted = body] = await gateWrites(call, params.store_id, [body])
  return supersedeAdmitted(call, { params, query, body: admitted })
}

const supersedeAdmitted: Handler<typeof memory.supersede> = (call, { params, body }) =>
  retryOnStoreConflict(async () => {
    const { kernel, tenant_id, operation } = call
    const target = await loadWriteTarget(kernel, tenant_id, params.store_id)
    const { settings } = target
    requireCapability(settings, 'supersession_chain', operation.id)
    const where = { operation: operation.id, loc: ['body'], now_us: kernel.clock.now() }
    const parsed = parseWrite(tenant_id, settings, body, where)

    const predecessor = await kernel.db.read(tenant_id, (db) =>
      findVersion(db, body.old_ref, kernel.clock.now()),
    )
    const options = mergeWriteOptions(body)
    // Without an explicit namespace the successor gets that of its predecessor.
    const namespace = namesNamespace(options) ? parseNamespace(tenant_id, options) : undefined
    const known = predecessor !== undefined && isVersionOf(predecessor, { ...params, namespace })
    const draft = known ? { ...parsed.draft, namespace: predecessor.namespace } : parsed.draft
    const found = await findDuplicates(kernel, { tenant_id, ...params }, [draft])
    const author = { tenant_id, principal: call.principal.key_id }
    const [fact] = await prepareFacts(kernel, author, settings, [draft])
    if (!fact) throw new Error('one draft makes one fact')

    const once: IdempotentUnit<{ reply: SupersedeReply } | { replay: SupersedeReplayIds }> = {
      async run(tx) {
        const head = await loadTargetHead(kernel, tx, target)
        const [duplicate_of = null] = await withoutHidden(tx, found)
        const old = await findVersion(tx, body.old_ref, tx.now())
        if ((old === undefined) !== (predecessor === undefined)) throw new Conflict('store')
        if (known && old) await refuseServiceVersion(call, tx, old.ref)
        const interval = { valid_from_us: parsed.valid_from_us, valid_until_us: null }
        const log_seq =
          known && old
            ? (await linkSuccessor(kernel, tx, { head, old, fact, interval })).log_seq
            : (await insertFacts(kernel, tx, head, [{ fact, interval }])).log_seq
        meter(tx, operation.id, fact.bytes)
        const { ref, token_count } = fact
        const ids = { ref, duplicate_of, log_seq, token_count, known }
        const reply = { ...showWriteReply(fact, ids), ...showSuperseded(body.old_ref, known) }
        return { reply: { reply }, ids }
      },
      // The stored ids were written by `run` above.
      replay: async (_, ids) => ({ replay: ids as SupersedeReplayIds }),
    }
    const store = { tenant_id, ...params }
    const result = await countPending(kernel, store, 1, () => call.once(once))
    if ('reply' in result) return result.reply
    const written = await showReplayedWrite(kernel, tenant_id, result.replay)
    return { ...written, ...showSuperseded(body.old_ref, result.replay.known) }
  })

const showSuperseded = (old_ref: number, known: boolean) =>
  known ? { old_ref } : { old_ref, warning: 'unknown_ref' as const }

const namesNamespace = (options: { tenant_id?: unknown; namespace?: unknown } | null | undefined) =>
  typeof options?.tenant_id === 'string' || typeof options?.namespace === 'string'

/**
 * Whether the fact is in the store and in the namespace (any if undefined). A ref of another store
 * or namespace is treated as unknown.
 */
const isVersionOf = (
  fact: FactRow,
  { store_id, namespace }: { store_id: string; namespace: string | null | undefined },
): boolean =>
  fact.store_id === store_id && (namespace === undefined || fact.namespace === namespace)

/** Returns undefined for an expired fact: its ref is unknown, as it is after the erasure. */
async function findVersion(db: TenantDb, ref: number, now_us: number) {
  const fact = await findFact(db, ref)
  return fact && (await findExpired(db, [ref], now_us)).has(ref) ? undefined : fact
}

/**
 * Refuses versions that the service maintains. Superseding an item without `items.put` would leave
 * its name on an outdated version; a digest must say what its sources say.
 */
async function refuseServiceVersion(
  call: Call<typeof memory.supersede>,
  db: TenantDb,
  ref: number,
): Promise<void> {
  if ((await listDigestsAmong(db, [ref])).has(ref))
    call.refuse('rejected', 'the memory is a digest: supersede what it was made from instead')
  if ((await findItemRefs(db, [ref])).has(ref))
    call.refuse('rejected', 'the memory is a version of an item: put the item instead')
}

/**
 * Maximum number of links followed to find the head of a chain, as the unit of work blocks all
 * other writes.
 */
const LINKS_MAX = 10_000

/**
 * Ends the old version when the new one begins. Refuses `erasing`, `superseded` and
 * `order_inverted`.
 */
export async function linkSuccessor(
  kernel: Kernel,
  tx: Tx,
  { head, old, fact, interval }: NewFact & { readonly head: StoreHead; readonly old: FactRow },
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
