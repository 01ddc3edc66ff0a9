// Puts a data set into the service and asks it everything, over HTTP: what was returned, and when.

import Type from 'typebox'
import {
  type Conversation,
  type Dataset,
  evidenceIds,
  type Fact,
  hiddenKeys,
  type Question,
} from './data/dataset.ts'
import { readerOf } from './data/shape.ts'
import type { Service } from './process.ts'
import { countO200k } from './tokens.ts'

export const BUDGETS = [256, 512, 1024, 2048, 4096] as const

/** A ranking is looked at so far down: one by a later rank is less than 0.01. */
export const RANKED = 100
const UNLIMITED = 2 ** 30
const BATCH = 500
const LOOK_MS = 250
const LOOKS_MAX = 2_400

export interface Settings {
  /** The embedder every store is created with; absent: the service's own choice. */
  readonly embedder?: string | undefined
  /** Facts are written without their `session_id`. */
  readonly without_session?: boolean
  /** Every store makes digests of sessions that rest for that long; absent: it makes none. */
  readonly digest_after_s?: number | undefined
}

/** What came back for one budget. */
export interface BudgetResult {
  readonly budget: number
  /** Evidence ids of the facts of the answer. */
  readonly keys: readonly string[]
  /** Of each fact of the answer; absent: the service names none. */
  readonly confidences?: readonly number[]
  /** As the service says, and as counted here on the contents. */
  readonly tokens_used: number
  readonly tokens_counted: number
  /** How the service says it ranked; null: it does not say. */
  readonly ranking: string | null
  readonly ms: number
}

export interface Outcome extends Question {
  readonly conversation: string
  /** Evidence ids of the best facts without a budget, best first. */
  readonly ranked: readonly string[]
  readonly packed: readonly BudgetResult[]
  /** Facts that were shown although they were erased or superseded. */
  readonly hidden_shown: readonly string[]
  /**
   * For each digest among the keys, the evidence ids of what it quotes: a digest is no evidence.
   * Absent: there are none.
   */
  readonly quotes?: Readonly<Record<string, readonly string[]>>
}

/** Of all stores together; the embedder and its space where the service names them. */
export interface LoadReport {
  readonly embedder: string | null
  /** The space of the vectors. */
  readonly space: string | null
  readonly facts: number
  readonly superseded: number
  readonly erased: number
  readonly digests: number
  readonly seconds: number
}

export interface Drive {
  readonly outcomes: readonly Outcome[]
  readonly loading: LoadReport
}

const readCreated = readerOf(
  Type.Object({ store_id: Type.String(), embedder: Type.Optional(Type.String()) }),
)
const readBatch = readerOf(Type.Object({ refs: Type.Array(Type.Integer()) }))
const readSuperseded = readerOf(Type.Object({ ref: Type.Integer(), old_ref: Type.Integer() }))
const readDeleted = readerOf(Type.Object({ deleted: Type.Literal(true) }))
const readRetrieved = readerOf(
  Type.Object({
    memories: Type.Array(
      Type.Object({
        ref: Type.Integer(),
        content: Type.String(),
        digest: Type.Optional(Type.Object({ sources: Type.Array(Type.Integer()) })),
        confidence: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
      }),
    ),
    tokens_used: Type.Integer(),
    ranking: Type.Optional(Type.String()),
  }),
)
const readStats = readerOf(
  Type.Object({
    facts: Type.Optional(Type.Integer()),
    vectors: Type.Optional(
      Type.Object({ space: Type.Union([Type.String(), Type.Null()]), missing: Type.Integer() }),
    ),
  }),
)

/** One store a conversation, one after the other. */
export async function drive(
  service: Service,
  dataset: Dataset,
  settings: Settings,
): Promise<Drive> {
  const outcomes: Outcome[] = []
  let loading: LoadReport = {
    ...{ embedder: null, space: null },
    ...{ facts: 0, superseded: 0, erased: 0, digests: 0, seconds: 0 },
  }
  for (const conversation of dataset.conversations) {
    const began = performance.now()
    const { languages } = dataset
    const store = await load(service, { ...conversation, languages }, settings)
    const seconds = (performance.now() - began) / 1_000
    const digests = loading.digests + store.digests
    loading = addLoading({ ...loading, ...store.vectors, digests }, conversation.facts, seconds)
    const shown = {
      conversation: conversation.name,
      hidden: hiddenKeys(conversation),
      evidence: evidenceIds(conversation.facts),
    }
    for (const question of conversation.questions) outcomes.push(await ask(store, question, shown))
  }
  return { outcomes, loading }
}

