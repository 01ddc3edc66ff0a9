// Writes the turns of a conversation and the facts that a model extracted from them in one unit of
// work. Each fact is bound to its source turns and replaces a memory only if it names one.

import type { FactBecame, WriteRequest } from '@custos/contract'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import type { Call, ReplayIds } from '../../../platform/kernel/call.ts'
import type { Loc } from '../../../platform/validation.ts'
import { meter } from '../../tenants/index.ts'
import { areLive, findFact, LIVE } from '../facts/facts.sql.ts'
import { findItemRefs } from '../facts/items.sql.ts'
import { type PreparedFact, prepareFacts } from '../facts/prepare-facts.ts'
import { insertDigestSources, listDigestsAmong } from '../facts/session-digests.sql.ts'
import { findExpired } from '../stores/expiries.sql.ts'
import { countPending } from '../stores/ingestion.ts'
import { requireCapability } from '../stores/store-settings.ts'
import { loadTargetHead, loadWriteTarget, retryOnStoreConflict } from '../stores/write-target.ts'
import { findDuplicates, findDuplicatesInBatch, withoutHidden } from './duplicates.ts'
import { insertFacts } from './insert-facts.ts'
import { linkSuccessor } from './supersede.ts'
import { parseWrite } from './write.ts'

/** A fact that a model extracted, after the policies. With a `reason` it is not written. */
export interface FactCandidate {
  readonly content: string
  /** Positions of the turns that state the fact. */
  readonly sources: readonly number[]
  /** The memory that it replaces. */
  readonly supersedes: number | null
  /** A memory with nearly the same content. */
  readonly same_as: number | null
  readonly reason: FactBecame['reason']
}

export interface WrittenConversation {
  readonly refs: number[]
  readonly duplicates: { index: number; duplicate_of: number }[]
  readonly log_seq: number | null
  readonly facts: FactBecame[]
}

interface ConversationWrite<T extends ReplayIds> {
  readonly store_id: string
  /** The turns of the conversation, after the policies. */
  readonly items: readonly WriteRequest[]
  readonly loc: Loc
  readonly facts: readonly FactCandidate[]
  /** Makes the write request of a fact. */
  request(fact: FactCandidate, source_refs: readonly number[]): WriteRequest
  /** Prepares further work for the unit. Gets every ref that may be written. */
  prepare(refs: readonly number[]): Promise<(tx: Tx, written: WrittenConversation) => Promise<T>>
}

interface PreparedCandidate {
  readonly fact: FactCandidate
  readonly source_refs: number[]
  /** `null` if the fact is not written. */
  readonly prepared: PreparedFact | null
  readonly duplicate_of: number | null
}

type ConversationCall = Pick<Call, 'kernel' | 'tenant_id' | 'operation' | 'principal' | 'once'>

/** Writes everything or nothing. Honours Idempotency-Key. */
export const writeConversation = <T extends ReplayIds>(
  call: ConversationCall,
  given: ConversationWrite<T>,
): Promise<T> =>
  retryOnStoreConflict(async () => {
    const { kernel, tenant_id } = call
    const conversation = await prepareConversation(call, given)
    const { turns, facts } = conversation
    const written = [...turns, ...facts].flatMap((one) => refOf(one) ?? [])
    const act = await given.prepare(written)
    const store = { tenant_id, store_id: given.store_id }
    return countPending(kernel, store, turns.length, () =>
      call.once<T>({
        async run(tx) {
          const ids = await act(tx, await insertConversation(call, tx, conversation))
          return { reply: ids, ids }
        },
        // `run` stored the whole reply.
        replay: async (_, ids) => ids as T,
      }),
    )
  })

const refOf = (one: { readonly fact: PreparedFact } | PreparedCandidate): number | null =>
  'prepared' in one ? (one.prepared?.ref ?? null) : one.fact.ref

/** Prepares a fact that waited for approval; returns the work for the approval's unit of work. */
export async function prepareWaitingFact(
  { kernel, tenant_id, operation, principal }: Omit<ConversationCall, 'once'>,
  {
    store_id,
    item,
    source_refs,
    supersedes,
  }: {
    readonly store_id: string
    /** The fact's write request. */
    readonly item: WriteRequest
    /** The turns that state the fact. */
    readonly source_refs: readonly number[]
    readonly supersedes: number | null
  },
): Promise<(tx: Tx) => Promise<FactBecame>> {
  const target = await loadWriteTarget(kernel, tenant_id, store_id)
  const { settings } = target
  if (supersedes !== null) requireCapability(settings, 'supersession_chain', operation.id)
  const where = { operation: operation.id, loc: ['body'], now_us: kernel.clock.now() }
  const { draft } = parseWrite(tenant_id, settings, item, where)
  const [duplicate_of = null] = await findDuplicates(kernel, { tenant_id, store_id }, [draft])
  const author = { tenant_id, principal: principal.key_id }
  const [prepared = null] = await prepareFacts(kernel, author, settings, [draft])
  const { content } = item
  const fact = { content, sources: [], supersedes, same_as: null, reason: null }
  const candidate = { fact, source_refs: [...source_refs], prepared, duplicate_of }
  return async (tx) => {
    const head = await loadTargetHead(kernel, tx, target)
    // Facts of a turn that is being erased are not written: the erasure plan does not include them.
    const live = await areLive(tx, source_refs)
    const checked = live
      ? candidate
      : { ...candidate, fact: { ...fact, reason: 'changed' } as const }
    return insertCandidate({ kernel, operation }, tx, head, checked)
  }
}

