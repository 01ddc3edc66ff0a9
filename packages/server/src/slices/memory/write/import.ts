// POST /v1/stores/{store_id}/import: memories with their refs, times and version chains, in chunks.

import { type ItemName, limits, type memory } from '@custos/contract'
import type { Static } from 'typebox'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import type { Call, Handler, Notes } from '../../../platform/kernel/call.ts'
import type { TenantKeys } from '../../../platform/keys/keyring.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { admitItems, redactedOr } from '../../governance/index.ts'
import { meter } from '../../tenants/index.ts'
import { reviseValidity } from '../facts/chain-repair.ts'
import { findTombstones } from '../facts/facts.sql.ts'
import { digestName } from '../facts/item-name.ts'
import { type PreparedFact, prepareWithRefs } from '../facts/prepare-facts.ts'
import { type RefSecret, refPool } from '../facts/ref-pool.ts'
import { endDigests } from '../facts/sessions.ts'
import { findCurrentValidity } from '../facts/validity.sql.ts'
import { NO_SLOT } from '../index/columns/slot-columns.ts'
import { storeIndexes } from '../index/store-indexes.ts'
import type { StoreSettings } from '../stores/store-settings.ts'
import {
  loadTargetHead,
  loadWriteTarget,
  retryOnStoreConflict,
  type WriteTarget,
} from '../stores/write-target.ts'
import { ImportDuplicates } from './duplicates.ts'
import { type ImportedFact, ImportLinks, importLineRefusal, readImport } from './import-lines.ts'
import { insertFacts } from './insert-facts.ts'
import { addImportedVersion } from './put-item.ts'

const CHUNK = 500
/** Maximum gap of refs within a reserved block. For a larger gap a new block is cheaper. */
const GAP_MAX = 8

type ImportReply = Static<(typeof memory.import)['reply']>

/** Progress of an import. */
interface ImportProgress {
  imported: number
  /** Lines left out as duplicates. */
  duplicates: number
  log_seq: number | null
  /** Maps refs of the file to refs in this store. */
  readonly newByOld: Map<number, number>
  /** Predecessors that wait for their successor, keyed by the successor's ref in the file. */
  readonly unlinked: Map<number, number>
}

interface ImportContext {
  readonly call: Call<typeof memory.import>
  readonly target: WriteTarget
  readonly notes: Notes<ImportReply> | null
  readonly progress: ImportProgress
  /** `null` if lines are imported even if the store has them. */
  readonly duplicates: ImportDuplicates | null
}

export const importStore: Handler<typeof memory.import> = async (call, { params, query, body }) => {
  const { kernel, tenant_id } = call
  const target = await loadWriteTarget(kernel, tenant_id, params.store_id)
  kernel.keyring.signer('provenance')
  return call.inParts<ImportReply>({
    async run(notes) {
      const [newByOld, unlinked] = [new Map<number, number>(), new Map<number, number>()]
      const progress: ImportProgress = {
        imported: 0,
        duplicates: 0,
        log_seq: null,
        newByOld,
        unlinked,
      }
      const duplicates = query.allow_duplicates
        ? null
        : new ImportDuplicates(kernel, { tenant_id, ...params })
      try {
        await importLines({ call, target, notes, progress, duplicates }, body)
      } catch (error) {
        throw withProgress(error, progress)
      }
      return showImportReply(progress)
    },
    interrupted: ({ imported }) =>
      new Refusal('import_refused', 'the import under this key broke off', {
        members: { imported },
      }),
  })
}

/** Reads a body that fits into memory to its end first, so that a bad line changes nothing. */
async function importLines(context: ImportContext, body: AsyncIterable<Uint8Array>): Promise<void> {
  const { call, target } = context
  const links = new ImportLinks()
  let pending: ImportedFact[] = []
  let bytes = 0
  let streaming = false
  for await (const fact of readImport(
    { tenant_id: call.tenant_id, clock: call.kernel.clock },
    body,
  )) {
    const problem = notOffered(target.settings, fact) ?? links.add(fact)
    if (problem !== null) throw importLineRefusal(fact.line, problem)
    pending.push(fact)
    bytes += fact.bytes
    streaming ||= bytes > limits.body_bytes
    if (!streaming || pending.length < CHUNK) continue
    await importChunks(context, await gateFacts(call, target.settings.store_id, pending))
    pending = []
  }
  await assertNoneErased(call, pending)
  pending = await gateFacts(call, target.settings.store_id, pending)
  const before = Math.max(0, Math.ceil(pending.length / CHUNK) - 1) * CHUNK
  await importChunks(context, pending.slice(0, before))
  await importLastChunk(context, pending.slice(before))
}

