// LangChain: the history of a conversation, and a retriever.

export { type ChatHistoryOptions, CustosChatHistory } from './history.ts'
export { CustosRetriever, type RetrieverOptions } from './retriever.ts'
