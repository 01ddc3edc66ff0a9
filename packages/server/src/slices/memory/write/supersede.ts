// POST /v1/stores/{store_id}/supersede: compare-and-set on the open head of a version chain.

import type { memory, SupersedeReply } from '@custos/contract'
import { Conflict } from '../../../platform/concurrency.ts'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import type { Call, Handler, IdempotentUnit } from '../../../platform/kernel/call.ts'
import { parseNamespace } from '../../../platform/namespace.ts'
import { meter } from '../../tenants/index.ts'
import { type FactRow, findFact } from '../facts/facts.sql.ts'
import { findItemRefs } from '../facts/items.sql.ts'
import { prepareFacts } from '../facts/prepare-facts.ts'
import { listDigestsAmong } from '../facts/session-digests.sql.ts'
import { findExpired } from '../stores/expiries.sql.ts'
import { countPending } from '../stores/ingestion.ts'
import { requireCapability } from '../stores/store-settings.ts'
import { loadTargetHead, loadWriteTarget, retryOnStoreConflict } from '../stores/write-target.ts'
import { findDuplicates, withoutHidden } from './duplicates.ts'
import { insertFacts } from './insert-facts.ts'
import { linkSuccessor } from './link-successor.ts'
import {
  gateWrites,
  mergeWriteOptions,
  parseWrite,
  showReplayedWrite,
  showWriteReply,
  type WriteReplayIds,
  type WriteResult,
} from './write.ts'

interface SupersedeReplayIds extends WriteReplayIds {
  /** Whether `old_ref` is a fact of the store and namespace. */
  readonly known: boolean
}

type Supersede = typeof memory.supersede

export const supersede: Handler<Supersede> = async (call, { params, query, body }) => {
  await loadWriteTarget(call.kernel, call.tenant_id, params.store_id)
  const [admitted = body] = await gateWrites(call, params.store_id, [body])
  return supersedeAdmitted(call, { params, query, body: admitted })
}

const supersedeAdmitted: Handler<Supersede> = (call, { params, body }) =>
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

    const once: IdempotentUnit<WriteResult<SupersedeReply, SupersedeReplayIds>> = {
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
  call: Call<Supersede>,
  db: TenantDb,
  ref: number,
): Promise<void> {
  if ((await listDigestsAmong(db, [ref])).has(ref))
    call.refuse('rejected', 'the memory is a digest: supersede what it was made from instead')
  if ((await findItemRefs(db, [ref])).has(ref))
    call.refuse('rejected', 'the memory is a version of an item: put the item instead')
}
