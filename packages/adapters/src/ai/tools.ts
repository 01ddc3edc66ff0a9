// Memory tools for agents of the AI SDK: search, save and forget with proof.

import { jsonSchema, tool } from 'ai'
import {
  type ForgetInput,
  forgetMemory,
  type SaveInput,
  type SearchInput,
  saveMemory,
  searchMemories,
  TOOL_TEXTS,
} from '../memory-tools.ts'
import { type MemoryScope, requireClient } from '../scope.ts'

const { memory_search, memory_save, memory_forget } = TOOL_TEXTS

/** Copies `required`, because the framework's schema type is mutable. */
const schemaOf = <Input>(input: (typeof TOOL_TEXTS)[keyof typeof TOOL_TEXTS]['input']) =>
  jsonSchema<Input>({ ...input, required: [...input.required] })

/**
 * `memory_search`, `memory_save` and `memory_forget` for `generateText`, `streamText` or an agent.
 * A refusal of the service is thrown; the SDK shows it to the model as the tool's error.
 */
export function custosTools(scope: MemoryScope) {
  requireClient('custosTools', scope)
  return {
    memory_search: tool({
      description: memory_search.description,
      inputSchema: schemaOf<SearchInput>(memory_search.input),
      execute: (input: SearchInput, { abortSignal }) => searchMemories(scope, input, abortSignal),
    }),
    memory_save: tool({
      description: memory_save.description,
      inputSchema: schemaOf<SaveInput>(memory_save.input),
      execute: (input: SaveInput, { abortSignal }) => saveMemory(scope, input, abortSignal),
    }),
    memory_forget: tool({
      description: memory_forget.description,
      inputSchema: schemaOf<ForgetInput>(memory_forget.input),
      execute: (input: ForgetInput, { abortSignal }) => forgetMemory(scope, input, abortSignal),
    }),
  }
}
