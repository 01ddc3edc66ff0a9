// A tenant with one of everything, and the ids by which its things can be asked for.

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import type { TestService } from '../../../../packages/server/src/testing/harness.ts'
import { askApproval, letWait } from './approval.ts'
import { askLanding } from './landing.ts'
import { openJob } from './open-job.ts'
import { buildRuns } from './orchestrator.ts'
import { subscribe } from './payments.ts'
import { buildReputation } from './reputation.ts'
import { buildConnection, type LoginIds, NOBODY } from './single-sign-on.ts'
import { eraseSubjects } from './subjects.ts'
import { newTenant, type Tenant } from './tenant.ts'
import { buildWebhook } from './webhooks.ts'
import { buildWorldModel } from './world-model.ts'

export interface Ids extends LoginIds {
  readonly tenant_id: string
  readonly store_id: string
  /** A current memory with a superseded version before it. */
  readonly ref: number
  readonly old_ref: number
  readonly erased_ref: number
  readonly decision_id: string
  readonly certificate_id: string
  readonly epoch_number: number
  readonly seq: number
  readonly job_id: string
  /** Of one that is queued and can be cancelled. */
  readonly open_job_id: string
  readonly key_id: string
  /** Disabled, so that it stands in nobody's way. */
  readonly policy_id: string
  /** Of an artifact that waits for a person. */
  readonly request_id: string
  readonly approver_id: string
  /** The approver's signature under its approval, hex. */
  readonly attestation: string
  readonly corpus_id: string
  /** Of a certificate that was issued, and of one that waits. */
  readonly landing_id: string
  readonly landing_waiting_id: string
  /** Of the artifact that the issued certificate certified, and of one that waits. */
  readonly artifact_id: string
  readonly waiting_artifact_id: string
  readonly composition_id: string
  /** Of one that waits for a person. */
  readonly waiting_composition_id: string
  readonly type_id: string
  readonly action_id: string
  readonly waiting_action_id: string
  readonly report_id: string
  /** Of a data subject's erasure that is done, and of one that is not. */
  readonly subject_id: string
  readonly open_subject_id: string
  /** Of a preview that finds nothing. */
  readonly nobody_digest: string
  /** Of one that was released: a standing one would keep everything as it is. */
  readonly hold_id: string
  /** A tenant that was off-boarded, the same one for every world of a service. */
  readonly destroyed_tenant_id: string
  readonly run_id: string
  readonly schedule_id: string
  readonly agent_handle: string
  /** With a delivery that fails: its host does not exist. */
  readonly webhook_id: string
  readonly delivery_id: string
  /** A key in clear, and a session of it. */
  readonly sign_in_key: string
  readonly session_id: string
  /** A person who is invited, and the invitation. */
  readonly user_id: string
  readonly invitation: string
  /** With a step that is permitted, and another that waits for a person. */
  readonly agent_id: string
  /** Without a run. */
  readonly idle_agent_id: string
  readonly agent_run_id: string
  /** Of a step of a managed run. */
  readonly step_decision_id: string
  readonly receipt_id: string
  /** Of a run with an uncertain call, and the call. */
  readonly unresolved_run_id: string
  readonly call_id: string
  /** Of the same run: one that its caller has to report. */
  readonly reported_call_id: string
  readonly tool_name: string
  /** Of a model that a provider is configured for. */
  readonly model_id: string
  readonly step_id: string
  readonly agent_action_id: string
  /** One without a run, and one whose run waits for a person. */
  readonly workflow_id: string
  /** An agent whose model has a provider. */
  readonly modelled_agent_id: string
  readonly waiting_workflow_id: string
  /** Of one whose first payment is under way. */
  readonly subscription_id: string
}