function addLoading(sum: LoadReport, facts: readonly Fact[], seconds: number): LoadReport {
  return {
    ...sum,
    facts: sum.facts + facts.length,
    superseded: sum.superseded + facts.filter(({ replaces }) => replaces !== undefined).length,
    erased: sum.erased + facts.filter(({ erased }) => erased).length,
    seconds: sum.seconds + seconds,
  }
}

interface Store {
  post(operation: string, body: unknown): ReturnType<Service['post']>
  readonly keys: ReadonlyMap<number, string>
  readonly contents: ReadonlyMap<string, string>
  readonly digests: number
  readonly vectors: Pick<LoadReport, 'embedder' | 'space'>
}

async function load(
  service: Service,
  { name, facts, languages }: Conversation & Pick<Dataset, 'languages'>,
  { embedder, without_session = false, digest_after_s }: Settings,
): Promise<Store> {
  const wanted = {
    name,
    ...(embedder !== undefined && { embedder }),
    ...(languages !== undefined && { languages }),
    ...(digest_after_s !== undefined && { digest_after_s }),
  }
  const created = readCreated((await service.post('/v1/stores', wanted)).body)
  if (embedder !== undefined && created.embedder !== embedder)
    throw new Error(`the service created a store without the embedder ${embedder}`)
  const post: Store['post'] = (operation, body) =>
    service.post(`/v1/stores/${created.store_id}/${operation}`, body)
  const refs = new Map<string, number>()
  const write = { post, refs, without_session }
  for (const run of runsOf(facts)) await writeRun(write, run)
  for (const { key, erased } of facts)
    if (erased) readDeleted((await post('delete', { ref: refs.get(key) })).body)
  const left = facts.filter(({ erased }) => !erased).length
  const digests = digest_after_s === undefined ? 0 : await awaitDigests(service, created, left)
  const space = await awaitVectors(service, created.store_id)
  const vectors = { embedder: created.embedder ?? null, space }
  const contents = new Map(facts.map(({ key, content }) => [key, content]))
  const keys = new Map([...refs].map(([key, ref]) => [ref, key]))
  return { post, keys, contents, digests, vectors }
}

/** How long nothing is added before all digests are taken to be made: timers run within it. */
const DIGESTS_DONE_MS = 25_000

