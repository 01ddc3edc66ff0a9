// A service, for each test a tenant whose artifacts wait for a person, and approvers with keys.

import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { after, before, beforeEach } from 'node:test'
import { type Answer, startTestService, type TestService } from '../../../testing/harness.ts'

interface KeyPair {
  /** 64 hex characters. */
  readonly public_key: string
  sign(message: Uint8Array): Buffer
}

export function makeKey(): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  return {
    public_key: rawKey(publicKey).toString('hex'),
    sign: (text) => sign(null, text, privateKey),
  }
}

const rawKey = (key: KeyObject): Buffer => key.export({ format: 'der', type: 'spki' }).subarray(-32)

interface Approver extends KeyPair {
  readonly approver_id: string
}

export interface Waiting {
  readonly artifact_id: string
  readonly request_id: string
}

type Decision = 'approve' | 'deny'

/** What a tenant does, through a service that may be another than the one that made it. */
export class ApprovingTenant {
  readonly service: TestService
  readonly tenant_id: string
  readonly api_key: string

  constructor(service: TestService, known: { tenant_id: string; api_key: string }) {
    this.service = service
    this.tenant_id = known.tenant_id
    this.api_key = known.api_key
  }

  static async create(service: TestService): Promise<ApprovingTenant> {
    const tenant = new ApprovingTenant(service, await service.createTenant())
    await tenant.ok('POST', '/governance/policies', {
      name: 'ask first',
      policy_type: 'hitl_required',
      config: { operations: ['artifacts.register'] },
    })
    return tenant
  }

  /** Paths begin behind `/v1`. */
  ask(method: string, path: string, body?: unknown, key = this.api_key): Promise<Answer> {
    return this.service.request(method, `/v1${path}`, {
      key,
      ...(body === undefined ? {} : { body }),
    })
  }

  async ok(method: string, path: string, body?: unknown): Promise<Answer['body']> {
    const answer = await this.ask(method, path, body)
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`)
    return answer.body
  }

  async otherKey(): Promise<{ key_id: string; api_key: string }> {
    return this.ok('POST', '/keys', { name: 'another', class: 'tenant' })
  }

  async enroll(name = 'Ana', pair = makeKey()): Promise<Approver> {
    const { public_key } = pair
    const { approver_id } = await this.ok('POST', '/hitl/approvers', { name, public_key })
    return { ...pair, approver_id }
  }

  /** An artifact that waits. */
  async register(artifact_ref = 'models/one'): Promise<Waiting> {
    const layers = [{ digest: this.service.kernel.ids.hex(32) }]
    const body = { artifact_ref, base_model_ref: 'base/model', layers }
    const { status, body: answered, text } = await this.ask('POST', '/artifacts/register', body)
    assert.equal(status, 202, text)
    return answered.detail
  }

  request(request_id: string): Promise<Answer['body']> {
    return this.ok('GET', `/hitl/requests/${request_id}`)
  }

  /** What an approver sends who signs what the request says is to be signed. */
  async signed(approver: Approver, { request_id }: Waiting, decision: Decision = 'approve') {
    const { signing_input } = await this.request(request_id)
    const message = Buffer.from(signing_input[decision], 'base64')
    const signature = approver.sign(message).toString('base64')
    return { decision, signer_id: approver.approver_id, signature }
  }

  attest({ request_id }: Waiting, body: unknown, key = this.api_key): Promise<Answer> {
    return this.ask('POST', `/hitl/requests/${request_id}/attest`, body, key)
  }

  async recordStatus({ artifact_id }: Waiting): Promise<string> {
    return (await this.ok('GET', `/artifacts/${artifact_id}`)).status
  }

  /** The log's entries of these types, oldest first. */
  async events(...types: readonly string[]): Promise<Answer['body'][]> {
    const { breadcrumbs } = await this.ok('GET', '/gcrumbs/breadcrumbs?limit=1000')
    return breadcrumbs
      .filter(({ event_type }: { event_type: string }) => types.includes(event_type))
      .toSorted((a: { seq: number }, b: { seq: number }) => a.seq - b.seq)
  }
}

interface ApprovalScene {
  readonly service: TestService
  readonly tenant: ApprovingTenant
}

/** One service for all tests of the file; to be called where its tests are declared. */
export function openApprovalScene(): ApprovalScene {
  let service: TestService
  let tenant: ApprovingTenant
  before(async () => {
    service = await startTestService()
  })
  beforeEach(async () => {
    tenant = await ApprovingTenant.create(service)
  })
  after(() => service.stop())
  return {
    get service() {
      return service
    },
    get tenant() {
      return tenant
    },
  }
}
