// The face of models: handlers, who answers for a model, and one question to it.

import type { llm } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { createProvider, deleteProvider, listProviderPage } from './providers.ts'

export { type AskResult, askModel } from './ask-model.ts'
export type { ChatMessage, ModelAnswer, ModelQuestion } from './chat.ts'
export { findModel, type OpenProvider, providerTextSource } from './providers.ts'

export const llmHandlers = {
  create_provider: createProvider,
  list_providers: listProviderPage,
  delete_provider: deleteProvider,
} satisfies HandlersOf<typeof llm>