/** The number of digests, once there are no more to come. */
async function awaitDigests(
  service: Service,
  { store_id }: { store_id: string },
  written: number,
): Promise<number> {
  let [facts, since] = [written, performance.now()]
  while (performance.now() - since < DIGESTS_DONE_MS) {
    const stats = readStats((await service.get(`/v1/stores/${store_id}/stats`)).body)
    if (stats.facts !== facts) [facts, since] = [stats.facts ?? written, performance.now()]
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
  return facts - written
}

/** Vectors may be made after the writes: nothing is asked before all are there. */
async function awaitVectors(service: Service, store_id: string): Promise<string | null> {
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    const { vectors } = readStats((await service.get(`/v1/stores/${store_id}/stats`)).body)
    if (!vectors || vectors.space === null || vectors.missing === 0) return vectors?.space ?? null
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
  throw new Error('the vectors of a store were not made in time')
}

/** Facts that can be written together, in order; one that replaces another is a run of its own. */
export function runsOf(facts: readonly Fact[]): Fact[][] {
  const runs: Fact[][] = []
  for (const fact of facts) {
    const last = runs.at(-1)
    const joins = last?.[0]?.replaces === undefined && fact.replaces === undefined
    if (last && joins && last.length < BATCH) last.push(fact)
    else runs.push([fact])
  }
  return runs
}

interface StoreWriter extends Pick<Store, 'post'> {
  readonly refs: Map<string, number>
  readonly without_session: boolean
}

async function writeRun(
  { post, refs, without_session }: StoreWriter,
  run: readonly Fact[],
): Promise<void> {
  const [first] = run
  // JSON leaves out a member that is undefined.
  const omitted = without_session ? { session_id: undefined } : {}
  const item = ({ content, metadata }: Fact) => ({
    content,
    options: { metadata: { ...metadata, ...omitted } },
  })
  if (first?.replaces !== undefined) {
    const old_ref = refs.get(first.replaces)
    const { body } = await post('supersede', { old_ref, ...item(first) })
    refs.set(first.key, readSuperseded(body).ref)
    return
  }
  const written = readBatch((await post('write_batch', { items: run.map(item) })).body)
  for (const [at, { key }] of run.entries()) refs.set(key, written.refs[at] ?? 0)
}

async function ask(
  store: Store,
  question: Question,
  {
    conversation,
    hidden,
    evidence,
  }: {
    conversation: string
    hidden: ReadonlySet<string>
    evidence: ReadonlyMap<string, string>
  },
): Promise<Outcome> {
  const ranking = await retrieve(store, question.text, { budget: UNLIMITED, top_k: RANKED })
  const packed: QuotedResult[] = []
  for (const budget of BUDGETS) packed.push(await retrieve(store, question.text, { budget }))
  const quoted = Object.assign({}, ...[ranking, ...packed].map(({ quotes }) => quotes))
  const shown = new Set([
    ...[ranking, ...packed].flatMap(({ keys }) => keys),
    ...Object.values<readonly string[]>(quoted).flat(),
  ])
  const hidden_shown = [...shown].filter((key) => hidden.has(key))
  const toEvidence = (keys: readonly string[]) => keys.map((key) => evidence.get(key) ?? key)
  return {
    ...question,
    conversation,
    ranked: toEvidence(ranking.keys),
    packed: packed.map(({ quotes: _, ...one }) => ({ ...one, keys: toEvidence(one.keys) })),
    hidden_shown,
    quotes: Object.fromEntries(
      Object.entries<readonly string[]>(quoted).map(([key, keys]) => [key, toEvidence(keys)]),
    ),
  }
}

interface QuotedResult extends BudgetResult {
  /** The keys of what each digest quotes. */
  readonly quotes: Readonly<Record<string, readonly string[]>>
}

async function retrieve(
  { post, keys, contents }: Store,
  query: string,
  { budget, top_k }: { budget: number; top_k?: number },
): Promise<QuotedResult> {
  const { body, ms } = await post('retrieve', { query, budget_tokens: budget, top_k })
  const { memories, tokens_used, ranking = null } = readRetrieved(body)
  const digests = memories.filter(({ digest }) => digest !== undefined)
  const isDigest = new Set(digests.map(({ ref }) => ref))
  const quotes = Object.fromEntries(
    digests.map(({ ref, content, digest }) => [
      `digest:${ref}`,
      (digest?.sources ?? []).flatMap((source) => {
        const key = keys.get(source) ?? ''
        return quotesFact(content, contents.get(key) ?? '') ? [key] : []
      }),
    ]),
  )
  const keyOf = (ref: number) => {
    const key = isDigest.has(ref) ? `digest:${ref}` : keys.get(ref)
    if (key === undefined) throw new Error(`the answer shows ref ${ref}, which nobody wrote`)
    return key
  }
  const confidences = memories.flatMap(({ confidence }) => confidence ?? [])
  return {
    budget,
    keys: memories.map(({ ref }) => keyOf(ref)),
    ...(confidences.length === memories.length && { confidences }),
    tokens_used,
    tokens_counted: memories.reduce((sum, { content }) => sum + countO200k(content), 0),
    ranking,
    ms,
    quotes,
  }
}

/** Whether a line of the digest, after the name of who says it, is a sentence of the fact. */
const quotesFact = (digest: string, fact: string): boolean =>
  digest
    .split('\n')
    .slice(1)
    .some((line) => fact.includes(line) || fact.includes(line.slice(line.indexOf(': ') + 2)))

/** The outcome as if a digest were the facts that it quotes. */
export function countQuotes(outcome: Outcome): Outcome {
  const told = (keys: readonly string[]) => keys.flatMap((key) => outcome.quotes?.[key] ?? [key])
  return {
    ...outcome,
    ranked: told(outcome.ranked),
    packed: outcome.packed.map((one) => ({ ...one, keys: told(one.keys) })),
  }
}
