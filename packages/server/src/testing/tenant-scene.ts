// A service for all tests of a file, and for each test a tenant of its own that asks it.

import assert from 'node:assert/strict'
import { after, before, beforeEach } from 'node:test'
import { detectEnvelope, type Verdict, verifyEnvelope } from '@custos/proof'
import { type Answer, type RequestOptions, startTestService, type TestService } from './harness.ts'

type Body = Answer['body']

export interface TenantScene {
  readonly service: TestService
  readonly tenant_id: string
  readonly api_key: string
  /** From now on another tenant asks. */
  changeTenant(): Promise<void>
  /** As the tenant, unless another key is given; paths begin behind `/v1`. */
  ask(method: string, path: string, body?: unknown, more?: RequestOptions): Promise<Answer>
  /** The body of an answer that must have that status. */
  told(status: number, method: string, path: string, body?: unknown): Promise<Body>
  /** The body of an answer that is no refusal. */
  ok(method: string, path: string, body?: unknown): Promise<Body>
  /** The id of a new policy. */
  policy(policy_type: string, config: object, more?: object): Promise<string>
  /** Another key of the tenant. */
  key(grants: object): Promise<string>
  /** A record judged with the published keys alone. */
  offline(record: unknown): Promise<Verdict>
  /** Entries of the log, oldest first: all, or those of one type. */
  crumbs(event_type?: string): Promise<Body[]>
}

/** To be called where the tests of the file are declared. */
export function openTenantScene(): TenantScene {
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

  const ask: TenantScene['ask'] = (method, path, body, more = {}) =>
    service.request(method, `/v1${path}`, {
      ...{ key: tenant.api_key, ...more },
      ...(body === undefined ? {} : { body }),
    })
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
    ...speaking(ask),
  }
}

function speaking(ask: TenantScene['ask']) {
  const told: TenantScene['told'] = async (status, method, path, body) => {
    const answer = await ask(method, path, body)
    assert.equal(answer.status, status, answer.text.slice(0, 1_000))
    return answer.body
  }
  const ok: TenantScene['ok'] = async (method, path, body) => {
    const answer = await ask(method, path, body)
    assert.ok(answer.status < 300, answer.text)
    return answer.body
  }
  const policy: TenantScene['policy'] = async (policy_type, config, more = {}) => {
    const made = { name: `a ${policy_type}`, policy_type, config, ...more }
    return (await told(200, 'POST', '/governance/policies', made)).policy_id
  }
  const offline: TenantScene['offline'] = async (record) => {
    const { keys } = await told(200, 'GET', '/gcrumbs/public_key')
    return verifyEnvelope(detectEnvelope(record), { keys })
  }
  const crumbs: TenantScene['crumbs'] = async (event_type) => {
    const { breadcrumbs } = await told(200, 'GET', '/gcrumbs/breadcrumbs?limit=1000')
    return breadcrumbs.filter(
      (crumb: Body) => event_type === undefined || crumb.event_type === event_type,
    )
  }
  const key: TenantScene['key'] = async (grants) => (await ok('POST', '/keys', grants)).api_key
  return { told, ok, policy, offline, crumbs, key }
}

/** The scene with more to do in it; who its tenant is stays a question asked each time. */
export function withMore<M extends object>(scene: TenantScene, more: M): TenantScene & M {
  return Object.defineProperties(more, Object.getOwnPropertyDescriptors(scene)) as TenantScene & M
}
