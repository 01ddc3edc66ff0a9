// Reads of memories: the audit, pages, one memory and its versions, the export stream, and what was
// on record at a past time, read in pages: no page blocks the database for long.

import { limits, type MemoryVersion, type memory } from '@custos/contract'
import { formatTime } from '../../../platform/clock.ts'
import { semaphore } from '../../../platform/concurrency.ts'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import { type Call, type Handler, streamed } from '../../../platform/kernel/call.ts'
import { type Kernel, perKernel } from '../../../platform/kernel/kernel.ts'
import {
  formatNamespace,
  includesNamespace,
  parseNamespace,
  type StorePart,
} from '../../../platform/namespace.ts'
import { readCursor, writeCursor } from '../../../platform/page.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { yieldBetweenChunks } from '../../../platform/yield-between-chunks.ts'
import { seqAt } from '../../gcrumbs/index.ts'
import { showMemory } from '../facts/fact-document.ts'
import {
  ERASING,
  findFact,
  findFactHeads,
  findRefAtOffset,
  findTombstones,
} from '../facts/facts.sql.ts'
import {
  isExpired,
  loadLiveFacts,
  loadVisibleFacts,
  type MemoryPage,
  openFactRows,
  PAGE_MEMORIES,
  pageMemories,
} from '../facts/opened-fact.ts'
import {
  listChainRefs,
  listEndVersions,
  listVersionsOnRecord,
  listVersionsValidAt,
  type ValidityRow,
  type VersionCursor,
} from '../facts/validity.sql.ts'
import { openDescriptions } from '../stores/store-description.ts'
import { loadReadableStore, requireCapability } from '../stores/store-settings.ts'

/**
 * The ref before which or after which a page starts, from its cursor or by counting to its offset;
 * `null` if the page is empty.
 */
async function findPageStart(
  { kernel, operation }: Call,
  db: TenantDb,
  part: StorePart,
  query: { cursor?: string; offset?: number; order?: 'oldest' | 'newest' },
): Promise<number | null> {
  if (query.cursor !== undefined) return refOf(operation.id, query.cursor)
  const { offset } = query
  const newest = query.order === 'newest'
  if (!offset) return newest ? Number.MAX_SAFE_INTEGER : -1
  const first = await findRefAtOffset(db, part, { offset, at_us: kernel.clock.now(), newest })
  if (first === undefined) return null
  return newest ? first.ref + 1 : first.ref - 1
}

/** The part of a store to read: the caller's own namespace, or else the requested one. */
const reachablePart = (
  { principal }: Pick<Call, 'principal'>,
  store_id: string,
  wanted?: string | null,
): StorePart => ({
  store_id,
  namespace: principal.namespace === undefined ? wanted : principal.namespace,
})

const cursorBehind = (list: string, ref: number | null): string | null =>
  ref === null ? null : writeCursor(list, `r${ref}`)

const refOf = (list: string, cursor: string): number =>
  Number(readCursor(cursor, list, /^r(\d{1,16})$/)[1])

const EMPTY: MemoryPage = { memories: [], next: null }

// GMP requires everything in one reply; with a limit there are pages. Each chunk is read on its own
// snapshot and sent at once, so a long audit blocks neither other requests nor database
// checkpoints, and is never held in memory as a whole.
export const audit: Handler<typeof memory.audit> = async (call, { params, query }) => {
  const start = await call.read(async (db) => {
    const store = await loadReadableStore(call.kernel, db, params.store_id)
    requireCapability(store, 'audit', call.operation.id)
    return findPageStart(call, db, params, query)
  })
  const { limit = Number.MAX_SAFE_INTEGER } = query
  return streamed({
    type: 'application/json; charset=utf-8',
    stream: writeAudit(call, params, { start, limit }),
  })
}

