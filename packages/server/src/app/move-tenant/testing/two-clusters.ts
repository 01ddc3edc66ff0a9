// Two PostgreSQL servers with a service on each, and a move that dies at a given point.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type Config, parseConfig } from '../../../config/config.ts'
import { startTestService, type TestService } from '../../../testing/harness.ts'
import { createDatabase } from '../../../testing/postgres.ts'
import { startCluster } from '../../../testing/postgres-cluster.ts'
import { type Agent, store, tell } from '../../migrate-engine/testing/filled-directory.ts'

export const ORIGIN = 'custos.test/clusters'

interface Side {
  readonly config: Config
  readonly url: string
  start(): Promise<TestService>
}

export interface TwoClusters {
  readonly a: Side
  readonly b: Side
  stop(): Promise<void>
}

/** @param ledger_copy of the first one */
export async function openTwoClusters(ledger_copy?: string): Promise<TwoClusters> {
  const database = await createDatabase()
  const cluster = await startCluster()
  return {
    a: sideOf(database.url, '5a'.repeat(32), ledger_copy),
    b: sideOf(cluster.url, '7b'.repeat(32)),
    async stop() {
      await database.drop()
      await cluster.stop()
    },
  }
}

export function sideOf(url: string, master_key: string, ledger_copy?: string): Side {
  const config = parseConfig({
    CUSTOS_DATABASE_URL: url,
    CUSTOS_MASTER_KEY: master_key,
    CUSTOS_ORIGIN: ORIGIN,
    CUSTOS_LOG_LEVEL: 'silent',
    ...(ledger_copy === undefined ? {} : { CUSTOS_LEDGER_COPY: ledger_copy }),
  })
  const { postgres, origin } = config
  const given = { postgres, origin, master_key, ledger_copy: config.ledger_copy }
  return { config, url, start: () => startTestService({ config: given }) }
}

/** Runs a move in a process that kills itself at the step; resolves when it is dead. */
export async function moveUntil(
  step: string,
  move: { from: Config; to: Config; tenant_id: string; address: string },
): Promise<void> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'move-child.ts')], {
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  child.stdin.end(JSON.stringify({ step, move }))
  const [code, signal] = await once(child, 'exit')
  if (signal !== 'SIGKILL') throw new Error(`the move ended with ${code} before ${step}`)
}

/** A tenant with a memory that is erased, one that is not, and a decision that used both. */
export async function fillLittle(service: TestService, name: string): Promise<Agent> {
  const tenant = await service.createTenant(name)
  const { store_id } = await tell(service, tenant, 'POST', '/v1/stores', {})
  const at = store({ store_id }, '/write')
  const write = async (content: string): Promise<number> =>
    (await tell(service, tenant, 'POST', at, { content })).ref
  const refs = [await write(`${name} lives in Porto`), await write('The sea is near')]
  const used = { store_id, model_id: 'm', query: 'Where?', output: 'Porto', retrieved_refs: refs }
  const { decision_id } = await tell(service, tenant, 'POST', '/v1/decisions/log', used)
  await tell(service, tenant, 'POST', '/v1/gcrumbs/roll', {})
  const erased = refs[0] ?? 0
  await tell(service, tenant, 'POST', '/v1/erasure/issue', { fact_ref: erased })
  return { ...tenant, store_id, refs, erased, decisions: [decision_id] }
}
