// A stopped data directory with a bit of everything, and what a service on it answers.

import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startTestService, type TestService } from '../../../testing/harness.ts'
import { rotateSigningKeys } from '../../admin.ts'

/** The embedded engine, whichever the tests run on; its master key lies in the directory. */
export const EMBEDDED = { postgres: null, master_key: null }
/** More than a page. */
const MANY = 250
export const ONCE = { 'idempotency-key': 'once' }

export interface Agent {
  readonly tenant_id: string
  readonly api_key: string
  readonly store_id: string
  readonly refs: readonly number[]
  readonly erased: number
  readonly decisions: readonly string[]
}

export interface Filled {
  readonly data_dir: string
  readonly agents: readonly Agent[]
  /** Keys that sign now, and those they followed. */
  readonly signing_keys: number
  /** What a service on the directory answered, path by path. */
  readonly answers: ReadonlyMap<string, string>
  /** A copy of the directory of its own. */
  copy(): string
  remove(): void
}

/**
 * Two tenants, one of them with its keys rotated in between, stopped.
 * @param many memories of a store that was deleted, of each tenant
 */
export async function fillDirectory(many = MANY): Promise<Filled> {
  const data_dir = mkdtempSync(join(tmpdir(), 'custos-embedded-'))
  const service = await startTestService({ data_dir, config: EMBEDDED })
  const agents = [await fill(service, 'Ada', many), await fill(service, 'Grace', many)]
  await rotateSigningKeys(service.kernel, ['checkpoint', 'provenance', 'decision', 'erasure'])
  for (const agent of agents) {
    await tell(service, agent, 'POST', store(agent, '/write'), { content: 'Under the new keys' })
    await tell(service, agent, 'POST', '/v1/gcrumbs/roll', {})
    await tell(service, agent, 'POST', store(agent, '/write'), { content: 'After the checkpoint' })
  }
  const signing_keys = service.kernel.keyring.publishedKeys().length
  const answers = await answersOf(service, agents)
  await service.stop({ keep: true })
  const copies = [data_dir]
  return {
    data_dir,
    agents,
    signing_keys,
    answers,
    copy() {
      const to = mkdtempSync(join(tmpdir(), 'custos-embedded-'))
      cpSync(data_dir, to, { recursive: true })
      copies.push(to)
      return to
    },
    remove() {
      for (const dir of copies) rmSync(dir, { recursive: true, force: true })
    },
  }
}

export const store = ({ store_id }: Pick<Agent, 'store_id'>, path: string): string =>
  `/v1/stores/${store_id}${path}`

/** The body of a request that must succeed. */
export async function tell(
  service: TestService,
  { api_key }: Pick<Agent, 'api_key'>,
  ...[method, path, body, headers]: [string, string, unknown?, Record<string, string>?]
) {
  const given = { ...(body === undefined ? {} : { body }), ...(headers ? { headers } : {}) }
  const answer = await service.request(method, path, { key: api_key, ...given })
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`)
  return answer.body
}

/** A tenant with memories, decisions, erasures and a deleted store. */
export async function fill(service: TestService, name: string, many = MANY): Promise<Agent> {
  const tenant = await service.createTenant(name)
  const { store_id } = await tell(service, tenant, 'POST', '/v1/stores', {})
  const at = { ...tenant, store_id }
  const write = async (content: string, headers = {}): Promise<number> =>
    (await tell(service, tenant, 'POST', store(at, '/write'), { content }, headers)).ref
  const contents = [`${name} lives in Porto`, `${name} has a dog called Rex`, 'The sea is near']
  const refs = [await write(contents[0] ?? '', ONCE), await write(contents[1] ?? '')]
  refs.push(await write(contents[2] ?? ''))
  const moved = { old_ref: refs[0], content: `${name} lives in Lisbon` }
  refs.push((await tell(service, tenant, 'POST', store(at, '/supersede'), moved)).ref)
  const decide = async (used: readonly number[], output: string): Promise<string> => {
    const body = { store_id, model_id: 'm', query: 'Where?', output, retrieved_refs: used }
    return (await tell(service, tenant, 'POST', '/v1/decisions/log', body)).decision_id
  }
  const decisions = [
    await decide([refs[0] ?? 0, refs[1] ?? 0], `Porto, with ${contents[1]}`),
    await decide([refs[2] ?? 0], 'By the sea'),
    await decide([refs[3] ?? 0], 'In Lisbon now'),
  ]
  await tell(service, tenant, 'POST', '/v1/gcrumbs/roll', {})
  const erased = refs[1] ?? 0
  await tell(service, tenant, 'POST', '/v1/erasure/issue', { fact_ref: erased })
  await tell(service, tenant, 'DELETE', `/v1/decisions/scrub/${refs[2]}`)
  await deleteAnotherStore(service, tenant, many)
  return { ...at, refs, erased, decisions }
}

/** Leaves a job that is done, and as many more rows in ledger, log and tombstones. */
async function deleteAnotherStore(
  service: TestService,
  tenant: { api_key: string },
  many: number,
): Promise<void> {
  const { store_id } = await tell(service, tenant, 'POST', '/v1/stores', {})
  const items = Array.from({ length: many }, (_, i) => ({ content: `Soon gone, ${i}` }))
  await tell(service, tenant, 'POST', store({ store_id }, '/write_batch'), { items })
  const { job_id } = await tell(service, tenant, 'DELETE', store({ store_id }, ''))
  while ((await tell(service, tenant, 'GET', `/v1/jobs/${job_id}`)).state !== 'done')
    await new Promise((resolve) => setTimeout(resolve, 20))
}

/** Texts of everything a tenant can read of memory, decisions, erasures and log. */
export async function answersOf(
  service: TestService,
  agents: readonly Agent[],
): Promise<Map<string, string>> {
  const answers = new Map<string, string>()
  for (const agent of agents) {
    const ask = async (path: string): Promise<void> => {
      const { status, text } = await service.request('GET', path, { key: agent.api_key })
      const gone = path.endsWith(`/memories/${agent.erased}`)
      assert.equal(status, gone ? 404 : 200, `${path}: ${text}`)
      // Of the request, not of what is asked for.
      const kept = text.replace(/"(exported_at|request_id)":"[^"]*"/, '')
      answers.set(`${agent.tenant_id} ${path}`, kept)
    }
    for (const path of ['/memories', '/export', '/audit']) await ask(store(agent, path))
    for (const ref of agent.refs) await ask(store(agent, `/memories/${ref}`))
    for (const id of agent.decisions)
      for (const path of ['', '/replay']) await ask(`/v1/decisions/${id}${path}`)
    for (const path of ['/v1/decisions', '/v1/decisions/export', '/v1/erasure', '/v1/keys'])
      await ask(path)
    await ask(`/v1/erasure/fact/${agent.erased}`)
    const log = '/v1/gcrumbs'
    for (const path of ['/breadcrumbs', '/epochs', '/public_key', '/verify?full=true'])
      await ask(log + path)
    for (const path of ['/1/proof?seq=3', '/2/proof?seq=9', '/2/consistency?from=1'])
      await ask(`${log}/epochs${path}`)
  }
  return answers
}