/** Well-formed ids of things that no tenant ever has. */
export const GHOSTS: Ids = {
  tenant_id: 'ffffffffffffffffffffffffffffffff',
  store_id: 'ffffffffffff',
  ref: 900_001,
  old_ref: 900_000,
  erased_ref: 900_002,
  decision_id: 'ffffffffffffffffffffffffffffffff',
  certificate_id: 'ffffffffffffffffffffffffffffffff',
  epoch_number: 900_001,
  seq: 900_000,
  job_id: 'ffffffffffffffffffffffff',
  open_job_id: 'ffffffffffffffffffffffff',
  key_id: 'ffffffffffffffffffffffff',
  policy_id: 'ffffffffffffffffffffffff',
  request_id: 'ffffffffffffffffffffffffffffffff',
  approver_id: 'ffffffffffffffffffffffff',
  attestation: 'f'.repeat(128),
  corpus_id: 'ffffffffffffffffffffffffffffffff',
  landing_id: 'ffffffffffffffffffffffffffffffff',
  landing_waiting_id: 'ffffffffffffffffffffffffffffffff',
  artifact_id: 'ffffffffffffffffffffffffffffffff',
  waiting_artifact_id: 'ffffffffffffffffffffffffffffffff',
  composition_id: 'ffffffffffffffffffffffffffffffff',
  waiting_composition_id: 'ffffffffffffffffffffffffffffffff',
  type_id: 'ffffffffffffffffffffffffffffffff',
  action_id: 'ffffffffffffffffffffffffffffffff',
  waiting_action_id: 'ffffffffffffffffffffffffffffffff',
  destroyed_tenant_id: 'f'.repeat(32),
  hold_id: 'f'.repeat(32),
  report_id: 'ffffffffffffffffffffffffffffffff',
  subject_id: 'ffffffffffffffffffffffffffffffff',
  open_subject_id: 'ffffffffffffffffffffffffffffffff',
  nobody_digest: 'f'.repeat(64),
  run_id: 'ffffffffffffffffffffffff',
  schedule_id: 'ffffffffffffffffffffffff',
  agent_handle: 'nobody/at@all',
  webhook_id: 'ffffffffffffffffffffffff',
  delivery_id: 'ffffffffffffffffffffffff',
  sign_in_key: 'cst_r_000000000000000000000000000000000000',
  session_id: 'ffffffffffffffffffffffff',
  user_id: 'ffffffffffffffffffffffff',
  invitation: `ffffffffffffffffffffffffffffffff.${'f'.repeat(43)}`,
  ...NOBODY,
  agent_id: 'ffffffffffffffffffffffffffffffff',
  idle_agent_id: 'ffffffffffffffffffffffffffffffff',
  agent_run_id: 'ffffffffffffffffffffffffffffffff',
  step_decision_id: 'ffffffffffffffffffffffffffffffff',
  receipt_id: 'ffffffffffffffffffffffffffffffff',
  unresolved_run_id: 'ffffffffffffffffffffffffffffffff',
  call_id: 'ffffffffffffffffffffffffffffffff',
  reported_call_id: 'ffffffffffffffffffffffffffffffff',
  tool_name: 'tool_ffffffffffff',
  model_id: 'models/ffffffffffff',
  step_id: 'ffffffffffffffffffffffffffffffff',
  agent_action_id: 'ffffffffffffffffffffffffffffffff',
  workflow_id: 'ffffffffffffffffffffffffffffffff',
  modelled_agent_id: 'ffffffffffffffffffffffffffffffff',
  waiting_workflow_id: 'ffffffffffffffffffffffffffffffff',
  subscription_id: 'sub_ffffffffffffffff',
}

export interface World {
  readonly tenant: Tenant
  readonly ids: Ids
  /** A word in every text the tenant ever sent. */
  readonly word: string
}

/** What a part of a world is built on. */
interface Ground {
  readonly tenant: Tenant
  readonly word: string
  readonly ids: Ids
}

interface Part {
  readonly ids: readonly (keyof Ids)[]
  /** Whether it is built in the store of the first part. */
  readonly in_store: boolean
  readonly build: (ground: Ground) => Promise<Partial<Ids>>
}

function part<Id extends keyof Ids>(
  ids: readonly Id[],
  build: (ground: Ground) => Promise<Pick<Ids, Id>>,
): Part {
  return { ids, build, in_store: false }
}