/** Yields the text of the reply, the first part once the first memory (or none) is found. */
async function* writeAudit(
  call: Call,
  part: { readonly store_id: string },
  { start, limit }: { readonly start: number | null; readonly limit: number },
): AsyncGenerator<string> {
  let [next, count] = [start, 0]
  const before = () => (count === 0 ? '{"memories":[' : ',')
  while (next !== null && count < limit) {
    const chunk = { after: next, limit: Math.min(PAGE_MEMORIES, limit - count) }
    const page: MemoryPage = await call.read((db) => pageMemories(call.kernel, db, part, chunk))
    for (const shown of page.memories) {
      yield before() + JSON.stringify(shown)
      count += 1
    }
    next = page.next
  }
  const end = JSON.stringify({ count, next_cursor: cursorBehind(call.operation.id, next) }).slice(1)
  yield `${count === 0 ? before() : ''}],${end}`
}

export const listMemories: Handler<typeof memory.memories> = (call, { params, query }) =>
  call.read(async (db) => {
    const { store_id } = await loadReadableStore(call.kernel, db, params.store_id)
    const { namespace } = query
    const wanted = namespace === undefined ? undefined : parseNamespace(call.tenant_id, query)
    const part = reachablePart(call, store_id, wanted)
    const after = await findPageStart(call, db, part, query)
    const { limit = 100 } = query
    const newest = query.order === 'newest'
    const page =
      after === null ? EMPTY : await pageMemories(call.kernel, db, part, { after, limit, newest })
    return {
      memories: page.memories,
      count: page.memories.length,
      limit,
      offset: query.offset ?? 0,
      next_cursor: cursorBehind(call.operation.id, page.next),
    }
  })

export const getMemory: Handler<typeof memory.memory> = (call, { params }) =>
  call.read(async (db) => {
    const { store_id } = await loadReadableStore(call.kernel, db, params.store_id)
    const row = await findFact(db, params.ref)
    const found = row?.store_id === store_id && includesNamespace(call.principal, row.namespace)
    const [fact] = found ? await openFactRows(call.kernel, db.tenant_id, [row]) : []
    if (!fact || isExpired(fact, call.kernel.clock.now())) return call.refuse('memory_not_found')
    return showMemory(call.kernel, db.tenant_id, fact)
  })

/** Streams a header line, then every memory except digests, in chunks with a snapshot each. */
export const exportStore: Handler<typeof memory.export> = async (call, { params }) => {
  const { kernel, tenant_id } = call
  const part = reachablePart(call, params.store_id)
  const store = await call.read(async (db) => {
    const { row, ...settings } = await loadReadableStore(kernel, db, params.store_id)
    // The store's name and labels do not belong to the caller's namespace.
    if (call.principal.namespace !== undefined) return undefined
    const [description] = row ? await openDescriptions(kernel, tenant_id, [row]) : []
    return { ...settings, ...description }
  })
  const exported_at = formatTime(kernel.clock.now())
  return streamed({
    filename: `memories_${params.store_id}.ndjson`,
    stream: lines({ custos_export: 1, tenant_id, store, exported_at }),
  })

  async function* lines(first: object): AsyncGenerator<string> {
    yield `${JSON.stringify(first)}\n`
    for (let after: number | null = -1; after !== null; ) {
      const at = after
      const page: MemoryPage = await call.read((db) =>
        pageMemories(kernel, db, part, { after: at, limit: PAGE_MEMORIES }),
      )
      // A digest is bound to memories of this export; an import could not restore that binding.
      for (const shown of page.memories) if (!shown.digest) yield `${JSON.stringify(shown)}\n`
      after = page.next
    }
  }
}

interface PastState {
  readonly store_id: string
  /** The log position whose recorded state is read. */
  readonly seq: number
  /** The time at which facts must be valid. */
  readonly at_us: number
  readonly limit: number
  /** The ref to continue after. */
  readonly after?: number
}

/**
 * Facts of a store on record at a log position and valid at a time, in the order of refs: what a
 * decision's replay shows. `next` is the ref to continue after; null at the end. A content is null
 * when the fact has been erased or has expired since.
 */
