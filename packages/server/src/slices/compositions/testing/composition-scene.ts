// A service, and for each test a tenant of its own that composes, registers and makes policies.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, beforeEach } from 'node:test'
import { detectEnvelope, type Verdict, verifyEnvelope } from '@custos/proof'
import { type Answer, startTestService, type TestService } from '../../../testing/harness.ts'

type Body = Answer['body']

const AUTHORITY = { human_principal: 'ana@example.org', trust_tier: 'verified' }

export const member = (ref_id: string, license = 'MIT', certified = true) => ({
  ...{ ref_id, license, certified },
})

/** A composition that stands. */
export const composition = (more: object = {}) => ({
  composition_kind: 'stack',
  members: [member('adapter'), member('base', 'Apache-2.0')],
  target_ref: 'stacks/support',
  authority: AUTHORITY,
  ...more,
})

export interface CompositionScene {
  readonly service: TestService
  readonly tenant_id: string
  readonly api_key: string
  /** Paths begin behind `/v1`. */
  ask(method: string, path: string, body?: unknown, options?: AskOptions): Promise<Answer>
  ok(method: string, path: string, body?: unknown): Promise<Body>
  compose(more?: object, options?: AskOptions): Promise<Answer>
  /** The row of one that is governed. */
  governed(more?: object): Promise<Body>
  /** The reasons of one that is rejected; `kept`: what else its detail says. */
  rejected(more: object): Promise<{ reasons: string[]; composition_id?: string }>
  /** The id of one that waits; a policy escalates from now on. */
  waiting(more?: object): Promise<string>
  policy(policy_type: string, config: object, more?: object): Promise<string>
  /** A registered artifact; its row. */
  register(artifact_ref: string, metadata?: object): Promise<Body>
  /** The same, certified by a landing certificate of its own. */
  certified(artifact_ref: string, metadata?: object): Promise<Body>
  /** The document of a landing certificate. */
  landed(artifact_ref: string, data_provenance?: object): Promise<Body>
  corpus(sources?: readonly object[]): Promise<Body>
  key(grants: object): Promise<string>
  /** Judged with the published keys alone. */
  offline(record: unknown): Promise<Verdict>
  events(): Promise<{ event_type: string; subject: string; payload: Body }[]>
}

export interface AskOptions {
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')

type Asks = Pick<CompositionScene, 'ask' | 'ok'>

async function expect(status: number, asked: Promise<Answer>): Promise<Body> {
  const answer = await asked
  assert.equal(answer.status, status, answer.text.slice(0, 1_000))
  return answer.body
}

/** Records that a composition can have as its members. */
function registering({ ask, ok }: Asks) {
  const register: CompositionScene['register'] = (artifact_ref, metadata = {}) => {
    const layers = [{ digest: hashOf(artifact_ref) }]
    const body = { artifact_ref, base_model_ref: 'base-7b', metadata, layers }
    return expect(201, ask('POST', '/artifacts/register', body))
  }
  const landed: CompositionScene['landed'] = (artifact_ref, data_provenance) => {
    const body = {
      ...{ artifact_ref, base_model_ref: 'base-7b', layer_hashes: [hashOf(artifact_ref)] },
      data_provenance: data_provenance ?? { merkle_root: '5'.repeat(64) },
      authority: { ...AUTHORITY, delegation_ref: 'd-1' },
      conformance: { result: 'pass', harness_version: 'own/1' },
      permitted_actions: ['answer'],
    }
    return expect(201, ask('POST', '/landing/issue', body))
  }
  const certified: CompositionScene['certified'] = async (artifact_ref, metadata) => {
    const { artifact_id } = await register(artifact_ref, metadata)
    const { certificate_id } = await landed(artifact_ref)
    return ok('POST', `/artifacts/${artifact_id}/certify`, { certificate_id })
  }
  const corpus: CompositionScene['corpus'] = (sources = [{ id: 'm-1', license: 'CC-BY-4.0' }]) => {
    const attestations = { representativeness: 'by region', bias_examination: 'done' }
    const body = { name: 'mails', sources, attestations }
    return expect(201, ask('POST', '/provenance/corpora', body))
  }
  return { register, landed, certified, corpus }
}

function composing({ ask, ok }: Asks) {
  const compose: CompositionScene['compose'] = (more, options) =>
    ask('POST', '/compositions', composition(more), options)
  const policy: CompositionScene['policy'] = async (policy_type, config, more = {}) => {
    const made = { name: 'a rule', policy_type, config, ...more }
    return (await ok('POST', '/governance/policies', made)).policy_id
  }
  const governed: CompositionScene['governed'] = (more) => expect(201, compose(more))
  const rejected: CompositionScene['rejected'] = async (more) => {
    const { error, detail } = await expect(422, compose(more))
    assert.deepEqual([error, detail.status], ['rejected', 'rejected'])
    return detail
  }
  const waiting: CompositionScene['waiting'] = async (more) => {
    await policy('hitl_required', { operations: ['composition.govern'] })
    const { detail } = await expect(202, compose(more))
    assert.equal(detail.status, 'waiting_hitl')
    return detail.composition_id
  }
  return { compose, policy, governed, rejected, waiting }
}

/** One service for all tests of the file; to be called where its tests are declared. */
export function openCompositionScene(): CompositionScene {
  let service: TestService
  let tenant: { tenant_id: string; api_key: string }
  before(async () => {
    service = await startTestService()
  })
  beforeEach(async () => {
    tenant = await service.createTenant()
  })
  after(() => service.stop())

  const ask: CompositionScene['ask'] = (method, path, body, options = {}) =>
    service.request(method, `/v1${path}`, {
      ...{ key: tenant.api_key, ...options },
      ...(body === undefined ? {} : { body }),
    })
  const ok: CompositionScene['ok'] = (method, path, body) => expect(200, ask(method, path, body))
  return {
    get service() {
      return service
    },
    get tenant_id() {
      return tenant.tenant_id
    },
    get api_key() {
      return tenant.api_key
    },
    ...{ ask, ok },
    ...registering({ ask, ok }),
    ...composing({ ask, ok }),
    key: async (grants) => (await expect(201, ask('POST', '/keys', grants))).api_key,
    async offline(record) {
      const { keys } = await ok('GET', '/gcrumbs/public_key')
      return verifyEnvelope(detectEnvelope(record), { keys })
    },
    events: async () => (await ok('GET', '/gcrumbs/breadcrumbs?limit=1000')).breadcrumbs,
  }
}
