// The face of models and tools: handlers, one question to a model, one call of a tool.

import type { llm } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { createProvider, deleteProvider, listProviderPage } from './providers.ts'
import { createTool, deleteTool, listTools, seedBuiltins } from './tools.ts'

export { type AskResult, admit, askModel, heldMs } from './ask-model.ts'
export { DELEGATE, isMemoryKind, type MemoryKind } from './builtin-tools.ts'
export type { ModelAnswer, ModelQuestion } from './chat.ts'
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