async function prepareConversation<T extends ReplayIds>(
  { kernel, tenant_id, operation, principal }: ConversationCall,
  { store_id, items, loc, facts, request }: ConversationWrite<T>,
) {
  const target = await loadWriteTarget(kernel, tenant_id, store_id)
  const { settings } = target
  if (facts.some(({ supersedes }) => supersedes !== null))
    requireCapability(settings, 'supersession_chain', operation.id)
  const now_us = kernel.clock.now()
  const parse = (item: WriteRequest, at: Loc) =>
    parseWrite(tenant_id, settings, item, { operation: operation.id, loc: at, now_us })
  const writes = items.map((item, i) => parse(item, [...loc, i]))
  const author = { tenant_id, principal: principal.key_id }
  const drafts = writes.map(({ draft }) => draft)
  const found = await findDuplicates(kernel, { tenant_id, store_id }, drafts)
  const turns = await prepareFacts(kernel, author, settings, drafts)

  const refsOf = ({ sources }: FactCandidate) => sources.flatMap((at) => turns[at]?.ref ?? [])
  const due = facts.filter(({ same_as, reason }) => same_as === null && reason === null)
  const own = due.map((fact) => parse(request(fact, refsOf(fact)), loc).draft)
  const before = await findDuplicates(kernel, { tenant_id, store_id }, own)
  const prepared = await prepareFacts(kernel, author, settings, own)
  const hashes = new Map(turns.map(({ ref, content_hash }) => [content_hash, ref]))
  return {
    target,
    found,
    turns: turns.map((fact, i) => ({ fact, valid_from_us: writes[i]?.valid_from_us ?? null })),
    facts: facts.map((fact): PreparedCandidate => {
      const at = due.indexOf(fact)
      const one = prepared[at]
      const source_refs = refsOf(fact)
      if (!one) return { fact, source_refs, prepared: null, duplicate_of: fact.same_as }
      const duplicate_of = before[at] ?? hashes.get(one.content_hash) ?? null
      // A later fact with this content is a duplicate of this one.
      hashes.set(one.content_hash, hashes.get(one.content_hash) ?? one.ref)
      return { fact, source_refs, prepared: one, duplicate_of }
    }),
  }
}

async function insertConversation(
  { kernel, operation }: ConversationCall,
  tx: Tx,
  { target, turns, found, facts }: Awaited<ReturnType<typeof prepareConversation>>,
): Promise<WrittenConversation> {
  const head = await loadTargetHead(kernel, tx, target)
  const now_us = tx.now()
  const before = await withoutHidden(tx, found)
  const isCurrent = (i: number) => (turns[i]?.valid_from_us ?? now_us) <= now_us
  const duplicates = findDuplicatesInBatch(
    turns.map(({ fact }) => fact),
    before,
    isCurrent,
  ).flatMap((duplicate_of, index) => (duplicate_of === null ? [] : [{ index, duplicate_of }]))
  const inserts = turns.map(({ fact, valid_from_us }) => ({
    fact,
    interval: { valid_from_us, valid_until_us: null },
  }))
  for (const { fact } of turns) meter(tx, operation.id, fact.bytes)
  const { log_seq } = await insertFacts(kernel, tx, head, inserts)
  const written: FactBecame[] = []
  for (const one of facts) {
    // Loads the head for each fact, as every fact changes it.
    const current = await loadTargetHead(kernel, tx, target)
    written.push(await insertCandidate({ kernel, operation }, tx, current, one))
  }
  return { refs: turns.map(({ fact }) => fact.ref), duplicates, log_seq, facts: written }
}

async function insertCandidate(
  { kernel, operation }: Pick<ConversationCall, 'kernel' | 'operation'>,
  tx: Tx,
  head: Awaited<ReturnType<typeof loadTargetHead>>,
  { fact, source_refs, prepared, duplicate_of: named }: PreparedCandidate,
): Promise<FactBecame> {
  const unwritten = { ref: null, duplicate_of: null, superseded: null, source_refs }
  if (fact.reason !== null) return { ...unwritten, outcome: 'refused', reason: fact.reason }
  const [duplicate_of = null] = await withoutHidden(tx, [named])
  if (duplicate_of !== null)
    return { ...unwritten, outcome: 'duplicate', duplicate_of, reason: null }
  const changed = { ...unwritten, outcome: 'refused', reason: 'changed' } as const
  if (!prepared) return changed
  const interval = { valid_from_us: null, valid_until_us: null }
  const { supersedes } = fact
  const old = supersedes === null ? null : await findReplaceable(tx, supersedes)
  if (supersedes !== null && !old) return changed
  if (old && old.valid_from_us >= tx.now()) return changed
  if (old) await linkSuccessor(kernel, tx, { head, old, fact: prepared, interval })
  else await insertFacts(kernel, tx, head, [{ fact: prepared, interval }])
  meter(tx, operation.id, prepared.bytes)
  tx.gather(
    insertDigestSources,
    source_refs.map((ref) => ({ ref, digest_ref: prepared.ref, extracted: 1 })),
  )
  const outcome = old ? 'supersedes' : 'new'
  const ref = prepared.ref
  return { ...unwritten, outcome, ref, superseded: old ? supersedes : null, reason: null }
}

/** Returns the memory if it is current and neither a digest nor an item, else `null`. */
async function findReplaceable(tx: Tx, ref: number) {
  const old = await findFact(tx, ref)
  if (!old || old.state !== LIVE || old.superseded_by !== null) return null
  if ((await findExpired(tx, [ref], tx.now())).has(ref)) return null
  if ((await listDigestsAmong(tx, [ref])).has(ref)) return null
  return (await findItemRefs(tx, [ref])).has(ref) ? null : old
}
