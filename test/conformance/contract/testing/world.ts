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
import { eraseSubjects } from './subjects.ts'
import { newTenant, type Tenant } from './tenant.ts'
import { buildWebhook } from './webhooks.ts'
import { buildWorldModel } from './world-model.ts'

export interface Ids {
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
  readonly agent_run_id: string
  /** Of a run with an uncertain call, and the call. */
  readonly unresolved_run_id: string
  readonly call_id: string
  readonly tool_name: string
  /** Of a model that a provider is configured for. */
  readonly model_id: string
  readonly step_id: string
  readonly agent_action_id: string
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
  agent_id: 'ffffffffffffffffffffffffffffffff',
  agent_run_id: 'ffffffffffffffffffffffffffffffff',
  unresolved_run_id: 'ffffffffffffffffffffffffffffffff',
  call_id: 'ffffffffffffffffffffffffffffffff',
  tool_name: 'tool_ffffffffffff',
  model_id: 'models/ffffffffffff',
  step_id: 'ffffffffffffffffffffffffffffffff',
  agent_action_id: 'ffffffffffffffffffffffffffffffff',
}

export interface World {
  readonly tenant: Tenant
  readonly ids: Ids
  /** A word in every text the tenant ever sent. */
  readonly word: string
}

export async function buildWorld(service: TestService): Promise<World> {
  const tenant = await newTenant(service)
  const word = `canary${service.kernel.ids.hex(8)}`
  const filled = await fillStore(tenant, word)
  const job_id = await deleteOneStore(tenant, word)
  const { key_id } = await tenant.ok('keys.create', {
    body: { name: word, scopes: ['keys:admin'] },
  })
  const policy_id = await makePolicy(tenant, word)
  const corpus_id = await registerCorpus(tenant, word)
  const composed = await compose(tenant, word)
  const approval = await askApproval(tenant, word)
  const landing = await askLanding(tenant, word)
  const world = await buildWorldModel(tenant, word)
  const reputation = await buildReputation(tenant, word)
  const { report_id } = await tenant.ok('reports.generate', {
    body: { framework: 'dora', title: `${word} for the auditor` },
  })
  const kept = await keepAndLeave(tenant, filled.store_id, word)
  const assured = await assure(tenant)
  const webhook = await buildWebhook(tenant, word)
  const runs = await buildRuns(tenant, filled.store_id, word)
  await subscribe(tenant)
  await tenant.ok('gcrumbs.roll')
  await tenant.ok('memory.write', {
    params: { store_id: filled.store_id },
    body: { content: `${word} likes rain` },
  })
  const { epoch_number, tree_size } = await tenant.ok('gcrumbs.roll')
  assert.ok(epoch_number >= 2 && tree_size > 2)
  const { tenant_id } = tenant
  const minted = {
    tenant_id,
    epoch_number,
    seq: 1,
    job_id,
    open_job_id: await openJob(service, tenant_id),
    key_id,
    policy_id,
    corpus_id,
    report_id,
    ...(await signIn(tenant, word)),
    ...(await eraseSubjects(tenant, word)),
  }
  return {
    tenant,
    word,
    ids: {
      ...filled,
      ...kept,
      ...minted,
      ...composed,
      ...approval,
      ...landing,
      ...world,
      ...reputation,
      ...assured,
      ...webhook,
      ...runs,
    },
  }
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

async function makePolicy(tenant: Tenant, word: string): Promise<string> {
  const { policy_id } = await tenant.ok('governance.create_policy', {
    body: {
      name: word,
      description: `${word} is not to be named`,
      policy_type: 'content_filter',
      config: { patterns: [word] },
      enabled: false,
    },
  })
  return policy_id
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

/** A store with a retention, and a tenant that is gone. */
async function keepAndLeave(tenant: Tenant, store_id: string, word: string) {
  const params = { store_id }
  await tenant.ok('retention.set', { params, body: { retain_days: 36_500, basis: word } })
  return {
    hold_id: await holdForAWhile(tenant, store_id, word),
    destroyed_tenant_id: await destroyedTenant(tenant.service),
  }
}

async function holdForAWhile(tenant: Tenant, store_id: string, word: string): Promise<string> {
  const { hold_id } = await tenant.ok('retention.place_hold', {
    params: { store_id },
    body: { reason: `${word} against all`, matter: word },
  })
  const params = { store_id, hold_id }
  await tenant.ok('retention.release_hold', { params, body: { reason: `${word} settled` } })
  return hold_id
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

async function registerCorpus(tenant: Tenant, word: string): Promise<string> {
  const { corpus_id } = await tenant.ok('provenance.register', {
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
  return corpus_id
}
