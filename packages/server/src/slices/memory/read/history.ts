// GET /v1/stores/{store_id}/memories/{ref}/history: the version chain of a memory, oldest first.

import { limits, type MemoryVersion, type memory } from '@custos/contract'
import { formatTime } from '../../../platform/clock.ts'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../../platform/kernel/call.ts'
import { includesNamespace } from '../../../platform/namespace.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { showMemory } from '../facts/fact-document.ts'
import { ERASING, findFactHeads, findTombstones } from '../facts/facts.sql.ts'
import { loadVisibleFacts } from '../facts/opened-fact.ts'
import { listChainRefs, listEndVersions } from '../facts/validity.sql.ts'
import { loadReadableStore } from '../stores/store-settings.ts'
import { readCursor, writeCursor } from './memory-reads.ts'

type History = typeof memory.history
type ChainVersion = Awaited<ReturnType<typeof listEndVersions>>[number]

export const listHistory: Handler<History> = (call, { params, query }) =>
  call.read(async (db) => {
    const { store_id } = await loadReadableStore(call.kernel, db, params.store_id)
    const chain = await findChain(call, db, store_id, params.ref)
    if (!chain.some(({ last }) => last.ref === params.ref)) return call.refuse('memory_not_found')
    const start = query.cursor === undefined ? 0 : findStart(chain, readCursor(query.cursor))
    const page = chain.slice(start, start + (query.limit ?? limits.history_page.default))
    const versions = await showVersions(call, db, page)
    const more = start + page.length < chain.length
    const last = page.at(-1)
    return {
      versions,
      count: versions.length,
      next_cursor: writeCursor(more && last ? last.last.ref : null),
    }
  })

function findStart(chain: readonly ChainVersion[], ref: number): number {
  const at = chain.findIndex(({ last }) => last.ref === ref)
  if (at === -1) throw new Refusal('rejected', 'the cursor is not one of this list')
  return at + 1
}

/** The versions that the caller may know of, in their order; none: there is no such memory. */
async function findChain(
  { principal }: Call<History>,
  db: TenantDb,
  store_id: string,
  ref: number,
): Promise<ChainVersion[]> {
  const refs = await listChainRefs(db, ref, limits.history_versions)
  const chain = (await listEndVersions(db, refs)).filter(({ last }) => last.store_id === store_id)
  // A chain has one namespace. What is left of an erased version does not name it, a stored one
  // does: without any, nothing shows that the chain is the caller's.
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
  { kernel }: Call<History>,
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
