// The session of an MCP server: a client with a credential, a store, and the tools they permit.

import { createHash } from 'node:crypto'
import type { Custos } from '@custos/client'
import type { GraphBudget } from './graph.ts'

export const TOOL_SETS = ['core', 'governed', 'graph', 'all'] as const
export type ToolSet = (typeof TOOL_SETS)[number]

export interface SessionOptions {
  /** The client with the credential. The service authorises every action of a tool by it. */
  readonly custos: Custos
  readonly store: string
  readonly tenant_id: string
  /** Scopes of the credential; tools that need others are not listed. */
  readonly scopes: readonly string[]
  readonly tools: ToolSet
  /** The only namespace that tools read and write. If absent, each call may name one. */
  readonly namespace?: string | undefined
  /** The most tokens of a search, unless the call requests another number. */
  readonly budget?: number | undefined
  /** The most tokens of `read_graph` and `search_nodes`; no limit if absent. */
  readonly graph_budget?: GraphBudget | undefined
  readonly read_only?: boolean | undefined
  /** A secret that signs confirmations. A model never sees it. */
  readonly secret: string
}

export const BUDGET_DEFAULT = 1024

export class Session {
  readonly options: SessionOptions
  /** The key that signs confirmations, bound to credential, tenant and store. */
  readonly confirm_key: Buffer
  /** URIs of the resources whose changes the client subscribed to. */
  readonly #followed = new Set<string>()

  constructor(options: SessionOptions) {
    this.options = options
    const bound = JSON.stringify([options.tenant_id, options.store, options.namespace ?? null])
    this.confirm_key = createHash('sha256')
      .update(`custos/mcp-confirm/v1\n${bound}\n${options.secret}`)
      .digest()
  }

  get custos(): Custos {
    return this.options.custos
  }

  get store(): string {
    return this.options.store
  }

  get budget(): number {
    return this.options.budget ?? BUDGET_DEFAULT
  }

  may(scope: string): boolean {
    return this.options.scopes.includes('*') || this.options.scopes.includes(scope)
  }

  has(set: Exclude<ToolSet, 'all'>): boolean {
    return this.options.tools === 'all' || this.options.tools === set
  }

  follow(uri: string): void {
    this.#followed.add(uri)
  }

  unfollow(uri: string): void {
    this.#followed.delete(uri)
  }

  follows(uri: string): boolean {
    return this.#followed.has(uri)
  }

  /** The namespace of a call as a member of a request; no member for the root. */
  namespaceOf(named: string | undefined): { namespace?: string } {
    const namespace = this.options.namespace ?? named
    return namespace === undefined ? {} : { namespace }
  }

  /** Whether a memory is in the namespace to which this server is limited. */
  reaches(memory: { readonly tenant_id: string }): boolean {
    const { namespace, tenant_id } = this.options
    if (namespace === undefined) return true
    const full = namespace === tenant_id || namespace.startsWith(`${tenant_id}/`)
    return memory.tenant_id === (full ? namespace : `${tenant_id}/${namespace}`)
  }
}
