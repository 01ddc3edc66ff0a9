// `call` and the connection it needs, for programs that use few operations.

export type { Answer, Pending } from './call-result.ts'
export { Client, type ClientOptions } from './client.ts'
export type { CallOptions, Operation } from './exchange.ts'
export { call } from './exchange.ts'
