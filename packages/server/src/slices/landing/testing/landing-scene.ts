// A service, and for each test a tenant of its own with requests for landing certificates.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, beforeEach } from 'node:test'
import { verifyEnvelope } from '@custos/proof'
import { type Answer, startTestService, type TestService } from '../../../testing/harness.ts'

type Body = Answer['body']

export const BYTES = [Buffer.from('first layer'), Buffer.from('second layer')]
export const digestOf = (bytes: Uint8Array): string =>
  createHash('sha256').update(bytes).digest('hex')
export const HASHES = BYTES.map(digestOf)
export const ROOT = '5'.repeat(64)

export const AUTHORITY = {
  delegation_ref: 'delegations/17',
  human_principal: 'ana@example.org',
  trust_tier: 'verified',
}

/** A request that conforms, as far as anybody can see. */
export const request = (more: object = {}) => ({
  artifact_ref: 'adapters/support',
  base_model_ref: 'models/base-7b',
  layer_hashes: HASHES,
  data_provenance: { merkle_root: ROOT },
  authority: AUTHORITY,
  conformance: { result: 'pass', harness_version: 'own/3' },
  permitted_actions: ['answer', 'summarise'],
  ...more,
})

export interface LandingScene {
  readonly service: TestService
  readonly tenant_id: string
  readonly api_key: string
  /** As the tenant, or with another key; paths begin behind `/v1`. */
  ask(method: string, path: string, body?: unknown, key?: string): Promise<Answer>
  ok(method: string, path: string, body?: unknown): Promise<Body>
  issue(more?: object): Promise<Answer>
  /** The document of a certificate that was issued at once. */
  issued(more?: object): Promise<Body>
  /** The id of one that waits; a policy escalates from now on. */
  waiting(more?: object): Promise<string>
  verify(certificate_id: string): Promise<Body>
  policy(action: 'deny' | 'escalate', more?: object): Promise<string>
  /** A sealed corpus and its block. */
  corpus(name?: string, ids?: readonly string[]): Promise<Body>
  register(more?: object): Promise<Body>
  key(grants: object): Promise<string>
  /** The verdict of the offline verifier. */
  offline(record: Body): Promise<Awaited<ReturnType<typeof verifyEnvelope>>>
  events(): Promise<string[]>
}

/** One service for all tests of the file; to be called where its tests are declared. */
export function openLandingScene(): LandingScene {
  let service: TestService
  let tenant: { tenant_id: string; api_key: string }
  before(async () => {
    service = await startTestService()
  })
  beforeEach(async () => {
    tenant = await service.createTenant()
  })
  after(() => service.stop())

  const speaks = speakFor(
    () => service,
    () => tenant.api_key,
  )
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
    ...speaks,
    ...registriesOf(speaks),
  }
}

function speakFor(service: () => TestService, api_key: () => string) {
  const ask: LandingScene['ask'] = (method, path, body, key = api_key()) =>
    service().request(method, `/v1${path}`, { key, ...(body === undefined ? {} : { body }) })
  const ok: LandingScene['ok'] = async (method, path, body) => {
    const answer = await ask(method, path, body)
    assert.ok(answer.status < 300, answer.text)
    return answer.body
  }
  const issue = (more?: object) => ask('POST', '/landing/issue', request(more))
  const policy: LandingScene['policy'] = async (action, more = {}) => {
    const config = { operations: ['landing.issue'] }
    const made = { name: 'look at it', policy_type: 'hitl_required', action, config, ...more }
    return (await ok('POST', '/governance/policies', made)).policy_id
  }
  return {
    ask,
    ok,
    issue,
    policy,
    async issued(more?: object) {
      const { status, body, text } = await issue(more)
      assert.equal(status, 201, text)
      return body
    },
    async waiting(more?: object): Promise<string> {
      await policy('escalate')
      const { status, body, text } = await issue(more)
      assert.equal(status, 202, text)
      assert.equal(body.detail.status, 'waiting_hitl')
      return body.detail.certificate_id
    },
    verify: (certificate_id: string) => ok('GET', `/landing/${certificate_id}/verify`),
  }
}

function registriesOf({ ok }: Pick<LandingScene, 'ok'>) {
  return {
    async corpus(name = 'mails', ids: readonly string[] = ['m-1', 'm-2']) {
      const sources = ids.map((id) => ({ id, license: 'CC-BY-4.0' }))
      const attestations = { representativeness: 'by region', bias_examination: 'done' }
      const corpus = await ok('POST', '/provenance/corpora', { name, sources, attestations })
      return ok('GET', `/provenance/corpora/${corpus.corpus_id}/block`)
    },
    register: (more: object = {}) =>
      ok('POST', '/artifacts/register', {
        artifact_ref: 'adapters/support',
        base_model_ref: 'models/base-7b',
        layers: HASHES.map((digest) => ({ digest })),
        ...more,
      }),
    key: async (grants: object) => (await ok('POST', '/keys', grants)).api_key,
    async offline(record: Body) {
      const { keys } = await ok('GET', '/gcrumbs/public_key')
      return verifyEnvelope({ type: 'record', kind: 'landing', record }, { keys })
    },
    async events() {
      const { breadcrumbs } = await ok('GET', '/gcrumbs/breadcrumbs?limit=1000')
      return breadcrumbs.map(({ event_type }: Body) => event_type)
    },
  }
}
