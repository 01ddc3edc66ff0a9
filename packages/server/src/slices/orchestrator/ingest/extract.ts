// The mode `extract` of 'memory.ingest': a model finds facts in the turns, and turns, facts and the
// signed record of both are written in one unit. Nothing is written before the answer is read.

import {
  type InputOf,
  type memoryIngestion,
  runLimits,
  scopeCovers,
  type WriteRequest,
} from '@custos/contract'
import { retryOnConflict } from '../../../platform/concurrency.ts'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import type { Call, ReplayIds } from '../../../platform/kernel/call.ts'
import { Refusal } from '../../../platform/refusal.ts'
import {
  logDecision,
  noteDisclosure,
  prepareDecision,
  prepareText,
  retryWhileErasing,
  storeText,
} from '../../decisions/index.ts'
import { type GateResult, gate, redactedOr, refusalOf } from '../../governance/index.ts'
import { askModel, findModel, type ModelAnswer, type OpenProvider } from '../../llm/index.ts'
import {
  type FactCandidate,
  gateWrites,
  loadWriteTarget,
  type WrittenConversation,
  writeConversation,
} from '../../memory/index.ts'
import { insertPrepared, prepareWaitingRecord } from '../../records/index.ts'
import { hasNoKey } from '../../tenants/index.ts'
import { actionRequest, agentActionRegistry, textOfFact } from '../runs/agent-actions.ts'
import { refuseLimited } from '../runs/agents.ts'
import { findEarlierIds, retrieveMemories } from '../runs/own-call.ts'
import {
  buildQuestion,
  compareFacts,
  INSTRUCTIONS,
  type NearMemory,
  readFacts,
} from './extracted-facts.ts'

type IngestCall = Call<(typeof memoryIngestion)['ingest']>

const ID_BYTES = 16
/** The token budget of the memories that the turns are compared with. */
const KNOWN_TOKENS = 2_048
const QUERY_CHARS = 4_000
const ANSWER_TOKENS = 4_096
const ATTEMPTS = 8
const NEEDED = ['memory:read', 'orchestrator:run'] as const

interface ExtractRequest {
  readonly store_id: string
  readonly body: InputOf<(typeof memoryIngestion)['ingest']>['body']
  /** The turns as memories. */
  readonly items: Parameters<typeof gateWrites>[2]
}

interface Conversation extends ExtractRequest {
  readonly extraction_id: string
  readonly provider: OpenProvider
  readonly model_id: string
  readonly memories: readonly NearMemory[]
  /** The text sent to the model. */
  readonly question: string
}

interface ExtractedIds extends ReplayIds, Omit<WrittenConversation, 'facts'> {
  readonly extraction: {
    readonly extraction_id: string
    readonly decision_id: string
    readonly provider_id: string
    readonly facts: WrittenConversation['facts']
  }
}

export async function extract(call: IngestCall, request: ExtractRequest): Promise<ExtractedIds> {
  refuseLimited(call)
  for (const scope of NEEDED)
    if (!scopeCovers(call.principal.scopes, scope))
      throw new Refusal('scope_missing', `the mode extract needs ${scope}`)
  const earlier = await findEarlierIds(call)
  // The ids were written below, and are the whole reply.
  if (earlier) return earlier as ExtractedIds
  const conversation = await prepareConversation(call, request)
  const { answer, sent_us } = await ask(call, conversation)
  const text = await checkAnswer(call, conversation, answer)
  const read = readFacts(text, conversation.items.length)
  if (!read) return call.refuse('model_answer_invalid')
  const facts = await gateFacts(call, conversation, compareFacts(read, conversation.memories))
  return store(call, conversation, { answer, sent_us, facts })
}

async function prepareConversation(
  call: IngestCall,
  request: ExtractRequest,
): Promise<Conversation> {
  const { kernel, tenant_id } = call
  const { store_id, body } = request
  const { model_id } = body
  if (model_id == null) return call.refuse('rejected', 'the mode extract needs model_id')
  // Runs before the policies, so that an unknown store or model is refused as such.
  await loadWriteTarget(kernel, tenant_id, store_id)
  const provider = await call.read((db) => findModel(kernel, db, model_id))
  if (!provider) return call.refuse('provider_not_found')
  const items = await gateWrites(call, store_id, request.items)
  const place = { namespace: body.namespace ?? null, tenant_id: body.tenant_id ?? null }
  const query = items
    .map(({ content }) => content)
    .join('\n')
    .slice(-QUERY_CHARS)
    .toWellFormed()
  const { memories } = await retrieveMemories(call, store_id, {
    ...place,
    query,
    budget_tokens: KNOWN_TOKENS,
  })
  const turns = items.map(({ content }, i) => ({ content, said_by: nameOf(body.messages[i]) }))
  const question = buildQuestion(turns, memories, kernel.ids.hex(ID_BYTES))
  if (Buffer.byteLength(question) > runLimits.text_bytes)
    return call.refuse('rejected', `the messages are longer than ${runLimits.text_bytes} bytes`)
  const gated = await gate(call, 'inference', {
    model_id,
    store_id,
    query: question,
    tokens: ANSWER_TOKENS,
    context_origins: ['caller', ...(memories.length > 0 ? ['memory'] : [])],
  })
  if (gated.verdict !== 'allowed') throw refusalOf(gated)
  return {
    ...request,
    items,
    provider,
    model_id,
    memories,
    question: redactedOr(gated.redactions[0] ?? {}, 'query', question),
    extraction_id: kernel.ids.hex(ID_BYTES),
  }
}

