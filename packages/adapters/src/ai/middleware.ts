// Memory as middleware of a model: recalls before each call, records the decision after it.

import {
  fenceMemories,
  type MemoryScope,
  namespaceOf,
  type RecalledMemory,
  requireClient,
  shortQuestion,
  storeOf,
} from '../scope.ts'

/** One recorded call of the model. */
export interface Turn {
  readonly query: string
  readonly output: string
  readonly memories: readonly RecalledMemory[]
}

export interface MemoryOptions extends MemoryScope {
  /** The most tokens of memories in the prompt; default: 1024. */
  readonly budgetTokens?: number
  /** Returns the texts to remember of a turn; default: none, because the model has tools for it. */
  readonly remember?: (turn: Turn) => readonly string[]
  /** Whether each call is recorded as a decision with the memories it saw; default: true. */
  readonly log?: boolean
  readonly sessionId?: string
  /** Called with errors that do not fail the call; default: `console.warn`. */
  readonly onError?: (error: unknown) => void
  /** Whether a call fails if its memories cannot be read or its record cannot be written. */
  readonly failClosed?: boolean
  /** Keeps a serverless function running until the record is written. */
  readonly waitUntil?: (work: Promise<void>) => void
  /** `v4` (the default) for version 7 of the AI SDK, `v3` for version 6. */
  readonly spec?: 'v3' | 'v4'
}

interface PromptMessage {
  readonly role: string
  readonly content: unknown
}

interface CallParams {
  prompt: readonly PromptMessage[]
  readonly abortSignal?: AbortSignal | undefined
}

interface CalledModel {
  readonly specificationVersion: string
  readonly modelId: string
}

/** The members of a model's result that both specifications share. */
interface GeneratedResult {
  readonly content: readonly object[]
  readonly usage?: object
}

interface Recall {
  readonly query: string
  readonly memories: readonly RecalledMemory[]
  readonly log_seq: number | undefined
  readonly started_ms: number
}

interface FinishedCall {
  readonly model: CalledModel
  readonly output: string
  readonly output_tokens: number | undefined
}

const textsOf = (content: unknown): string => {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .flatMap((part) => (part?.type === 'text' && typeof part.text === 'string' ? [part.text] : []))
    .join('\n')
}

/** The text of the last message of the user; undefined when there is none. */
function lastQuestion(prompt: readonly PromptMessage[]): string | undefined {
  const text = textsOf(prompt.findLast(({ role }) => role === 'user')?.content)
  return text.trim() === '' ? undefined : text
}

/** Inserts after existing system messages, so that the developer's instructions come first. */
function withSystemPart(prompt: readonly PromptMessage[], content: string): PromptMessage[] {
  const at = prompt.findIndex(({ role }) => role !== 'system')
  const index = at < 0 ? prompt.length : at
  return prompt.toSpliced(index, 0, { role: 'system', content })
}

/** The text of an answer, or its tool calls as JSON if it has no text. */
function outputOf(content: readonly object[]): string {
  const text = textsOf(content)
  if (text !== '') return text
  const calls = content.flatMap((part) =>
    'type' in part && part.type === 'tool-call' && 'toolName' in part && 'input' in part
      ? [{ tool: part.toolName, input: part.input }]
      : [],
  )
  return JSON.stringify(calls)
}

/** Version 7 reports usage as an object with a total, earlier versions as a number. */
function outputTokensOf(usage: unknown): number | undefined {
  if (typeof usage !== 'object' || usage === null || !('outputTokens' in usage)) return undefined
  const tokens: unknown = usage.outputTokens
  if (typeof tokens === 'number') return tokens
  const isObject = typeof tokens === 'object' && tokens !== null
  return isObject && 'total' in tokens && typeof tokens.total === 'number'
    ? tokens.total
    : undefined
}

const nowMs = () => performance.now()

class MemoryOfCalls {
  readonly #options: MemoryOptions
  readonly #recalls = new WeakMap<object, Recall>()

  constructor(options: MemoryOptions) {
    this.#options = options
  }

  async recallInto<P extends CallParams>(params: P): Promise<P> {
    const started_ms = nowMs()
    const query = lastQuestion(params.prompt)
    if (query === undefined) return params
    const found = await this.#recall(query, params.abortSignal)
    const memories = found?.memories ?? []
    const prompt =
      memories.length === 0 ? params.prompt : withSystemPart(params.prompt, fenceMemories(memories))
    const changed = { ...params, prompt }
    this.#recalls.set(changed, { query, memories, log_seq: found?.log_seq, started_ms })
    return changed
  }