export async function listMemoryStates(
  kernel: Kernel,
  db: TenantDb,
  { store_id, seq, at_us, limit, after = -1 }: PastState,
) {
  const versions = await listVersionsValidAt(db, store_id, { seq, at_us, after, limit: limit + 1 })
  const shown = versions.slice(0, limit)
  const facts = await loadLiveFacts(
    kernel,
    db,
    shown.map(({ ref }) => ref),
  )
  const now_us = kernel.clock.now()
  const memories = shown.map(({ ref, valid_from_us, valid_until_us }) => {
    const stored = facts.get(ref)
    const expired = stored !== undefined && isExpired(stored, now_us)
    const fact = expired ? undefined : stored
    return {
      ref,
      content: fact?.content ?? null,
      written_at: fact ? formatTime(fact.written_us) : null,
      tenant_id: fact ? formatNamespace(db.tenant_id, fact.namespace) : null,
      valid_from: formatTime(valid_from_us),
      valid_until: valid_until_us === null ? null : formatTime(valid_until_us),
      erased: stored === undefined,
      expired,
    }
  })
  const last = shown.at(-1)
  return { memories, next: versions.length > limit && last ? last.ref : null }
}

type ChainVersion = Awaited<ReturnType<typeof listEndVersions>>[number]

/** The version chain of a memory, oldest first. */
export const listHistory: Handler<typeof memory.history> = (call, { params, query }) =>
  call.read(async (db) => {
    const { store_id } = await loadReadableStore(call.kernel, db, params.store_id)
    const chain = await findChain(call, db, store_id, params.ref)
    if (!chain.some(({ last }) => last.ref === params.ref)) return call.refuse('memory_not_found')
    const start =
      query.cursor === undefined ? 0 : findStart(chain, refOf(call.operation.id, query.cursor))
    const page = chain.slice(start, start + (query.limit ?? limits.history_page.default))
    const versions = await showVersions(call, db, page)
    const more = start + page.length < chain.length
    const last = page.at(-1)
    return {
      versions,
      count: versions.length,
      next_cursor: cursorBehind(call.operation.id, more && last ? last.last.ref : null),
    }
  })

function findStart(chain: readonly ChainVersion[], ref: number): number {
  const at = chain.findIndex(({ last }) => last.ref === ref)
  if (at === -1) throw new Refusal('rejected', 'the cursor is not one this list gave')
  return at + 1
}

/** Returns the versions the caller may see, in chain order; empty if there are none. */
async function findChain(
  { principal }: Call<typeof memory.history>,
  db: TenantDb,
  store_id: string,
  ref: number,
): Promise<ChainVersion[]> {
  const refs = await listChainRefs(db, ref, limits.history_versions)
  const chain = (await listEndVersions(db, refs)).filter(({ last }) => last.store_id === store_id)
  // A chain has one namespace. A tombstone does not name it, a stored version does. If no version
  // is stored, nothing shows that the chain belongs to the caller.
  if (principal.namespace !== undefined) {
    const [stored] = await findFactHeads(db, refs)
    if (!stored || !includesNamespace(principal, stored.namespace)) return []
  }
  return chain.sort(
    ({ first: a }, { first: b }) =>
      a.valid_from_us - b.valid_from_us || a.from_seq - b.from_seq || a.ref - b.ref,
  )
}