const inStore = (made: Part): Part => ({ ...made, in_store: true })

/** In the order they are built. */
const PARTS: readonly Part[] = [
  part(
    ['store_id', 'ref', 'old_ref', 'erased_ref', 'decision_id', 'certificate_id'],
    ({ tenant, word }) => fillStore(tenant, word),
  ),
  part(['job_id'], async ({ tenant, word }) => ({ job_id: await deleteOneStore(tenant, word) })),
  part(['key_id'], ({ tenant, word }) =>
    tenant.ok('keys.create', { body: { name: word, scopes: ['keys:admin'] } }),
  ),
  part(['policy_id'], ({ tenant, word }) => makePolicy(tenant, word)),
  part(['corpus_id'], ({ tenant, word }) => registerCorpus(tenant, word)),
  part(['composition_id', 'waiting_composition_id'], ({ tenant, word }) => compose(tenant, word)),
  part(['request_id', 'approver_id', 'attestation', 'waiting_artifact_id'], ({ tenant, word }) =>
    askApproval(tenant, word),
  ),
  part(['landing_id', 'landing_waiting_id', 'artifact_id'], ({ tenant, word }) =>
    askLanding(tenant, word),
  ),
  part(['type_id', 'action_id', 'waiting_action_id'], ({ tenant, word }) =>
    buildWorldModel(tenant, word),
  ),
  part(['agent_handle'], ({ tenant, word }) => buildReputation(tenant, word)),
  part(['report_id'], ({ tenant, word }) =>
    tenant.ok('reports.generate', {
      body: { framework: 'dora', title: `${word} for the auditor` },
    }),
  ),
  inStore(part(['hold_id'], keepForAWhile)),
  part(['destroyed_tenant_id'], async ({ tenant: { service } }) => ({
    destroyed_tenant_id: await destroyedTenant(service),
  })),
  part(['schedule_id', 'run_id'], ({ tenant }) => assure(tenant)),
  part(['webhook_id', 'delivery_id'], ({ tenant, word }) => buildWebhook(tenant, word)),
  inStore(
    part(
      [
        ...(['agent_id', 'idle_agent_id', 'agent_run_id', 'step_id', 'agent_action_id'] as const),
        ...(['unresolved_run_id', 'call_id', 'reported_call_id', 'step_decision_id'] as const),
        ...(['tool_name', 'model_id'] as const),
        'receipt_id' as const,
        ...(['workflow_id', 'waiting_workflow_id', 'modelled_agent_id'] as const),
      ],
      ({ tenant, ids, word }) => buildRuns(tenant, ids.store_id, word),
    ),
  ),
  part(['subscription_id'], async ({ tenant }) => ({ subscription_id: await subscribe(tenant) })),
  inStore(part(['epoch_number', 'seq'], rollTwice)),
  part(['open_job_id'], async ({ tenant: { service, tenant_id } }) => ({
    open_job_id: await openJob(service, tenant_id),
  })),
  part(['sign_in_key', 'session_id', 'user_id', 'invitation'], ({ tenant, word }) =>
    signIn(tenant, word),
  ),
  part(['connection_id', 'login', 'login_code', 'logout_token'], ({ tenant }) =>
    buildConnection(tenant),
  ),
  part(['subject_id', 'open_subject_id', 'nobody_digest'], ({ tenant, word }) =>
    eraseSubjects(tenant, word),
  ),
]

const ALL: ReadonlySet<keyof Ids> = new Set(PARTS.flatMap(({ ids }) => ids))

/** An id was read of a part that the world was built without. */
export class NotBuilt extends Error {
  readonly ids: Iterable<keyof Ids>

  constructor(ids: Iterable<keyof Ids>) {
    super(`not built: ${[...ids].join(', ')}`)
    this.ids = ids
  }
}