function showImportReply(progress: ImportProgress): ImportReply {
  const { imported, duplicates, newByOld, log_seq } = progress
  const changed = [...newByOld].filter(([from, to]) => from !== to)
  const refs_mapped = changed.map(([from, to]) => ({ from, to }))
  return { imported, duplicates, refs_mapped, log_seq }
}

function notOffered({ capabilities }: StoreSettings, fact: ImportedFact): string | null {
  if (fact.draft.namespace !== null && !capabilities.includes('multi_tenant'))
    return 'the store does not offer multi_tenant'
  if (fact.superseded_by !== null && !capabilities.includes('supersession_chain'))
    return 'the store does not offer supersession_chain'
  return null
}

const BREAKS_OFF: readonly string[] = [
  'import_refused',
  'policy_denied',
  'approval_required',
  'rate_limited',
  'quota_exceeded',
]

/** Adds the number of imported memories to a refusal in the middle of a large import. */
function withProgress(error: unknown, { imported }: ImportProgress): unknown {
  if (!(error instanceof Refusal) || !BREAKS_OFF.includes(error.code)) return error
  const members = { ...error.extras.members, imported }
  return new Refusal(error.code, error.message, { ...error.extras, members })
}

async function importChunks(context: ImportContext, facts: readonly ImportedFact[]): Promise<void> {
  const open = context.notes?.open ?? null
  for (let at = 0; at < facts.length; at += CHUNK) {
    const note =
      open &&
      ((tx: Tx, { imported, duplicates, log_seq }: ImportProgress) =>
        // Only the final reply contains mapped refs.
        open(tx, { imported, duplicates, refs_mapped: [], log_seq }))
    await importChunk(context, facts.slice(at, at + CHUNK), note)
  }
}

/** Commits the last chunk together with the reply that a retry gets. */
async function importLastChunk(
  context: ImportContext,
  facts: readonly ImportedFact[],
): Promise<void> {
  const { call, notes, progress } = context
  const close = notes && (await notes.close())
  const note = close && ((tx: Tx, reached: ImportProgress) => close(tx, showImportReply(reached)))
  if (facts.length > 0) await importChunk(context, facts, note)
  else if (note) await call.transact((tx) => note(tx, progress))
}

async function assertNoneErased(
  call: Call<typeof memory.import>,
  facts: readonly ImportedFact[],
): Promise<void> {
  const refs = facts.flatMap(({ ref }) => (ref === null ? [] : [ref]))
  const erased = await call.read((db) => findTombstones(db, refs))
  const gone = new Set(erased.map(({ ref }) => ref))
  const bad = facts.find(({ ref }) => ref !== null && gone.has(ref))
  if (bad) throw importLineRefusal(bad.line, 'this memory has been erased and is not taken back')
}

async function importChunk(
  { call, target, progress, duplicates }: ImportContext,
  facts: readonly ImportedFact[],
  note: ((tx: Tx, reached: ImportProgress) => Promise<void>) | null,
): Promise<void> {
  const { kernel, tenant_id } = call
  const all = facts.map((imported) => ({ imported, slot: NO_SLOT, isFresh: true }))
  const compared = (await duplicates?.compare(facts)) ?? all
  const fresh = compared.filter(({ isFresh }) => isFresh)
  const repeated = compared.filter(({ isFresh }) => !isFresh)
  const counts = {
    imported: progress.imported + fresh.length,
    duplicates: progress.duplicates + repeated.length,
  }
  progress.log_seq = await retryOnStoreConflict(async () => {
    // Checked in each attempt: a ref of the file may have been erased while it was prepared.
    await assertNoneErased(call, facts)
    const current = await loadWriteTarget(kernel, tenant_id, target.settings.store_id)
    const lines = fresh.map(({ imported }) => imported)
    const pairs = await prepareChunk(call, current, lines, progress)
    for (const [i, { slot }] of fresh.entries()) duplicates?.setRef(slot, pairs[i]?.fact.ref ?? 0)
    const keys = await kernel.keyring.tenant(tenant_id)
    const stored = repeated.map(({ imported, slot }) => {
      const ref = duplicates?.refOf(slot) ?? 0
      if (imported.ref !== null) progress.newByOld.set(imported.ref, ref)
      return { imported, ref }
    })
    return call.transact(async (tx) => {
      const log_seq = await insertChunk(call, tx, {
        target: current,
        pairs,
        stored,
        progress,
        keys,
      })
      await note?.(tx, { ...progress, ...counts, log_seq })
      return log_seq
    })
  })
  Object.assign(progress, counts)
}

