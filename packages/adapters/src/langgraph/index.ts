// LangGraph for JavaScript: a store for graphs.

export { CustosStore, type CustosStoreOptions, itemsAsData } from './custos-store.ts'
