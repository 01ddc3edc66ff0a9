// POST /v1/stores/{store_id}/retrieve: the best memories within a token budget.

import { limits, type memory, type RankedMemory, type RetrieveRequest } from '@custos/contract'
import type { Call, Handler } from '../../platform/call.ts'
import { parseTime } from '../../platform/clock.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { Refusal } from '../../platform/refusal.ts'
import { findHead, seqAt } from '../gcrumbs/index.ts'
import { requireCapability } from './capabilities.ts'
import { readNamespace } from './namespace.ts'
import { openFacts, showMemory } from './opened-fact.ts'
import { packWithinBudget } from './retrieval/pack.ts'
import type { Ranked, SearchRequest, Validity } from './retrieval/store-index.ts'
import { storeIndexes } from './store-indexes.ts'
import { type ReadableStore, readableStore } from './store-settings.ts'
import { listKnown } from './validity.sql.ts'

type Retrieve = typeof memory.retrieve

/** Candidates looked at for a budget: more than could be packed but for tiny facts far down. */
const CANDIDATES_MIN = 256
const CANDIDATES_MAX = 100_000
const KNOWN_PAGE = 1_000

export const retrieve: Handler<Retrieve> = async (call, { params, body }) => {
  const { kernel } = call
  const wish = readWish(body)
  const { store, log_seq } = await call.read(async (db) => ({
    store: await readableStore(kernel, db, params.store_id),
    log_seq: await lastSeq(db),
  }))
  const namespace = gate(call, store, wish)

  const ranked = store.row ? await search(call, store, { ...wish, namespace }) : []
  const { packed, dropped } = packWithinBudget(ranked, wish.budget_tokens)

  const memories = await call.read((db) => show(call, db, store.store_id, packed))
  const last = packed.at(-1)
  return {
    memories,
    tokens_used: memories.reduce((sum, { token_count }) => sum + token_count, 0),
    budget_tokens: wish.budget_tokens,
    dropped: last ? dropped.filter((item) => isBefore(item, last)).length : dropped.length,
    log_seq,
    tokenizer: store.tokenizer,
  }
}

interface Wish {
  readonly query: string
  readonly budget_tokens: number
  readonly top_k: number
  readonly as_of_us: number | null
  readonly known_at_us: number | null
  readonly names: { tenant_id?: string | null; namespace?: string | null }
  readonly filter: Readonly<Record<string, unknown>> | null
}

/** Every option at the top level too; the one in `options` wins. */
function readWish(body: RetrieveRequest): Wish {
  if (Buffer.byteLength(body.query) > limits.query_bytes) throw queryTooLong()
  const options = body.options ?? {}
  const pick = <K extends keyof typeof options & keyof RetrieveRequest>(key: K) =>
    options[key] ?? body[key]
  const budget = pick('budget_tokens') ?? limits.budget_tokens_default
  const as_of = pick('as_of')
  const known_at = pick('known_at')
  return {
    query: body.query,
    budget_tokens: Math.min(Math.max(budget, 0), limits.budget_tokens),
    top_k: Math.min(pick('top_k') ?? CANDIDATES_MAX, pick('limit') ?? CANDIDATES_MAX),
    as_of_us: as_of ? parseTime(as_of) : null,
    known_at_us: known_at ? parseTime(known_at) : null,
    names: { tenant_id: pick('tenant_id') ?? null, namespace: pick('namespace') ?? null },
    filter: options.metadata ?? null,
  }
}

const queryTooLong = (): Refusal => {
  const msg = `query has ${limits.query_bytes} bytes at most`
  return new Refusal('validation', undefined, {
    detail: [{ loc: ['body', 'query'], msg, type: 'too_long' }],
  })
}

function gate(call: Call<Retrieve>, store: ReadableStore, wish: Wish): string | null {
  const namespace = readNamespace(call.tenant_id, wish.names)
  if (namespace !== null) requireCapability(store, 'multi_tenant', call.operation.id)
  if (wish.as_of_us !== null || wish.known_at_us !== null)
    requireCapability(store, 'bi_temporal', call.operation.id)
  return namespace
}

const lastSeq = async (db: TenantDb): Promise<number> =>
  Math.max(0, ((await findHead(db))?.size ?? 0) - 1)

async function search(
  call: Call<Retrieve>,
  store: ReadableStore,
  wish: Wish & { namespace: string | null },
): Promise<Ranked[]> {
  const { kernel, tenant_id } = call
  const head_seq = store.row?.head_seq ?? 0
  const index = await storeIndexes(kernel).current(tenant_id, store.store_id, head_seq)
  const [vector = null] = await kernel.embedder.embed([wish.query])
  const visible = wish.known_at_us === null ? null : await knownAt(call, store, wish.known_at_us)
  const most = Math.min(Math.max(wish.budget_tokens, CANDIDATES_MIN), CANDIDATES_MAX)
  const request: SearchRequest = {
    query: wish.query,
    vector,
    namespace: wish.namespace,
    at_us: wish.as_of_us ?? wish.known_at_us ?? kernel.clock.now(),
    filter: wish.filter,
    visible,
    limit: Math.min(wish.top_k, most),
    min_score: null,
  }
  return index.search(request)
}

/** Validity of the store's facts as it was on record at a time: the log maps it to a position. */
async function knownAt(
  call: Call<Retrieve>,
  { store_id }: ReadableStore,
  us: number,
): Promise<Map<number, Validity>> {
  return call.read(async (db) => {
    const known = new Map<number, Validity>()
    const seq = await seqAt(db, us)
    let after = { from_seq: -1, ref: -1 }
    for (;;) {
      const rows = await listKnown(db, store_id, { seq, after, limit: KNOWN_PAGE })
      for (const row of rows) known.set(row.ref, row)
      const last = rows.at(-1)
      if (!last || rows.length < KNOWN_PAGE) return known
      after = { from_seq: last.from_seq, ref: last.ref }
    }
  })
}

async function show(
  call: Call<Retrieve>,
  db: TenantDb,
  store_id: string,
  packed: readonly Ranked[],
): Promise<RankedMemory[]> {
  const refs = packed.map(({ ref }) => ref)
  const facts = await openFacts(call.kernel, db, refs)
  return packed.flatMap(({ ref, score, parts }) => {
    const fact = facts.get(ref)
    // Erased since it was ranked: the row is the truth.
    if (!fact || fact.store_id !== store_id) return []
    const shown = showMemory(call.kernel, call.tenant_id, fact)
    return [{ ...shown, score, score_parts: { ...parts } }]
  })
}

const isBefore = (a: Ranked, b: Ranked): boolean =>
  a.score > b.score || (a.score === b.score && a.ref < b.ref)