/** The ids there are; to read another one, or all of them at once, throws `NotBuilt`. */
function onlyBuilt(ids: Ids): Ids {
  return new Proxy(ids, {
    get(target, name: keyof Ids) {
      if (!(name in target) && ALL.has(name)) throw new NotBuilt([name])
      return target[name]
    },
    ownKeys(target) {
      if ([...ALL].some((name) => !(name in target))) throw new NotBuilt(ALL)
      return Reflect.ownKeys(target)
    },
  })
}

/** Notes in `read` which ids are read. */
export function noteReads(read: Set<keyof Ids>): Ids {
  return new Proxy(GHOSTS, {
    get(target, name: keyof Ids) {
      read.add(name)
      return target[name]
    },
    ownKeys(target) {
      for (const name of ALL) read.add(name)
      return Reflect.ownKeys(target)
    },
  })
}

/** @param needed ids of the parts that are built; those of one part are made together */
export async function buildWorld(
  service: TestService,
  needed: ReadonlySet<keyof Ids> = ALL,
): Promise<World> {
  const tenant = await newTenant(service)
  const word = `canary${service.kernel.ids.hex(8)}`
  const parts = PARTS.filter(({ ids }) => ids.some((id) => needed.has(id)))
  const [store] = PARTS
  if (store && parts[0] !== store && parts.some(({ in_store }) => in_store)) parts.unshift(store)
  const built: Partial<Ids> = { tenant_id: tenant.tenant_id }
  // To read an id that is not there throws.
  const ids = built as Ids
  for (const { ids: names, build } of parts) {
    const made = await build({ tenant, word, ids })
    Object.assign(built, Object.fromEntries(names.map((name) => [name, made[name]])))
  }
  return { tenant, word, ids: onlyBuilt(ids) }
}

/** Two checkpoints, the second of a log that has grown since. */
async function rollTwice({ tenant, ids, word }: Ground) {
  await tenant.ok('gcrumbs.roll')
  await tenant.ok('memory.write', {
    params: { store_id: ids.store_id },
    body: { content: `${word} likes rain` },
  })
  const { epoch_number, tree_size } = await tenant.ok('gcrumbs.roll')
  assert.ok(epoch_number >= 2 && tree_size > 2)
  return { epoch_number, seq: 1 }
}

/** A session, and a person who is invited. */
async function signIn(tenant: Tenant, word: string) {
  const body = { name: 'console', class: 'read_only' }
  const { api_key, key_id } = await tenant.ok('keys.create', { body })
  await tenant.ok('identity.sign_in', { body: { api_key } })
  const { sessions } = await tenant.ok('identity.sessions')
  const session = sessions.find((one: { key_id: string }) => one.key_id === key_id)
  const invited = await tenant.ok('identity.invite', {
    params: { tenant_id: tenant.tenant_id },
    body: { email: `${word}@example.com`, name: word, roles: ['viewer'] },
  })
  return {
    sign_in_key: api_key,
    session_id: session.session_id,
    user_id: invited.user.user_id,
    invitation: invited.invitation,
  }
}

function makePolicy(tenant: Tenant, word: string): Promise<{ policy_id: string }> {
  return tenant.ok('governance.create_policy', {
    body: {
      name: word,
      description: `${word} is not to be named`,
      policy_type: 'content_filter',
      config: { patterns: [word] },
      enabled: false,
    },
  })
}

/** A baseline with the run that captured it, and a schedule. */
async function assure(tenant: Tenant) {
  const { schedule_id } = await tenant.ok('assurance.create_schedule', { body: {} })
  const { run_id } = await tenant.ok('assurance.capture_baseline')
  return { schedule_id, run_id }
}

/** A composition that is governed, and another that waits. */
async function compose(tenant: Tenant, word: string) {
  const body = {
    composition_kind: word,
    members: [{ ref_id: `${word}/adapter`, license: 'MIT', certified: true }],
    target_ref: `${word}/stack`,
    authority: { human_principal: 'ana', trust_tier: 'verified' },
  }
  const id = 'compositions.compose'
  const { composition_id } = await tenant.ok(id, { body })
  const other = { ...body, target_ref: `${word}/waiting` }
  const request_id = await letWait(tenant, { id, gate: 'compositions.compose', body: other })
  const { record_id } = await tenant.ok('approvals.request', { params: { request_id } })
  return { composition_id, waiting_composition_id: record_id }
}

