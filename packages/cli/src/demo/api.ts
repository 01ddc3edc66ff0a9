// The operations the demo calls, with as much of their answers as it reads.

import type { ServiceClient } from '../service-client.ts'

export interface Ranked {
  readonly ref: number
  readonly content: string
  readonly score: number
  readonly token_count: number
}

export interface Retrieved {
  readonly memories: readonly Ranked[]
  readonly tokens_used: number
  readonly budget_tokens: number
  readonly log_seq: number
}

export interface Certificate {
  readonly certificate_id: string
  readonly outcome: string
  readonly log_seq: number
  readonly scrubbed_decision_ids: readonly string[]
  readonly verification: { readonly paths: readonly { readonly result: string }[] }
}

const post = (json: unknown) => ({ method: 'POST', json })

/** Calls on one store. */
export function openApi(client: ServiceClient, store_id: string) {
  const store = `/v1/stores/${encodeURIComponent(store_id)}`
  return {
    writeBatch: (items: readonly unknown[]) =>
      client.json<{ refs: number[] }>(`${store}/write_batch`, post({ items })),
    stats: () => client.json<{ tokens: number }>(`${store}/stats`),
    retrieve: (query: string, options: Readonly<Record<string, unknown>>) =>
      client.json<Retrieved>(`${store}/retrieve`, post({ query, options })),
    supersede: (old_ref: number, content: string) =>
      client.json<{ ref: number }>(`${store}/supersede`, post({ old_ref, content })),
    logDecision: (record: Readonly<Record<string, unknown>>) =>
      client.json<{ decision_id: string }>('/v1/decisions/log', post({ store_id, ...record })),
    decision: (id: string) =>
      client.json<{ query: string; output: string; retrieved_contents: string[] }>(
        `/v1/decisions/${id}`,
      ),
    erase: (fact_ref: number) =>
      client.json<Certificate>(
        '/v1/erasure/issue',
        post({ fact_ref, requested_by: 'data_subject' }),
      ),
    roll: () =>
      client.json<{ epoch_number: number; tree_size: number; root_hash: string }>(
        '/v1/gcrumbs/roll',
        post({}),
      ),
    proof: (epoch: number, seq: number) =>
      client.json<{ tlog_proof: string; breadcrumb: unknown; audit_path: string[] }>(
        `/v1/gcrumbs/epochs/${epoch}/proof?seq=${seq}`,
      ),
    keys: () => client.json<{ keys: unknown }>('/v1/gcrumbs/public_key'),
  }
}

export type Api = ReturnType<typeof openApi>