const nameOf = (message: ExtractRequest['body']['messages'][number] | undefined): string =>
  message?.speaker ?? message?.name ?? message?.role ?? ''

const recipientOf = ({ provider, extraction_id }: Conversation) =>
  ({
    kind: 'provider',
    recipient_id: provider.row.provider_id,
    step_id: extraction_id,
  }) as const

/** Ignores a closed connection: a retry with the same key then finds what was written. */
async function ask(
  call: IngestCall,
  conversation: Conversation,
): Promise<{ answer: ModelAnswer; sent_us: number }> {
  const { kernel } = call
  const { provider, memories, model_id, question } = conversation
  const shown = memories.map(({ ref }) => ref)
  const sent_us = await call.transact(async (tx) => {
    if (!(await noteDisclosure(tx, shown, recipientOf(conversation))))
      throw new Refusal('unavailable', 'a memory of the store is being erased')
    return tx.now()
  })
  const asked = await askModel(
    kernel,
    provider,
    {
      model_id,
      system: INSTRUCTIONS,
      messages: [{ role: 'user', text: question }],
      tools: [],
      max_tokens: ANSWER_TOKENS,
      temperature: 0,
    },
    { signal: new AbortController().signal },
  )
  await kernel.step('ingest:answered')
  if ('answer' in asked) return { answer: asked.answer, sent_us }
  if (asked.fault === 'malformed' || asked.fault === 'too_large')
    return call.refuse('model_answer_invalid')
  return call.refuse('model_unavailable', `the provider: ${asked.fault}`)
}

/** Checks the answer under the same policies as any output of a model. */
async function checkAnswer(
  call: IngestCall,
  { model_id, store_id }: Conversation,
  { text, calls }: ModelAnswer,
): Promise<string> {
  if (calls.length > 0 || Buffer.byteLength(text) > runLimits.text_bytes)
    return call.refuse('model_answer_invalid')
  if (!text.isWellFormed()) return call.refuse('model_answer_invalid')
  const gated = await gate(call, 'output_check', { model_id, store_id, output: text })
  if (gated.verdict !== 'allowed') throw refusalOf(gated)
  return redactedOr(gated.redactions[0] ?? {}, 'output', text)
}

/** Gates each fact as a write: a denied one is not written, one that needs approval waits. */
async function gateFacts(
  call: IngestCall,
  { store_id }: Conversation,
  facts: readonly FactCandidate[],
): Promise<ReadAnswer['facts']> {
  const passed: ReadAnswer['facts'][number][] = []
  for (const fact of facts) {
    if (fact.reason !== null || fact.same_as !== null) passed.push({ ...fact, waits: null })
    else passed.push(await gateFact(call, store_id, fact))
  }
  return passed
}

async function gateFact(
  call: IngestCall,
  store_id: string,
  fact: FactCandidate,
): Promise<ReadAnswer['facts'][number]> {
  const context = { store_id, content: fact.content, metadata: undefined }
  const gated = await gate(call, 'memory.write', context)
  if (gated.exceeded) throw refusalOf(gated)
  if (gated.verdict === 'denied') return { ...fact, reason: 'policy', waits: null }
  const content = redactedOr(gated.redactions[0] ?? {}, 'content', fact.content)
  if (gated.verdict === 'allowed') return { ...fact, content, waits: null }
  // An approval writes with the rights of a key, so without a key nothing can wait.
  const waits = hasNoKey(call.principal) ? null : gated
  return { ...fact, content, reason: 'approval_required', waits }
}

interface ReadAnswer {
  readonly answer: ModelAnswer
  readonly sent_us: number
  /** `waits`: the verdict that asks for a person, or `null` if the fact does not wait. */
  readonly facts: readonly (FactCandidate & { readonly waits: GateResult | null })[]
}

const store = (
  call: IngestCall,
  conversation: Conversation,
  { answer, sent_us, facts }: ReadAnswer,
): Promise<ExtractedIds> => {
  const { store_id, items } = conversation
  const write = () =>
    writeConversation<ExtractedIds>(call, {
      store_id,
      items,
      loc: ['body', 'messages'],
      facts,
      request: (fact, source_refs) => requestOf(conversation, fact, source_refs),
      prepare: (refs) => prepareRecord(call, conversation, { answer, sent_us, facts, refs }),
    })
  return retryWhileErasing(() => retryOnConflict(write, { on: 'decision_id', attempts: ATTEMPTS }))
}

