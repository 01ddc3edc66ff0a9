// Runs a real service in the test process, and calls its public interface, for tests of commands.

import { join } from 'node:path'
import { type Config, parseConfig, type Service, startService } from '@custos/server'
import { type TestCleanup, tempDirectory } from './run.ts'

export const OPERATOR_KEY = 'operator-key-of-the-cli-tests-0123'

/** The members that tests read from answers; each operation has only some of them. */
export interface Answer {
  readonly tenant_id: string
  readonly api_key: string
  readonly removal: { readonly state: string }
  readonly digest: string
  readonly ref: number
  readonly content: string
  readonly memories: readonly { readonly ref: number; readonly content: string }[]
  readonly decision_id: string
  readonly certificate_id: string
  readonly outcome: string
  readonly signature: string
  readonly key_id: string
  readonly verified: boolean
  readonly log_seq: number
  readonly status: string
  readonly checkpoint: string
  readonly tlog_proof: string
  readonly breadcrumb: unknown
  readonly breadcrumbs: readonly {
    readonly event_type: string
    readonly subject: string
    readonly payload: { readonly generation?: number }
  }[]
  readonly epochs: readonly {
    readonly origin: string
    readonly tree_size: number
    readonly root_hash: string
  }[]
  readonly keys: readonly {
    readonly purpose: string
    readonly key_id: string
    readonly retired_at: string | null
  }[]
}

export interface LocalService {
  readonly url: string
  readonly data_dir: string
  readonly config: Config
  readonly service: Service
  /** The parsed answer; throws for a status that is not 2xx. */
  call(method: string, path: string, body?: unknown, key?: string): Promise<Answer>
  text(path: string): Promise<string>
  stop(): Promise<void>
}

/** Starts a service in local mode: tenant `local`, no credential. The end of the test stops it. */
export async function serveLocally(
  t: TestCleanup,
  { data_dir = join(tempDirectory(), 'data'), env = {} }: { data_dir?: string; env?: object } = {},
): Promise<LocalService> {
  const config = parseConfig({
    CUSTOS_PORT: '0',
    CUSTOS_DATA_DIR: data_dir,
    CUSTOS_AUTH: 'local',
    CUSTOS_OPERATOR_KEY: OPERATOR_KEY,
    CUSTOS_LOG_LEVEL: 'silent',
    CUSTOS_EPOCH_SECONDS: '0',
    ...env,
  })
  const service = await startService(config)
  let stopped: Promise<void> | undefined
  const stop = () => {
    stopped ??= service.stop()
    return stopped
  }
  t.after(stop)
  const send = async (method: string, path: string, body?: unknown, key?: string) => {
    const response = await fetch(`${service.url}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return text
  }
  return {
    url: service.url,
    data_dir,
    config,
    service,
    call: async (...request) => JSON.parse(await send(...request)),
    text: (path) => send('GET', path),
    stop,
  }
}

/** Sample data: three memories, one of them superseded and one erased, and a decision. */
export interface SampleData {
  readonly refs: readonly number[]
  readonly successor: number
  readonly erased: number
  readonly decision_id: string
  readonly certificate: Answer
}

export async function writeSampleData({ call }: LocalService): Promise<SampleData> {
  const refs: number[] = []
  for (const content of ['The harbour opens at six', 'Elsa keeps bees', 'The ferry is blue'])
    refs.push((await call('POST', '/v1/stores/default/write', { content })).ref)
  const [first = 0, erased = 0, third = 0] = refs
  const replaced = await call('POST', '/v1/stores/default/supersede', {
    old_ref: third,
    content: 'The ferry is green',
  })
  const logged = await call('POST', '/v1/decisions/log', {
    store_id: 'default',
    model_id: 'm',
    query: 'Who keeps bees?',
    output: 'Elsa keeps bees',
    retrieved_refs: [first, erased],
    retrieved_contents: ['The harbour opens at six', 'Elsa keeps bees'],
    retrieved_scores: [0.25, 1],
    token_count: 3,
    latency_ms: 1.5,
  })
  await call('POST', '/v1/gcrumbs/roll', {})
  const certificate = await call('POST', '/v1/erasure/issue', { fact_ref: erased })
  await call('POST', '/v1/gcrumbs/roll', {})
  const { decision_id } = logged
  return { refs, successor: replaced.ref, erased, decision_id, certificate }
}