async function prepareChunk(
  call: Call<typeof memory.import>,
  { settings }: WriteTarget,
  facts: readonly ImportedFact[],
  progress: ImportProgress,
): Promise<Chunk['pairs']> {
  const { kernel, tenant_id, principal } = call
  const refs = await claimRefs(call, facts, progress)
  const author = { tenant_id, principal: principal.key_id }
  const drafts = facts.map(({ draft }) => draft)
  const prepared = await prepareWithRefs(kernel, author, settings, { drafts, refs })
  return facts.flatMap((imported, i) => {
    const fact = prepared[i]
    return fact ? [{ imported, fact }] : []
  })
}

/** Returns the ref of the file if no fact here ever had it, else a new one. */
async function claimRefs(
  call: Call<typeof memory.import>,
  facts: readonly ImportedFact[],
  { newByOld }: ImportProgress,
): Promise<RefSecret[]> {
  const pool = refPool(call.kernel)(call.tenant_id)
  const taken: RefSecret[] = []
  for (const [i, { ref }] of facts.entries()) {
    const claimed = ref === null ? null : await pool.claim(ref, spanOf(facts, i))
    const [own = claimed] = claimed ? [] : await pool.take(1)
    if (!own) throw new Error('the pool gives a ref for each fact')
    taken.push(own)
    if (ref !== null) newByOld.set(ref, own.ref)
  }
  return taken
}

/** How many refs to reserve in one block from this fact on: those of the chunk, with small gaps. */
function spanOf(facts: readonly ImportedFact[], at: number): number {
  const first = facts[at]?.ref ?? 0
  let [last, span] = [first, 1]
  for (let next = at + 1; next < facts.length; next += 1) {
    const ref = facts[next]?.ref ?? null
    if (ref === null || ref < last || ref - last > GAP_MAX) break
    last = ref
    span = last - first + 1
  }
  return span
}

interface Chunk {
  readonly target: WriteTarget
  readonly pairs: readonly { imported: ImportedFact; fact: PreparedFact }[]
  /** Lines left out as duplicates, with the refs of the memories that they repeat. */
  readonly stored: readonly { imported: ImportedFact; ref: number }[]
  readonly progress: ImportProgress
  readonly keys: TenantKeys
}

/** Returns the log position; the current last one if every line is left out. */
async function insertChunk(
  call: Call<typeof memory.import>,
  tx: Tx,
  { target, pairs, stored, progress, keys }: Chunk,
): Promise<number | null> {
  const lines = [
    ...pairs.map(({ imported, fact }) => ({ imported, ref: fact.ref })),
    ...stored,
  ].sort((a, b) => a.imported.line - b.imported.line)
  if (pairs.length === 0) {
    for (const line of lines) await linkVersions(tx, line, null, progress)
    return progress.log_seq
  }
  const head = await loadTargetHead(call.kernel, tx, target)
  const inserts = pairs.map(({ imported, fact }) => ({ fact, interval: imported }))
  const { log_seq } = await insertFacts(call.kernel, tx, head, inserts)
  for (const line of lines) await linkVersions(tx, line, log_seq, progress)
  await addVersions(tx, keys, { store_id: head.store_id, pairs, log_seq })
  for (const { fact } of pairs) meter(tx, call.operation.id, fact.bytes)
  const { tenant_id } = tx
  // Chains reach into earlier chunks, so the next read rebuilds the index from the rows.
  tx.afterCommit(() => storeIndexes(call.kernel).drop(tenant_id, head.store_id))
  return log_seq
}

