// What the older version holds: one tenant with a bit of everything, one with little, one gone.

import type { Body, Client } from './client.ts'
import { OPERATOR_KEY, type Service } from './command-line.ts'
import { at, eraseSome, fillMemory } from './fill-memory.ts'
import { fillApprovals, fillPolicies } from './fill-policies.ts'
import { fillRegistries, fillReputation } from './fill-registries.ts'

export interface TenantKey {
  readonly tenant_id: string
  readonly api_key: string
}

/** Ids and keys by which the test asks for what was written. */
export type Known = Awaited<ReturnType<typeof fill>>

const createTenant = async (operator: Client, name: string): Promise<TenantKey> => {
  const { tenant_id, api_key } = await operator.post('/v1/cloud/tenants', { name })
  return { tenant_id, api_key }
}

export async function fill(service: Service) {
  const operator = service.client(OPERATOR_KEY)
  const north = await createTenant(operator, 'Clinic North')
  const south = await createTenant(operator, 'Clinic South')
  const gone = await createTenant(operator, 'Clinic of last year')
  const filled = await fillNorth(service.client(north.api_key), north.tenant_id)
  const little = await fillSouth(service.client(south.api_key))
  await service
    .client(gone.api_key)
    .post('/v1/stores/default/write', { content: 'Nobody reads it' })
  await offBoard(operator, gone.tenant_id)
  return { north: { ...north, ...filled }, south: { ...south, ...little }, gone }
}

async function fillNorth(client: Client, tenant_id: string) {
  const memories = await fillMemory(client)
  const { stores } = memories
  const keys = await makeKeys(client, stores.ward)
  const policies = await fillPolicies(client, Object.values(stores))
  const registries = await fillRegistries(client)
  const approvals = await fillApprovals(client)
  await fillReputation(client, tenant_id)
  await client.post('/v1/gcrumbs/roll')
  const erased = await eraseSome(client, memories)
  const hold_id = await keep(client, stores)
  const reports = await report(client)
  const assured = await assure(client)
  await client.post('/v1/gcrumbs/roll')
  return { memories, keys, policies, registries, approvals, erased, hold_id, reports, assured }
}

/** One that may read one store, and one that was revoked. */
async function makeKeys(client: Client, store_id: string) {
  const reader = await client.post('/v1/keys', {
    ...{ name: 'reader', class: 'read_only', scopes: ['memory:read'], allowed_stores: [store_id] },
  })
  const revoked = await client.post('/v1/keys', { name: 'lost' })
  await client.ok('DELETE', `/v1/keys/${revoked.key_id}`)
  return { reader: String(reader.api_key), revoked: String(revoked.api_key) }
}

/** A hold that stands over one store; a retention of the other, and a hold that was released. */
async function keep(client: Client, { ward, plain }: { ward: string; plain: string }) {
  const reason = 'a claim was announced'
  const held = await client.post(at(plain, '/holds'), { reason, matter: 'C-118/26' })
  const other = await client.post(at(ward, '/holds'), { reason })
  await client.ok('DELETE', at(ward, `/holds/${other.hold_id}`), { reason: 'settled' })
  await client.ok('PUT', at(ward, '/retention'), { retain_days: 365, basis: 'contract, section 4' })
  return String(held.hold_id)
}

async function report(client: Client) {
  const make = async (framework: string): Promise<string> =>
    (await client.post('/v1/reports/generate', { framework, title: 'Yearly' })).report_id
  const [kept, deleted] = [await make('colorado_ai'), await make('hipaa')]
  await client.ok('DELETE', `/v1/reports/${deleted}`)
  return { kept, deleted }
}

async function assure(client: Client) {
  const schedule = await client.post('/v1/assurance/schedules', { interval_min: 1_440 })
  const baseline = await client.post('/v1/assurance/baseline')
  const run = await client.post('/v1/assurance/run')
  const ids: Body[] = [schedule.schedule_id, baseline.run_id, run.run_id]
  const [schedule_id, baseline_run_id, run_id] = ids.map(String)
  return { schedule_id, baseline_run_id, run_id }
}

async function fillSouth(client: Client) {
  const { store_id } = await client.post('/v1/stores', { name: 'Kitchen', labels: { floor: 1 } })
  const { ref } = await client.post(at(store_id, '/write'), { content: 'Soup is served at noon' })
  const { decision_id } = await client.post('/v1/decisions/log', {
    ...{ store_id, model_id: 'model-b', query: 'When is soup?', output: 'At noon' },
    retrieved_refs: [ref],
  })
  await client.post('/v1/gcrumbs/roll')
  return { store_id: String(store_id), ref: Number(ref), decision_id: String(decision_id) }
}

async function offBoard(operator: Client, tenant_id: string): Promise<void> {
  const path = `/v1/admin/tenants/${tenant_id}`
  const reasons = { confirm: `destroy ${tenant_id}`, legal_basis: 'end of the contract' }
  await operator.post(`${path}/destroy-key`, reasons)
  await operator.until(`${path}/destruction`, ({ removal }) => removal.state === 'removed')
}

/** Under the signing keys that followed the first ones. */
export async function fillAfterRotation(service: Service, { north }: Known): Promise<void> {
  const client = service.client(north.api_key)
  const { stores, refs } = north.memories
  const written = await client.post(at(stores.ward, '/write'), { content: 'Under the new keys' })
  await client.post('/v1/decisions/log', {
    ...{ store_id: stores.ward, model_id: 'model-a', query: 'Which keys?', output: 'The new ones' },
    retrieved_refs: [written.ref],
  })
  await client.post('/v1/erasure/issue', { fact_ref: refs.visitors })
  await client.post('/v1/gcrumbs/roll')
}