/** The write request of a fact. */
function requestOf(
  { body, extraction_id }: Conversation,
  { content, supersedes }: FactCandidate,
  source_refs: readonly number[],
): WriteRequest {
  const { metadata, session_id, namespace = null, tenant_id = null } = body
  const shared = { ...metadata, ...(session_id != null && { session_id }) }
  const replaced = supersedes !== null && { supersedes }
  const named = { ...shared, extraction_id, source_refs: [...source_refs], ...replaced }
  return { content, namespace, tenant_id, metadata: named }
}

/**
 * Prepares the facts that wait for a person; `null` for one that does not wait. Each text is bound
 * to its turns and to the memories that the model was shown, including the one it replaces.
 */
function prepareWaiting(
  call: IngestCall,
  conversation: Conversation,
  { facts, refs }: Pick<ReadAnswer, 'facts'> & { readonly refs: readonly number[] },
) {
  const { kernel, tenant_id, principal } = call
  const { store_id, extraction_id, memories } = conversation
  const shown = memories.map(({ ref }) => ref)
  const prepare = async (fact: ReadAnswer['facts'][number]) => {
    const { waits: gated, supersedes } = fact
    if (gated === null) return null
    // The first memories in `refs` are the turns.
    const source_refs = fact.sources.flatMap((at) => refs[at] ?? [])
    const item = requestOf(conversation, fact, source_refs)
    const { key_id } = principal
    const text = await prepareText(kernel, tenant_id, {
      kind: 'call_args',
      run_id: extraction_id,
      text: textOfFact({ store_id, key_id, item, source_refs, supersedes }),
      refs: [...new Set([...shown, ...source_refs])],
    })
    const request = actionRequest({
      run_id: extraction_id,
      step_id: extraction_id,
      agent_id: extraction_id,
      call_id: kernel.ids.hex(ID_BYTES),
      operation: 'memory.write',
      effect: 'once',
      text_id: text.text_id,
      commitment: text.commitment,
    })
    const given = { request, gated }
    return { text, action: await prepareWaitingRecord(call, agentActionRegistry, given) }
  }
  return Promise.all(facts.map(prepare))
}

/** Logs the question, the outcome of the answer, and the disclosure of memories to the provider. */
async function prepareRecord(
  call: IngestCall,
  conversation: Conversation,
  { answer, sent_us, facts, refs }: ReadAnswer & { readonly refs: readonly number[] },
): Promise<(tx: Tx, written: WrittenConversation) => Promise<ExtractedIds>> {
  const { extraction_id, provider, model_id, store_id, question, memories } = conversation
  const shown = memories.map(({ ref }) => ref)
  const { provider_id } = provider.row
  const { kernel, tenant_id } = call
  const waiting = await prepareWaiting(call, conversation, { facts, refs })
  const draft = await prepareDecision(kernel, tenant_id, {
    store_id,
    model_id,
    query: question,
    output: '',
    session_id: conversation.body.session_id ?? null,
    refs: [...shown, ...refs],
    contents: [],
    scores: [],
    token_count: answer.tokens_out,
    latency_ms: null,
    parameters: { extraction_id, provider_id, model_version: answer.model_version },
    memory_seq: null,
  })
  return async (tx, written) => {
    const made = written.facts.flatMap(({ ref }) => ref ?? [])
    const used = [...shown, ...written.refs, ...made]
    const became = written.facts.map((fact, i) => {
      const action_id = waiting[i]?.action.row.record_id
      return action_id === undefined ? fact : { ...fact, outcome: 'waiting' as const, action_id }
    })
    const given = { ...draft.given, refs: used, output: describeFacts(facts, became) }
    const named = { ...draft.named, refs: [...new Set(used)].sort((a, b) => a - b) }
    const { decision_id } = await logDecision(tx, { ...draft, given, named })
    // The turns were sent before they became memories, so their disclosure is noted now.
    const told = [...shown, ...written.refs]
    if (!(await noteDisclosure(tx, told, { ...recipientOf(conversation), sent_us })))
      throw new Refusal('unavailable', 'a memory that the model was shown was erased meanwhile')
    for (const one of waiting) {
      if (one === null) continue
      await storeText(tx, one.text)
      await insertPrepared(tx, one.action)
    }
    const { facts: _, ...turns } = written
    return { ...turns, extraction: { extraction_id, decision_id, provider_id, facts: became } }
  }
}

/** Contains only texts that became memories, so that erasing them erases this text too. */
const describeFacts = (
  facts: readonly FactCandidate[],
  became: WrittenConversation['facts'],
): string =>
  became
    .map(({ outcome, ref, duplicate_of, superseded, source_refs, reason, action_id }, i) => {
      const from = `from ${source_refs.join(', ')}`
      if (outcome === 'waiting') return `waits for a person as action ${action_id}, ${from}`
      if (outcome === 'refused') return `refused (${reason}), ${from}`
      if (outcome === 'duplicate') return `duplicate of ${duplicate_of}, ${from}`
      const replaced = superseded === null ? '' : `, supersedes ${superseded}`
      return `memory ${ref}${replaced}, ${from}: ${facts[i]?.content}`
    })
    .join('\n')
