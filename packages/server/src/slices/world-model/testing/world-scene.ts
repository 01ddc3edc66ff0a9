// A service, and for each test a tenant of its own with a small world.

import assert from 'node:assert/strict'
import { after, before, beforeEach } from 'node:test'
import { detectEnvelope, type Verdict, verifyEnvelope } from '@custos/proof'
import { type Answer, startTestService, type TestService } from '../../../testing/harness.ts'

type Body = Answer['body']
type Headers = Readonly<Record<string, string>>

export const INVOICE = {
  kind: 'object',
  name: 'Invoice',
  spec: {
    properties: {
      invoice_ref: { type: 'string', required: true },
      amount: { type: 'number' },
      tenor: { type: 'integer' },
      paid: { type: 'boolean' },
      client: { type: 'ref' },
      lines: { type: 'array' },
      address: { type: 'object' },
    },
  },
}
export const CLIENT = { kind: 'object', name: 'Client', spec: { properties: {} } }
export const OWNS = {
  kind: 'link',
  name: 'owns',
  spec: { from_type: 'Client', to_type: 'Invoice', cardinality: 'one_to_many' },
}
export const CERTIFY = {
  kind: 'action',
  name: 'certify',
  spec: {
    operation: 'worldmodel.action.certify',
    required_trust_tier: 'verified',
    subject_type: 'Invoice',
    input_schema: { amount: { type: 'number', required: true }, note: { type: 'string' } },
  },
}
export const INVOCATION = {
  action_name: 'certify',
  subject_refs: [{ type: 'Invoice', ref: 'INV-1' }],
  params: { amount: 12.5, note: 'as seen' },
  authority: { human_principal: 'ada', delegation_ref: 'd-7', trust_tier: 'trusted' },
}

export interface WorldScene {
  readonly service: TestService
  readonly tenant_id: string
  readonly api_key: string
  changeTenant(): Promise<void>
  /** Paths begin behind `/v1`. */
  ask(method: string, path: string, body?: unknown, more?: Asking): Promise<Answer>
  /** The body of an answer that must have that status. */
  told(status: number, method: string, path: string, body?: unknown): Promise<Body>
  register(type: unknown): Promise<Body>
  /** Invoice, Client, owns and certify. */
  build(): Promise<void>
  invoke(more?: object, asking?: Asking): Promise<Answer>
  policy(policy_type: string, config: object, more?: object): Promise<Body>
  offline(record: unknown): Promise<Verdict>
  /** Entries of the log of one type, oldest first. */
  crumbs(event_type: string): Promise<Body[]>
}

export interface Asking {
  readonly headers?: Headers
  readonly key?: string
}

/** One service for all tests of the file; to be called where its tests are declared. */
export function openWorldScene(): WorldScene {
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

  const ask: WorldScene['ask'] = (method, path, body, { headers = {}, key } = {}) =>
    service.request(method, `/v1${path}`, {
      ...{ key: key ?? tenant.api_key, headers },
      ...(body === undefined ? {} : { body }),
    })
  const told: WorldScene['told'] = async (status, method, path, body) => {
    const answer = await ask(method, path, body)
    assert.equal(answer.status, status, answer.text.slice(0, 500))
    return answer.body
  }
  const register: WorldScene['register'] = (type) => told(201, 'POST', '/world-model/types', type)
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
    ...{ changeTenant, ask, told, register },
    async build() {
      for (const type of [INVOICE, CLIENT, OWNS, CERTIFY]) await register(type)
    },
    invoke: (more = {}, asking = {}) =>
      ask('POST', '/world-model/actions/invoke', { ...INVOCATION, ...more }, asking),
    policy: (policy_type, config, more = {}) =>
      told(200, 'POST', '/governance/policies', { name: 'a rule', policy_type, config, ...more }),
    async offline(record) {
      const { keys } = await told(200, 'GET', '/gcrumbs/public_key')
      return verifyEnvelope(detectEnvelope(record), { keys })
    },
    async crumbs(event_type) {
      const { breadcrumbs } = await told(200, 'GET', '/gcrumbs/breadcrumbs?limit=1000')
      return breadcrumbs.filter((crumb: Body) => crumb.event_type === event_type)
    },
  }
}

/** Every leaf once with another value in its place. */
export function* mutations(value: unknown): Generator<unknown> {
  if (Array.isArray(value))
    for (const i of value.keys())
      for (const other of mutations(value[i])) yield value.with(i, other)
  else if (typeof value === 'object' && value !== null)
    for (const [name, inner] of Object.entries(value))
      for (const other of mutations(inner)) yield { ...value, [name]: other }
  else if (typeof value === 'number') yield value + 1
  else if (typeof value === 'boolean') yield !value
  else yield `${value}x`
}
