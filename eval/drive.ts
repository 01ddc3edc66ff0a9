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
}

/** Of all stores together; the embedder and its space where the service names them. */
export interface LoadReport {
  readonly embedder: string | null
  /** The space of the vectors. */
  readonly space: string | null
  readonly facts: number
  readonly superseded: number
  readonly erased: number
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
        confidence: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
      }),
    ),
    tokens_used: Type.Integer(),
    ranking: Type.Optional(Type.String()),
  }),
)
const readStats = readerOf(
  Type.Object({
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
    ...{ facts: 0, superseded: 0, erased: 0, seconds: 0 },
  }
  for (const conversation of dataset.conversations) {
    const began = performance.now()
    const { languages } = dataset
    const store = await load(service, { ...conversation, languages }, settings)
    const seconds = (performance.now() - began) / 1_000
    loading = addLoading({ ...loading, ...store.vectors }, conversation.facts, seconds)
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
  readonly vectors: Pick<LoadReport, 'embedder' | 'space'>
}

async function load(
  service: Service,
  { name, facts, languages }: Conversation & Pick<Dataset, 'languages'>,
  { embedder, without_session = false }: Settings,
): Promise<Store> {
  const wanted = {
    name,
    ...(embedder !== undefined && { embedder }),
    ...(languages !== undefined && { languages }),
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
  const space = await awaitVectors(service, created.store_id)
  const vectors = { embedder: created.embedder ?? null, space }
  return { post, keys: new Map([...refs].map(([key, ref]) => [ref, key])), vectors }
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
  const packed: BudgetResult[] = []
  for (const budget of BUDGETS) packed.push(await retrieve(store, question.text, { budget }))
  const shown = new Set([ranking, ...packed].flatMap(({ keys }) => keys))
  const hidden_shown = [...shown].filter((key) => hidden.has(key))
  const toEvidence = (keys: readonly string[]) => keys.map((key) => evidence.get(key) ?? key)
  return {
    ...question,
    conversation,
    ranked: toEvidence(ranking.keys),
    packed: packed.map((one) => ({ ...one, keys: toEvidence(one.keys) })),
    hidden_shown,
  }
}

async function retrieve(
  { post, keys }: Store,
  query: string,
  { budget, top_k }: { budget: number; top_k?: number },
): Promise<BudgetResult> {
  const { body, ms } = await post('retrieve', { query, budget_tokens: budget, top_k })
  const { memories, tokens_used, ranking = null } = readRetrieved(body)
  const keyOf = (ref: number) => {
    const key = keys.get(ref)
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
  }
}
