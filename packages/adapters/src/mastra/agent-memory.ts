// Memory for agents of Mastra: a processor that recalls memories, and tools.

import type { MastraDBMessage } from '@mastra/core/agent/message-list'
import type { ProcessInputArgs } from '@mastra/core/processors'
import { Tool } from '@mastra/core/tools'
import {
  type ForgetInput,
  forgetMemory,
  type SaveInput,
  type SearchInput,
  saveMemory,
  searchMemories,
  TOOL_TEXTS,
} from '../memory-tools.ts'
import {
  fenceMemories,
  type MemoryScope,
  namespaceOf,
  requireClient,
  shortQuestion,
  storeOf,
} from '../scope.ts'

export interface RecallOptions extends MemoryScope {
  /** The most tokens of memories in the prompt; default: 1024. */
  readonly budgetTokens?: number
  /** Called with the error of a failed retrieval; default: `console.warn`. */
  readonly onError?: (error: unknown) => void
  /** Whether a call fails if its memories cannot be read. */
  readonly failClosed?: boolean
}

/** The text of the last message of the user; undefined when there is none. */
function lastQuestion(messages: readonly MastraDBMessage[]): string | undefined {
  const content = messages.findLast(({ role }) => role === 'user')?.content
  const texts = content?.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])) ?? []
  const text = texts.join('\n') || content?.content || ''
  return text.trim() === '' ? undefined : text
}

/**
 * A processor for `inputProcessors` of an agent. It retrieves by the last message of the user and
 * adds one fenced system message after yours.
 */
export function custosRecall(options: RecallOptions) {
  requireClient('custosRecall', options)
  const { client, budgetTokens = 1024, failClosed = false } = options
  const { onError = (error: unknown) => console.warn(error) } = options

  async function recall(question: string, signal: AbortSignal | undefined) {
    const query = shortQuestion(question)
    const body = { query, budget_tokens: budgetTokens, ...namespaceOf(options) }
    try {
      return (await client.memory.retrieve(storeOf(options), body, { signal })).memories
    } catch (error) {
      if (failClosed) throw error
      onError(error)
      return []
    }
  }

  return {
    id: 'custos-recall',
    name: 'Custos memories',
    async processInput({ messages, systemMessages, abortSignal }: ProcessInputArgs) {
      const query = lastQuestion(messages)
      const memories = query === undefined ? [] : await recall(query, abortSignal)
      if (memories.length === 0) return { messages, systemMessages }
      const content = fenceMemories(memories)
      return { messages, systemMessages: [...systemMessages, { role: 'system' as const, content }] }
    },
  }
}

const { memory_search, memory_save, memory_forget } = TOOL_TEXTS

/**
 * `memory_search`, `memory_save` and `memory_forget` for `tools` of an agent. With a namespace they
 * reach no memory outside it.
 */
export function custosTools(scope: MemoryScope) {
  requireClient('custosTools', scope)
  return {
    memory_search: new Tool<SearchInput, object>({
      id: 'memory_search',
      description: memory_search.description,
      inputSchema: schemaOf(memory_search.input),
      execute: (input, { abortSignal }) => searchMemories(scope, input, abortSignal),
    }),
    memory_save: new Tool<SaveInput, object>({
      id: 'memory_save',
      description: memory_save.description,
      inputSchema: schemaOf(memory_save.input),
      execute: (input, { abortSignal }) => saveMemory(scope, input, abortSignal),
    }),
    memory_forget: new Tool<ForgetInput, object>({
      id: 'memory_forget',
      description: memory_forget.description,
      inputSchema: schemaOf(memory_forget.input),
      execute: (input, { abortSignal }) => forgetMemory(scope, input, abortSignal),
    }),
  }
}

/** Copies `required`, because the framework's schema type is mutable. */
const schemaOf = (input: (typeof TOOL_TEXTS)[keyof typeof TOOL_TEXTS]['input']) => ({
  ...input,
  required: [...input.required],
})
