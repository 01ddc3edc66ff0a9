// POST /v1/stores/{store_id}/write and write_batch: new memories, all of a batch or none, with one
// log entry for each request.

import type { memory, WriteOptions, WriteReply, WriteRequest } from '@custos/contract'
import { parseTime } from '../../../platform/clock.ts'
import type { Call, Handler, IdempotentUnit, ReplayIds } from '../../../platform/kernel/call.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { parseNamespace } from '../../../platform/namespace.ts'
import { type Loc, validationDetail } from '../../../platform/validation.ts'
import { admitItems, redactedOr } from '../../governance/index.ts'
import { meter } from '../../tenants/index.ts'
import type { FactDraft } from '../facts/fact-document.ts'
import { isExpired, loadLiveFacts } from '../facts/opened-fact.ts'
import {
  checkFactLimits,
  type PreparedFact,
  parseExpiry,
  prepareFacts,
} from '../facts/prepare-facts.ts'
import { countPending } from '../stores/ingestion.ts'
import { requireCapability, type StoreSettings } from '../stores/store-settings.ts'
import { loadTargetHead, loadWriteTarget, retryOnStoreConflict } from '../stores/write-target.ts'
import { findDuplicates, findDuplicatesInBatch, withoutHidden } from './duplicates.ts'
import { insertFacts } from './insert-facts.ts'

export const write: Handler<typeof memory.write> = async (call, { params, query, body }) => {
  // Runs before the policies, so that an unknown store is refused as such.
  await loadWriteTarget(call.kernel, call.tenant_id, params.store_id)
  const [admitted = body] = await gateWrites(call, params.store_id, [body])
  return writeAdmitted(call, { params, query, body: admitted })
}

const writeAdmitted: Handler<typeof memory.write> = (call, { params, body }) =>
  retryOnStoreConflict(async () => {
    const { kernel, tenant_id, operation } = call
    const target = await loadWriteTarget(kernel, tenant_id, params.store_id)
    const { settings } = target
    const where = { operation: operation.id, loc: ['body'], now_us: kernel.clock.now() }
    const { draft, valid_from_us } = parseWrite(tenant_id, settings, body, where)

    const found = await findDuplicates(kernel, { tenant_id, ...params }, [draft])
    const author = { tenant_id, principal: call.principal.key_id }
    const [fact] = await prepareFacts(kernel, author, settings, [draft])
    if (!fact) throw new Error('one draft makes one fact')

    // The reply, or what a replay is rendered from: opening seals needs the keyring.
    const once: IdempotentUnit<{ reply: WriteReply } | { replay: WriteReplayIds }> = {
      async run(tx) {
        const head = await loadTargetHead(kernel, tx, target)
        const [duplicate_of = null] = await withoutHidden(tx, found)
        const interval = { valid_from_us, valid_until_us: null }
        const { log_seq } = await insertFacts(kernel, tx, head, [{ fact, interval }])
        meter(tx, operation.id, fact.bytes)
        const { ref, token_count } = fact
        const ids = { ref, duplicate_of, log_seq, token_count }
        return { reply: { reply: showWriteReply(fact, ids) }, ids }
      },
      // The stored ids were written by `run` above.
      replay: async (_, ids) => ({ replay: ids as WriteReplayIds }),
    }
    const store = { tenant_id, ...params }
    const result = await countPending(kernel, store, 1, () => call.once(once))
    if ('reply' in result) return result.reply
    return showReplayedWrite(kernel, tenant_id, result.replay)
  })

interface BatchIds {
  readonly [key: string]: unknown
  readonly refs: number[]
  readonly duplicates: { index: number; duplicate_of: number }[]
  readonly log_seq: number | null
}

export const writeBatch: Handler<typeof memory.write_batch> = async (call, { params, body }) =>
  writeAll(call, { ...params, items: body.items, loc: ['body', 'items'] })

/** Writes memories of one request, all or none, as `memory.write`. Honours Idempotency-Key. */
export async function writeAll(
  call: Parameters<typeof admitItems>[0] & Pick<Call, 'operation' | 'principal' | 'once'>,
  given: {
    readonly store_id: string
    readonly items: readonly WriteRequest[]
    readonly loc: Loc
  },
): Promise<BatchIds> {
  // Runs before the policies, so that an unknown store is refused as such.
  await loadWriteTarget(call.kernel, call.tenant_id, given.store_id)
  const items = await gateWrites(call, given.store_id, given.items)
  return writeAdmittedItems(call, { ...given, items })
}

