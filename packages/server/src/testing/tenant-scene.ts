// Runs one service for all tests of a file, and gives each test a tenant of its own.

import assert from 'node:assert/strict'
import { after, before, beforeEach } from 'node:test'
import { detectEnvelope, type Verdict, verifyEnvelope } from '@custos/proof'
import { type Answer, type RequestOptions, startTestService, type TestService } from './harness.ts'

type Body = Answer['body']

export interface TenantScene {
  readonly service: TestService
  readonly tenant_id: string
  readonly api_key: string
  /** Sends the following requests as a new tenant. */
  changeTenant(): Promise<void>
  /** Sends a request as the tenant, unless another key is given; paths are relative to `/v1`. */
  ask(method: string, path: string, body?: unknown, more?: RequestOptions): Promise<Answer>
  /** Sends a request; returns the body, and fails unless the answer has this status. */
  told(status: number, method: string, path: string, body?: unknown): Promise<Body>
  /** Sends a request; returns the body, and fails for a refusal. */
  ok(method: string, path: string, body?: unknown): Promise<Body>
  /** Creates a policy; returns its id. */
  policy(policy_type: string, config: object, more?: object): Promise<string>
  /** Creates another key of the tenant. */
  key(grants: object): Promise<string>
  /** Verifies a record with the published keys alone. */
  offline(record: unknown): Promise<Verdict>
  /** Lists log entries, oldest first: all, or those of one type. */
  crumbs(event_type?: string): Promise<Body[]>
}

/** Call this at the top level of the test file. */
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

/** Adds members to the scene; its getters still return the tenant of the current test. */
export function withMore<M extends object>(scene: TenantScene, more: M): TenantScene & M {
  return Object.defineProperties(more, Object.getOwnPropertyDescriptors(scene)) as TenantScene & M
}