async function showVersions(
  { kernel }: Call<typeof memory.history>,
  db: TenantDb,
  page: readonly ChainVersion[],
): Promise<MemoryVersion[]> {
  const refs = page.map(({ last }) => last.ref)
  const facts = await loadVisibleFacts(kernel, db, refs)
  const hidden = refs.filter((ref) => !facts.has(ref))
  const states = new Map((await findFactHeads(db, hidden)).map(({ ref, state }) => [ref, state]))
  const tombstones = new Map((await findTombstones(db, hidden)).map((one) => [one.ref, one]))
  return page.map(({ first, last }) => {
    const { ref, valid_from_us, valid_until_us, superseded_by } = last
    const fact = facts.get(ref)
    const tombstone = tombstones.get(ref)
    const state = states.get(ref)
    return {
      ref,
      memory: fact ? showMemory(kernel, db.tenant_id, fact) : null,
      log_seq: first.from_seq,
      valid_from: formatTime(valid_from_us),
      valid_until: valid_until_us === null ? null : formatTime(valid_until_us),
      superseded_by,
      erased: fact === undefined && (state === undefined || state === ERASING),
      erased_at: tombstone ? formatTime(tombstone.erased_us) : null,
      erasure_certificate_id: tombstone?.certificate_id ?? null,
    }
  })
}

const PAGE = 1_000
/** Requests that may hold such versions in memory at once, one for every fact of the store. */
const AT_ONCE = 2
const RETRY_AFTER_S = 1

/** Versions on record at a log position, by ref. */
export interface RecordedVersions {
  readonly us: number
  readonly seq: number
  readonly rows: Map<number, ValidityRow>
}

/**
 * Runs `act` with the versions on record at `us`, which the log maps to a position. Each page is
 * read on its own snapshot; all snapshots agree on what was on record at a log position. `act` must
 * not keep the versions. Refuses `unavailable` if no permit becomes free within the time a read
 * waits for an index.
 */
export function withVersionsKnownAt<T>(
  kernel: Kernel,
  { tenant_id, store_id, us }: { tenant_id: string; store_id: string; us: number },
  act: (known: RecordedVersions) => Promise<T>,
): Promise<T> {
  return runWithPermit(kernel, kernel.settings.index_wait_ms, async () => {
    const seq = await kernel.db.read(tenant_id, (db) => seqAt(db, us))
    const known: RecordedVersions = { us, seq, rows: new Map() }
    const read = (after: VersionCursor) =>
      kernel.db.read(tenant_id, (db) =>
        listVersionsOnRecord(db, store_id, { seq, after, limit: PAGE }),
      )
    await collectVersions(known, START, read)
    return act(known)
  })
}

/**
 * Completes the versions on record at `us` for this snapshot: if `us` is in the future, the log may
 * have grown since.
 */
export async function completeVersions(
  db: TenantDb,
  store_id: string,
  { us, seq: from_seq, rows }: RecordedVersions,
): Promise<ReadonlyMap<number, ValidityRow>> {
  const seq = await seqAt(db, us)
  if (seq <= from_seq) return rows
  // A later version of a fact replaces the earlier one.
  const known: RecordedVersions = { us, seq, rows: new Map(rows) }
  await collectVersions(known, { from_seq, ref: Number.MAX_SAFE_INTEGER }, (after) =>
    listVersionsOnRecord(db, store_id, { seq, after, limit: PAGE }),
  )
  return known.rows
}

const START: VersionCursor = { from_seq: -1, ref: -1 }

async function collectVersions(
  { rows: known }: RecordedVersions,
  start: VersionCursor,
  read: (after: VersionCursor) => Promise<ValidityRow[]>,
): Promise<void> {
  const pace = yieldBetweenChunks()
  for (let after = start; ; ) {
    const rows = await read(after)
    for (const row of rows) known.set(row.ref, row)
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return
    after = { from_seq: last.from_seq, ref: last.ref }
    await pace()
  }
}

const permits = perKernel(() => semaphore(AT_ONCE))

/** Runs `act` under a permit; refuses `unavailable` when none is free for `wait_ms`. */
function runWithPermit<T>(kernel: Kernel, wait_ms: number, act: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let late = false
    const timer = setTimeout(() => {
      late = true
      reject(new Refusal('unavailable', undefined, { retry_after_s: RETRY_AFTER_S }))
    }, wait_ms)
    const run = async () => {
      if (late) return
      clearTimeout(timer)
      resolve(await act())
    }
    permits(kernel).run(run).catch(reject)
  })
}
