// `call` and the client it needs, for programs that use only a few operations.

export type { Answer, Pending } from './call-result.ts'
export { Client, type ClientOptions } from './client.ts'
export type { CallOptions, Operation } from './exchange.ts'
export { call } from './exchange.ts'
