// LangChain: the history of a conversation, and a retriever.

export {
  type ChatHistoryOptions,
  CustosChatHistory,
  CustosRetriever,
  type RetrieverOptions,
} from './history.ts'