/** A store with memories of every state, a decision over them and a certificate. */
export async function fillStore(tenant: Tenant, word: string) {
  const { store_id } = await tenant.ok('memory.create_store', {
    body: { name: `${word} notes`, labels: { owner: word } },
  })
  const params = { store_id }
  const write = async (content: string): Promise<number> =>
    (
      await tenant.ok('memory.write', {
        params,
        body: { content, options: { metadata: { subject: word } } },
      })
    ).ref
  const old_ref = await write(`${word} lives in Lisbon`)
  const { ref } = await tenant.ok('memory.supersede', {
    params,
    body: { old_ref, content: `${word} lives in Porto` },
  })
  const erased_ref = await write(`${word} owns a blue bicycle`)
  await tenant.ok('items.put', {
    params,
    body: { namespace: ['users', 'u1'], key: 'profile', value: { city: `${word} town` } },
  })
  const { decision_id } = await tenant.ok('decisions.log', {
    body: {
      store_id,
      model_id: `${word}-model`,
      session_id: `${word}-session`,
      query: `where does ${word} live`,
      output: `${word} lives in Porto`,
      retrieved_refs: [ref, erased_ref],
      retrieved_contents: [`${word} lives in Porto`, `${word} owns a blue bicycle`],
      retrieved_scores: [0.9, 0.1],
    },
  })
  const { certificate_id } = await tenant.ok('erasure.issue', { body: { fact_ref: erased_ref } })
  return { store_id, ref, old_ref, erased_ref, decision_id, certificate_id }
}

async function deleteOneStore(tenant: Tenant, word: string): Promise<string> {
  const { store_id } = await tenant.ok('memory.create_store', { body: { name: word } })
  const params = { store_id }
  await tenant.ok('memory.write', { params, body: { content: `${word} was here` } })
  const { job_id } = await tenant.ok('memory.delete_store', { params })
  await waitForJob(tenant, job_id)
  return job_id
}

export async function waitForJob(tenant: Tenant, job_id: string): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt += 1) {
    const { state, error } = await tenant.ok('jobs.get', { params: { job_id } })
    assert.notEqual(state, 'failed', `the job failed: ${error}`)
    if (state === 'done') return
    await delay(10)
  }
  assert.fail('the job did not end')
}

/** A store with a retention, and with a hold that was released. */
async function keepForAWhile({ tenant, ids: { store_id }, word }: Ground) {
  const params = { store_id }
  await tenant.ok('retention.set', { params, body: { retain_days: 36_500, basis: word } })
  const { hold_id } = await tenant.ok('retention.place_hold', {
    params,
    body: { reason: `${word} against all`, matter: word },
  })
  const held = { store_id, hold_id }
  await tenant.ok('retention.release_hold', { params: held, body: { reason: `${word} settled` } })
  return { hold_id }
}

const destroyed = new WeakMap<TestService, Promise<string>>()

function destroyedTenant(service: TestService): Promise<string> {
  const known = destroyed.get(service)
  if (known) return known
  const made = offBoard(service)
  destroyed.set(service, made)
  return made
}

async function offBoard(service: TestService): Promise<string> {
  const { tenant_id } = await service.createTenant('gone')
  const path = `/v1/admin/tenants/${tenant_id}/destroy-key`
  const body = { confirm: `destroy ${tenant_id}` }
  const { status, text } = await service.request('POST', path, { key: service.operator_key, body })
  assert.equal(status, 200, text)
  return tenant_id
}

function registerCorpus(tenant: Tenant, word: string): Promise<{ corpus_id: string }> {
  return tenant.ok('provenance.register', {
    body: {
      name: `${word} mails`,
      sources: [
        { id: 'mails-2024', license: 'MIT' },
        { id: `${word}-2025`, license: 'MIT', note: word },
      ],
      attestations: { representativeness: word, bias_examination: word },
      metadata: { owner: word },
    },
  })
}
