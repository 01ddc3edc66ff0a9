// Reads of memories: the audit, pages, one memory, and the export stream.

import type { Memory, memory } from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import { formatTime } from '../../platform/clock.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { pageOf } from '../../platform/page.ts'
import { Refusal } from '../../platform/refusal.ts'
import { requireCapability } from './capabilities.ts'
import { findFact, findRefAtOffset, listFactsAfter } from './facts.sql.ts'
import { openRows, showMemory } from './opened-fact.ts'
import { openDescriptions } from './store-description.ts'
import { readableStore } from './store-settings.ts'

type Op<K extends keyof typeof memory> = (typeof memory)[K]

const CHUNK = 500

interface Page {
  readonly memories: Memory[]
  /** The ref to go on after; null at the end. */
  readonly next: number | null
}

/** Up to `limit` live memories with ref > after, in the order of refs. */
export async function pageMemories(
  kernel: Kernel,
  db: TenantDb,
  store_id: string,
  { after, limit }: { after: number; limit: number },
): Promise<Page> {
  const memories: Memory[] = []
  let from = after
  for (;;) {
    const wanted = Math.min(CHUNK, limit - memories.length)
    const rows = await listFactsAfter(db, store_id, { after: from, limit: wanted })
    const opened = await openRows(kernel, db.tenant_id, rows)
    for (const fact of opened) memories.push(showMemory(kernel, db.tenant_id, fact))
    const last = rows.at(-1)
    if (!last || rows.length < wanted) return { memories, next: null }
    if (memories.length >= limit) return { memories, next: last.ref }
    from = last.ref
  }
}

/** The ref a page begins after: from its cursor, or by counting to its offset. */
async function startOf(
  db: TenantDb,
  store_id: string,
  query: { cursor?: string; offset?: number } | undefined,
): Promise<number | null> {
  if (query?.cursor !== undefined) return readCursor(query.cursor)
  if (!query?.offset) return -1
  const first = await findRefAtOffset(db, store_id, query.offset)
  return first === undefined ? null : first.ref - 1
}

const writeCursor = (ref: number | null): string | null =>
  ref === null ? null : Buffer.from(`r${ref}`).toString('base64url')

function readCursor(cursor: string): number {
  const match = /^r(\d{1,16})$/.exec(Buffer.from(cursor, 'base64url').toString())
  if (!match) throw new Refusal('rejected', 'the cursor is not one this list gave')
  return Number(match[1])
}

const EMPTY: Page = { memories: [], next: null }

// GMP asks for everything in one answer; a limit turns it into pages. Each chunk is read on its own
// snapshot: a long audit holds up neither other readers nor the checkpoints of the database.
export const audit: Handler<Op<'audit'>> = async (call, { params, query }) => {
  const { kernel } = call
  const start = await call.read(async (db) => {
    const store = await readableStore(kernel, db, params.store_id)
    requireCapability(store, 'audit', call.operation.id)
    return startOf(db, store.store_id, query)
  })
  const limit = query.limit ?? Number.MAX_SAFE_INTEGER
  const memories: Memory[] = []
  let next = start
  while (next !== null && memories.length < limit) {
    const chunk = { after: next, limit: Math.min(CHUNK, limit - memories.length) }
    const page: Page = await call.read((db) => pageMemories(kernel, db, params.store_id, chunk))
    for (const shown of page.memories) memories.push(shown)
    next = page.next
  }
  return { memories, count: memories.length, next_cursor: writeCursor(next) }
}

export const listMemories: Handler<Op<'memories'>> = (call, { params, query }) =>
  call.read(async (db) => {
    const { store_id } = await readableStore(call.kernel, db, params.store_id)
    const after = await startOf(db, store_id, query)
    const { limit } = pageOf({ limit: query.limit ?? 100 }, 100)
    const page =
      after === null ? EMPTY : await pageMemories(call.kernel, db, store_id, { after, limit })
    return {
      memories: page.memories,
      count: page.memories.length,
      limit,
      offset: query.offset ?? 0,
      next_cursor: writeCursor(page.next),
    }
  })

export const getMemory: Handler<Op<'memory'>> = (call, { params }) =>
  call.read(async (db) => {
    const { store_id } = await readableStore(call.kernel, db, params.store_id)
    const row = await findFact(db, params.ref)
    const [fact] =
      row?.store_id === store_id ? await openRows(call.kernel, db.tenant_id, [row]) : []
    if (!fact) return call.refuse('memory_not_found')
    return showMemory(call.kernel, db.tenant_id, fact)
  })

/** A header line, then every memory; batches of their own snapshots, so no long one is held. */
export const exportStore: Handler<Op<'export'>> = async (call, { params }) => {
  const { kernel, tenant_id } = call
  const header = await call.read(async (db) => {
    const { row, ...settings } = await readableStore(kernel, db, params.store_id)
    const [description] = row ? await openDescriptions(kernel, tenant_id, [row]) : []
    return { ...settings, ...description }
  })
  const exported_at = formatTime(kernel.clock.now())
  return {
    filename: `memories_${params.store_id}.ndjson`,
    stream: lines({ custos_export: 1, tenant_id, store: header, exported_at }),
  }

  async function* lines(first: object): AsyncGenerator<string> {
    yield `${JSON.stringify(first)}\n`
    for (let after: number | null = -1; after !== null; ) {
      const at = after
      const page: Page = await call.read((db) =>
        pageMemories(kernel, db, params.store_id, { after: at, limit: CHUNK }),
      )
      for (const shown of page.memories) yield `${JSON.stringify(shown)}\n`
      after = page.next
    }
  }
}
