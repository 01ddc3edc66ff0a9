// A service, and for each test a tenant of its own that seals corpora.

import assert from 'node:assert/strict'
import { after, before, beforeEach } from 'node:test'
import { detectEnvelope, type Verdict, verifyEnvelope } from '@custos/proof'
import { type Answer, startTestService, type TestService } from '../../../testing/harness.ts'

export const HEX = 'ab'.repeat(32)
export const ATTESTATIONS = {
  representativeness: 'by region',
  bias_examination: { done: true },
}
export const SOURCES = [
  { id: 'mails-2024', license: 'CC-BY-4.0', content_hash: `sha256:${HEX}`, record_count: 12 },
  { id: 'mails-2025', lawful_basis: 'contract', collected: { by: 'support', in: ['de', 'pt'] } },
  { id: 'übersetzt', license: 'MIT' },
]
export const CORPUS = { name: 'support mails', sources: SOURCES, attestations: ATTESTATIONS }

type Body = Answer['body']
type Headers = Readonly<Record<string, string>>

export interface CorpusScene {
  readonly service: TestService
  readonly tenant_id: string
  readonly api_key: string
  /** From now on another tenant asks. */
  changeTenant(): Promise<void>
  /** Paths begin behind `/v1`. */
  ask(method: string, path: string, body?: unknown, headers?: Headers): Promise<Answer>
  register(body: unknown, headers?: Headers): Promise<Answer>
  /** The row of a corpus that is sealed. */
  sealed(body?: unknown): Promise<Body>
  /** What a read of `/v1/provenance` answers. */
  read(path: string): Promise<Body>
  /** Judged with the published keys alone. */
  offline(record: unknown): Promise<Verdict>
  policy(policy_type: string, config: object, more?: object): Promise<void>
  /** Of the log: the subjects of the entries of one type. */
  subjects(event_type: string): Promise<string[]>
}

/** One service for all tests of the file; to be called where its tests are declared. */
export function openCorpusScene(): CorpusScene {
  let service: TestService
  let tenant: { tenant_id: string; api_key: string }
  const changeTenant = async () => {
    tenant = await service.createTenant()
  }
  before(async () => {
    service = await startTestService()
  })
  beforeEach(changeTenant)
  after(() => service.stop())

  const ask: CorpusScene['ask'] = (method, path, body, headers = {}) =>
    service.request(method, `/v1${path}`, {
      ...{ key: tenant.api_key, headers },
      ...(body === undefined ? {} : { body }),
    })
  const expect = async (status: number, asked: Promise<Answer>): Promise<Body> => {
    const answer = await asked
    assert.equal(answer.status, status, answer.text.slice(0, 500))
    return answer.body
  }
  const register: CorpusScene['register'] = (body, headers) =>
    ask('POST', '/provenance/corpora', body, headers)
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
    changeTenant,
    ask,
    register,
    sealed: (body = CORPUS) => expect(201, register(body)),
    read: (path) => expect(200, ask('GET', `/provenance${path}`)),
    async offline(record) {
      const { keys } = await expect(200, ask('GET', '/gcrumbs/public_key'))
      return verifyEnvelope(detectEnvelope(record), { keys })
    },
    async policy(policy_type, config, more = {}) {
      const body = { name: 'a rule', policy_type, config, ...more }
      await expect(200, ask('POST', '/governance/policies', body))
    },
    async subjects(event_type) {
      const { breadcrumbs } = await expect(200, ask('GET', '/gcrumbs/breadcrumbs?limit=1000'))
      return breadcrumbs
        .filter((crumb: Body) => crumb.event_type === event_type)
        .map(({ subject }: { subject: string }) => subject)
    },
  }
}