  async #recall(question: string, signal: AbortSignal | undefined) {
    const { client, budgetTokens = 1024, failClosed = false } = this.#options
    const query = shortQuestion(question)
    const body = { query, budget_tokens: budgetTokens, ...namespaceOf(this.#options) }
    try {
      return await client.memory.retrieve(storeOf(this.#options), body, { signal })
    } catch (error) {
      if (failClosed) throw error
      this.#report(error)
      return undefined
    }
  }

  /** Records in the background, or before returning if `failClosed` is set. */
  async finish(params: object, call: FinishedCall): Promise<void> {
    const recall = this.#recalls.get(params)
    if (recall === undefined) return
    const work = this.#record(recall, call)
    if (this.#options.failClosed) return await work
    const reported = work.catch((error: unknown) => this.#report(error))
    this.#options.waitUntil?.(reported)
  }

  async #record(recall: Recall, { model, output, output_tokens }: FinishedCall): Promise<void> {
    const { client, log = true, remember, sessionId } = this.#options
    const { query, memories, log_seq } = recall
    const store = storeOf(this.#options)
    if (log)
      await client.decisions.log({
        store_id: store,
        model_id: model.modelId,
        query: shortQuestion(query),
        output,
        retrieved_refs: memories.map(({ ref }) => ref),
        retrieved_contents: memories.map(({ content }) => content),
        retrieved_scores: memories.map(({ score = 0 }) => score),
        latency_ms: Math.round(nowMs() - recall.started_ms),
        ...(log_seq !== undefined && { memory_seq: log_seq }),
        ...(output_tokens !== undefined && { token_count: output_tokens }),
        ...(sessionId !== undefined && { session_id: sessionId }),
      })
    const items = (remember?.({ query, output, memories }) ?? []).map((content) => ({
      content,
      ...namespaceOf(this.#options),
    }))
    if (items.length > 0) await client.memory.writeBatch(store, { items })
  }

  #report(error: unknown): void {
    const { onError = (failure: unknown) => console.warn(failure) } = this.#options
    onError(error)
  }
}

/** Passes a stream through and calls `finish` after its last chunk. */
function collectStream(finish: (call: Omit<FinishedCall, 'model'>) => Promise<void>) {
  const parts: object[] = []
  let text = ''
  let output_tokens: number | undefined
  return new TransformStream<object, object>({
    transform(chunk, controller) {
      controller.enqueue(chunk)
      const { type, delta, usage }: { type?: unknown; delta?: unknown; usage?: unknown } = chunk
      if (type === 'text-delta' && typeof delta === 'string') text += delta
      if (type === 'tool-call') parts.push(chunk)
      if (type === 'finish') output_tokens = outputTokensOf(usage)
    },
    flush: () => finish({ output: text === '' ? outputOf(parts) : text, output_tokens }),
  })
}

/**
 * Middleware for `wrapLanguageModel`. Before each call it retrieves by the last message of the user
 * and adds one fenced system part; after it, it records the decision with the memories it saw.
 */
export function custosMemory(
  options: MemoryOptions & { readonly spec: 'v3' },
): ReturnType<typeof middlewareOf<'v3'>>
export function custosMemory(options: MemoryOptions): ReturnType<typeof middlewareOf<'v4'>>
export function custosMemory(options: MemoryOptions) {
  requireClient('custosMemory', options)
  const memory = new MemoryOfCalls(options)
  return options.spec === 'v3' ? middlewareOf('v3', memory) : middlewareOf('v4', memory)
}

function middlewareOf<const Spec extends string>(spec: Spec, memory: MemoryOfCalls) {
  return {
    specificationVersion: spec,
    async transformParams<P extends CallParams>({
      params,
      model,
    }: {
      params: P
      model: CalledModel
    }): Promise<P> {
      requireSpec(spec, model)
      return await memory.recallInto(params)
    },
    async wrapGenerate<R extends GeneratedResult>({
      doGenerate,
      params,
      model,
    }: {
      doGenerate: () => PromiseLike<R>
      params: object
      model: CalledModel
    }): Promise<R> {
      const result = await doGenerate()
      const output_tokens = outputTokensOf(result.usage)
      await memory.finish(params, { model, output: outputOf(result.content), output_tokens })
      return result
    },
    async wrapStream<R extends { stream: ReadableStream }>({
      doStream,
      params,
      model,
    }: {
      doStream: () => PromiseLike<R>
      params: object
      model: CalledModel
    }): Promise<R> {
      const result = await doStream()
      const collect = collectStream((call) => memory.finish(params, { model, ...call }))
      return { ...result, stream: result.stream.pipeThrough(collect) }
    },
  }
}

/** The two versions wrap different models; a mismatch would fail far from its cause. */
function requireSpec(spec: string, { specificationVersion }: CalledModel): void {
  if (specificationVersion === spec) return
  throw new TypeError(
    `custosMemory was created with spec: '${spec}', but this version of the AI SDK wraps models ` +
      `of '${specificationVersion}': pass spec: 'v4' with ai 7, spec: 'v3' with ai 6`,
  )
}
