// Models and tools: asks a model one question through guarded egress, with limits of time and bytes
// and retries where the provider says "later"; the handlers, and one call of a tool.

import { setTimeout as sleep } from 'node:timers/promises'
import type { llm } from '@custos/contract'
import { canonicalize } from '@custos/proof'
import { Breaker } from '../../platform/breaker.ts'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { LruCache } from '../../platform/lru-cache.ts'
import {
  AnswerStream,
  CHAT_FORMS,
  type ModelAnswer,
  type ModelQuestion,
  STREAMING,
} from './chat.ts'
import { createProvider, deleteProvider, listProviderPage, type OpenProvider } from './providers.ts'
import { createTool, deleteTool, listTools, seedBuiltins } from './tools.ts'

/** `unsent`: not asked, or the provider said that it did not answer. `lost`: nobody knows. */
export type AskResult =
  | { readonly answer: ModelAnswer }
  | {
      readonly fault: string
      readonly spent: 'unsent' | 'lost'
      /** How long the provider asks to wait before the next try. */
      readonly again_ms?: number
    }

const CALL_MS = 120_000
const ANSWER_BYTES = 1024 * 1024
/** Larger than `ANSWER_BYTES`, because each streamed event wraps one word in hundreds of bytes. */
const STREAM_BYTES = 32 * ANSWER_BYTES
const TRIES = 3
const WAIT_MS = 500
const WAIT_MAX_MS = 20_000
const UNAVAILABLE = 503
const OVERLOADED = 529

/** Statuses by which a provider says that it has not answered. */
const saysLater = (status: number): boolean =>
  status === 429 || status === UNAVAILABLE || status === OVERLOADED

/** Consecutive failures after which the circuit breaker of a provider opens. */
const FAILURES = 5
const BREAKERS_MAX = 10_000

const breakersOf = perKernel(() => new LruCache<string, Breaker>({ max: BREAKERS_MAX }))

/** The circuit breaker of one provider of one tenant in this process; tenants are independent. */
function breakerOf(kernel: Kernel, { row: { provider_id } }: OpenProvider): Breaker {
  const breakers = breakersOf(kernel)
  return breakers.get(provider_id) ?? breakers.set(provider_id, new Breaker(FAILURES))
}

/** A 4xx status is the fault of the question or the key, so it does not count as a failure. */
const isFailure = (fault: string): boolean =>
  fault !== 'refused_address' && (fault === 'status_429' || !fault.startsWith('status_4'))

/** Milliseconds until a provider that keeps failing may be asked again; 0 if it may be now. */
export const heldMs = (kernel: Kernel, provider: OpenProvider): number =>
  breakerOf(kernel, provider).held_ms

interface AskOptions {
  readonly signal: AbortSignal
  /** Receives each piece of the answer of a provider that streams. */
  readonly on_text?: ((text: string) => void) | undefined
}

/**
 * Admits one question to a provider if the returned `held_ms` is 0. The caller must then either
 * call `ask`, or `gaveUp` if it asks nothing after all.
 */
export function admit(kernel: Kernel, provider: OpenProvider) {
  const breaker = breakerOf(kernel, provider)
  const ask = async (question: ModelQuestion, options: AskOptions): Promise<AskResult> => {
    try {
      const result = await send(kernel, provider, question, options)
      if ('fault' in result && isFailure(result.fault)) {
        const held_ms = breaker.failed(result.again_ms ?? null)
        const { provider_id } = provider.row
        if (breaker.held_ms > 0) kernel.logger.warn('model.held', { provider_id, held_ms })
      } else breaker.succeeded()
      return result
    } catch (error) {
      breaker.gaveUp()
      throw error
    }
  }
  return { held_ms: breaker.enter(), ask, gaveUp: () => breaker.gaveUp() }
}

/** Asks through the circuit breaker. Rejects only once `signal` is aborted. */
export async function askModel(
  kernel: Kernel,
  provider: OpenProvider,
  question: ModelQuestion,
  options: AskOptions,
): Promise<AskResult> {
  const { held_ms, ask } = admit(kernel, provider)
  return held_ms > 0 ? { fault: 'held', spent: 'unsent' } : ask(question, options)
}

async function send(
  kernel: Kernel,
  { row, words }: OpenProvider,
  question: ModelQuestion,
  { signal, on_text = () => {} }: AskOptions,
): Promise<AskResult> {
  const streams = words.streams === true
  const form = CHAT_FORMS[row.kind]
  const request = {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': `Custos/${kernel.settings.version}`,
      ...form.headers(words.api_key),
    },
    body: JSON.stringify({ ...form.body(question), ...(streams && STREAMING[row.kind]) }),
    keep_bytes: streams ? STREAM_BYTES : ANSWER_BYTES,
    total_ms: CALL_MS,
    signal,
  } as const
  for (let attempt = 1; ; attempt += 1) {
    const stream = streams ? new AnswerStream(row.kind) : null
    const reply = await kernel.egress.send(`${words.base_url}${form.path}`, {
      ...request,
      ...(stream && { on_chunk: (chunk: Uint8Array) => on_text(stream.push(chunk)) }),
    })
    if ('fault' in reply) {
      const unsent = ['refused_address', 'dns', 'tls'].includes(reply.fault)
      return { fault: reply.fault, spent: unsent ? 'unsent' : 'lost' }
    }
    const { status, retry_after_s, body } = reply
    if (status >= 200 && status < 300) {
      const answer = parseAnswer(form, stream ? stream.finish() : parseJson(body))
      return answer ? { answer } : { fault: 'malformed', spent: 'lost' }
    }
    const later = saysLater(status)
    if (!later || attempt >= TRIES)
      return { fault: `status_${status}`, spent: later || status < 500 ? 'unsent' : 'lost' }
    const wait_ms = retry_after_s === null ? WAIT_MS * 2 ** (attempt - 1) : retry_after_s * 1_000
    if (wait_ms > WAIT_MAX_MS)
      return { fault: `status_${status}`, spent: 'unsent', again_ms: wait_ms }
    await sleep(wait_ms, undefined, { signal })
  }
}

/** Returns `null` if the reply is not an answer, or one that has no canonical JSON. */
function parseAnswer(form: (typeof CHAT_FORMS)[keyof typeof CHAT_FORMS], reply: unknown) {
  try {
    const answer = form.parse(reply)
    if (answer) canonicalize(answer.calls.map((one) => ({ ...one })))
    // A lone surrogate has no UTF-8 bytes to hash, so it is replaced.
    return answer && { ...answer, text: answer.text.toWellFormed() }
  } catch {
    return null
  }
}

function parseJson(body: Buffer | undefined): unknown {
  try {
    return JSON.parse((body ?? Buffer.alloc(0)).toString())
  } catch {
    return null
  }
}

export { DELEGATE, isMemoryKind, type MemoryKind } from './builtin-tools.ts'
export type { ChatMessage, ModelAnswer, ModelQuestion } from './chat.ts'
export { findModel, type OpenProvider, providerTextSource } from './providers.ts'
export { callHttp, type ToolOutcome } from './tool-request.ts'
export { findArgsProblem, listEnabledTools, type OpenTool, toolTextSource } from './tools.ts'

export const llmHandlers = {
  create_provider: createProvider,
  list_providers: listProviderPage,
  delete_provider: deleteProvider,
  create_tool: createTool,
  seed_builtins: seedBuiltins,
  list_tools: listTools,
  delete_tool: deleteTool,
} satisfies HandlersOf<typeof llm>