const writeAdmittedItems = (
  ...[call, { store_id, items, loc }]: Parameters<typeof writeAll>
): Promise<BatchIds> =>
  retryOnStoreConflict(async () => {
    const { kernel, tenant_id, operation } = call
    const target = await loadWriteTarget(kernel, tenant_id, store_id)
    const now_us = kernel.clock.now()
    const writes = items.map((item, i) =>
      parseWrite(tenant_id, target.settings, item, {
        operation: operation.id,
        loc: [...loc, i],
        now_us,
      }),
    )
    const drafts = writes.map(({ draft }) => draft)

    const found = await findDuplicates(kernel, { tenant_id, store_id }, drafts)
    const author = { tenant_id, principal: call.principal.key_id }
    const facts = await prepareFacts(kernel, author, target.settings, drafts)
    const refs = facts.map((fact) => fact.ref)
    const isCurrent = (i: number) => (writes[i]?.valid_from_us ?? now_us) <= now_us

    const once: IdempotentUnit<BatchIds> = {
      async run(tx) {
        const head = await loadTargetHead(kernel, tx, target)
        const before = await withoutHidden(tx, found)
        const duplicates = findDuplicatesInBatch(facts, before, isCurrent).flatMap(
          (duplicate_of, index) => (duplicate_of === null ? [] : [{ index, duplicate_of }]),
        )
        const bytes = facts.reduce((sum, fact) => sum + fact.bytes, 0)
        for (const fact of facts) meter(tx, operation.id, fact.bytes)
        if (facts.length === 0) meter(tx, operation.id, bytes)
        const inserts = facts.map((fact, i) => ({
          fact,
          interval: { valid_from_us: writes[i]?.valid_from_us ?? null, valid_until_us: null },
        }))
        const written = facts.length > 0 ? await insertFacts(kernel, tx, head, inserts) : null
        const ids = { refs, duplicates, log_seq: written?.log_seq ?? null }
        return { reply: ids, ids }
      },
      // `run` above stored the whole reply.
      replay: async (_, ids) => ids as BatchIds,
    }
    const store = { tenant_id, store_id }
    return countPending(kernel, store, facts.length, () => call.once(once))
  })

/** Returns the writes with their redactions applied. Refuses like `admitItems`. */
export async function gateWrites<T extends WriteRequest>(
  call: Parameters<typeof admitItems>[0],
  store_id: string,
  requests: readonly T[],
): Promise<T[]> {
  const metadatas = requests.map(pickMetadata)
  const contexts = requests.map(({ content }, i) => ({ store_id, content, metadata: metadatas[i] }))
  const redactions = await admitItems(call, 'memory.write', contexts)
  return requests.map((request, i) => {
    const content = redactedOr(redactions[i], 'content', request.content)
    const metadata = redactedOr(redactions[i], 'metadata', metadatas[i])
    if (metadata === metadatas[i]) return { ...request, content }
    return { ...request, content, options: { ...request.options, metadata } }
  })
}

/** Metadata in `options` takes precedence. */
const pickMetadata = ({ metadata, options }: WriteRequest) => options?.metadata ?? metadata

/** One of two expiries would be lost, and a memory could live longer than requested. */
function refuseTwoExpiries({ options, ...top }: WriteRequest, loc: readonly (string | number)[]) {
  const at = (time: string | null | undefined) => (time == null ? null : parseTime(time))
  const pairs = {
    expires_at: [at(top.expires_at), at(options?.expires_at)],
    ttl_s: [top.ttl_s, options?.ttl_s],
  }
  for (const [name, [outer, inner]] of Object.entries(pairs))
    if (outer != null && inner != null && outer !== inner)
      throw validationDetail(
        [...loc, name],
        `differs from \`options.${name}\`, which is the same field`,
        'conflict',
      )
}

/** Options are accepted at the top level too; those in `options` take precedence. */
export function mergeWriteOptions(request: WriteRequest): WriteOptions {
  const { content: _, options, ...top } = request
  const inner = Object.entries(options ?? {}).filter(([, value]) => value != null)
  return { ...top, ...Object.fromEntries(inner) }
}

/**
 * Refuses `capability_not_supported`, `rejected` and `validation`. `valid_from_us` null: the time
 * of the write, as always in a store without bi_temporal (GMP 2.3).
 */
export function parseWrite(
  tenant_id: string,
  store: StoreSettings,
  request: WriteRequest,
  where: {
    readonly operation: string
    readonly loc: readonly (string | number)[]
    readonly now_us: number
  },
): { draft: FactDraft; valid_from_us: number | null } {
  refuseTwoExpiries(request, where.loc)
  const options = mergeWriteOptions(request)
  const namespace = parseNamespace(tenant_id, options)
  if (namespace !== null) requireCapability(store, 'multi_tenant', where.operation)
  const given = store.capabilities.includes('bi_temporal') ? options.valid_from : null
  // The schema has checked the timestamp.
  const valid_from_us = given ? parseTime(given) : null
  const draft = {
    content: request.content,
    metadata: options.metadata ?? {},
    namespace,
    ...parseExpiry(options, { ...where, valid_from_us }),
  }
  checkFactLimits(draft, where.loc)
  return { draft, valid_from_us }
}

/** Stored with an idempotency key: numbers only, no content. */
export interface WriteReplayIds extends ReplayIds {
  readonly ref: number
  readonly duplicate_of: number | null
  readonly log_seq: number
  readonly token_count: number
}

export const showWriteReply = (fact: PreparedFact, ids: WriteReplayIds): WriteReply => ({
  ref: ids.ref,
  content_hash: fact.content_hash,
  status: 'stored',
  duplicate_of: ids.duplicate_of,
  log_seq: ids.log_seq,
  token_count: ids.token_count,
})

/** Renders the reply to a retried write from the rows. An erased or expired memory has no hash. */
export async function showReplayedWrite(
  kernel: Kernel,
  tenant_id: string,
  ids: WriteReplayIds,
): Promise<WriteReply> {
  const { ref, duplicate_of, log_seq, token_count } = ids
  const facts = await kernel.db.read(tenant_id, (db) => loadLiveFacts(kernel, db, [ref]))
  const fact = facts.get(ref)
  const expired = fact !== undefined && isExpired(fact, kernel.clock.now())
  return {
    ref,
    content_hash: fact && !expired ? fact.document.fact_id : null,
    status: fact === undefined ? 'erased' : expired ? 'expired' : 'stored',
    duplicate_of,
    log_seq,
    token_count,
  }
}