/** Adds lines that are versions of items to the items' names, in line order. */
async function addVersions(
  tx: Tx,
  keys: TenantKeys,
  { store_id, pairs, log_seq }: Pick<Chunk, 'pairs'> & { store_id: string; log_seq: number },
): Promise<void> {
  for (const { imported, fact } of pairs) {
    const { item, original_written_us } = imported.draft
    if (!item) continue
    const replaced = await addImportedVersion(tx, {
      ...digestName(keys, store_id, item),
      store_id,
      ref: fact.ref,
      is_current: imported.superseded_by === null && imported.valid_until_us === null,
      created_us: original_written_us ?? tx.now(),
      log_seq,
    })
    if (replaced === undefined) continue
    // Otherwise a search would find both versions.
    await link(tx, replaced, fact.ref, log_seq)
    await endReplaced(tx, replaced, log_seq)
  }
}

/**
 * Links a fact to the successor it names and to the predecessor that names it. Without a log
 * position (all lines were left out) it only records the open link.
 */
async function linkVersions(
  tx: Tx,
  { imported, ref }: { imported: ImportedFact; ref: number },
  seq: number | null,
  { newByOld, unlinked }: ImportProgress,
): Promise<void> {
  const before = imported.ref === null ? undefined : unlinked.get(imported.ref)
  if (before !== undefined && seq !== null) await link(tx, before, ref, seq)
  const { superseded_by } = imported
  if (superseded_by === null) return
  const successor = newByOld.get(superseded_by)
  if (successor === undefined) unlinked.set(superseded_by, ref)
  else if (seq !== null) await link(tx, ref, successor, seq)
}

/** Ends the predecessor at its successor's beginning, unless it ends before. */
async function link(tx: Tx, predecessor: number, successor: number, seq: number): Promise<void> {
  const [old, next] = [
    await findCurrentValidity(tx, predecessor),
    await findCurrentValidity(tx, successor),
  ]
  // Other requests erased or superseded a fact between two chunks; their changes win.
  if (!old || !next || old.superseded_by !== null || next.predecessor !== null) return
  if (next.valid_from_us <= old.valid_from_us) return
  const valid_until_us = Math.min(old.valid_until_us ?? next.valid_from_us, next.valid_from_us)
  await reviseValidity(tx, predecessor, seq, { superseded_by: successor, valid_until_us })
  await reviseValidity(tx, successor, seq, { predecessor })
  await endDigests(tx, [predecessor], seq)
}

/**
 * Ends the previous current version of an item if the new version cannot follow it in a chain,
 * because it is older or already has a predecessor in its file.
 */
async function endReplaced(tx: Tx, ref: number, seq: number): Promise<void> {
  const old = await findCurrentValidity(tx, ref)
  const now_us = tx.now()
  if (!old || (old.valid_until_us !== null && old.valid_until_us <= now_us)) return
  if (old.superseded_by !== null) return
  const valid_until_us = Math.max(now_us, old.valid_from_us + 1)
  await reviseValidity(tx, ref, seq, { valid_until_us })
  await endDigests(tx, [ref], seq)
}

/** Returns the facts with their redactions applied. Refuses like `admitItems`. */
async function gateFacts(
  call: Parameters<typeof admitItems>[0],
  store_id: string,
  facts: readonly ImportedFact[],
): Promise<ImportedFact[]> {
  if (facts.length === 0) return []
  const contexts = facts.map(({ draft: { content, metadata, item } }) => {
    if (!item) return { store_id, content, metadata }
    // Same context as for a put of the item: a redacted value stays JSON.
    return { store_id, content: JSON.parse(content), metadata: pickName(item) }
  })
  const redactions = await admitItems(call, 'memory.write', contexts)
  return facts.map((fact, i) => {
    const { draft, line } = fact
    if (draft.item) {
      if (redactions[i]?.['metadata'] !== undefined)
        throw importLineRefusal(line, 'a policy redacts the name of the item')
      const value = redactions[i]?.['content']
      return value ? { ...fact, draft: { ...draft, content: JSON.stringify(value) } } : fact
    }
    const content = redactedOr(redactions[i], 'content', draft.content)
    const metadata = redactedOr(redactions[i], 'metadata', draft.metadata)
    if (content === draft.content && metadata === draft.metadata) return fact
    return { ...fact, draft: { ...draft, content, metadata } }
  })
}

const pickName = ({ namespace, key }: ItemName) => ({ namespace, key })
