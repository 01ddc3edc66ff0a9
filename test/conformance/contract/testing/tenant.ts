// A tenant that calls operations by their id, and asserts about answers.

import assert from 'node:assert/strict'
import { COMMON_REFUSALS, type OperationSpec, type RefusalCode, refusals } from '@custos/contract'
import type { Answer, TestService } from '../../../../packages/server/src/testing/harness.ts'
import { operationOf, pathOf, queryOf, type Sent } from './table.ts'

/**
 * Sends a request of an operation with a key, or with none. Whatever comes back, a refusal is
 * one the published description of the operation names.
 */
export async function send(
  service: TestService,
  id: string,
  sent: Sent,
  { key, slash = '' }: { key?: string | undefined; slash?: '' | '/' } = {},
): Promise<Answer> {
  const operation = operationOf(id)
  const { body, raw, headers } = sent
  const path = `${pathOf(operation, sent)}${slash}${queryOf(sent)}`
  const answer = await service.request(operation.method, path, {
    ...(body === undefined ? {} : { body }),
    ...(raw === undefined ? {} : { raw }),
    ...(headers === undefined ? {} : { headers }),
    ...(key === undefined ? {} : { key }),
  })
  const code: unknown = answer.status < 400 ? undefined : answer.body?.error
  if (typeof code === 'string') {
    const declared = await declaredBy(service, operation)
    assert.ok(declared.has(code), `${id} answered ${code}, which it does not declare`)
  }
  return answer
}

type Described = Record<string, Record<string, { 'x-refusals': string[] }>>
const documents = new WeakMap<TestService, Promise<Described>>()

async function declaredBy(
  service: TestService,
  { path, method }: OperationSpec,
): Promise<ReadonlySet<string>> {
  const document =
    documents.get(service) ?? service.request('GET', '/openapi.json').then(({ body }) => body.paths)
  documents.set(service, document)
  const described = (await document)[path]?.[method.toLowerCase()]
  assert.ok(described, `${method} ${path} is not in the published document`)
  return new Set<string>([...described['x-refusals'], ...COMMON_REFUSALS])
}

export class Tenant {
  readonly service: TestService
  readonly tenant_id: string
  readonly api_key: string

  constructor(service: TestService, known: { tenant_id: string; api_key: string }) {
    this.service = service
    this.tenant_id = known.tenant_id
    this.api_key = known.api_key
  }

  ask(id: string, sent: Sent = {}): Promise<Answer> {
    return send(this.service, id, sent, { key: this.api_key })
  }

  /** The body of an answer with the status the operation declares. */
  async ok(id: string, sent: Sent = {}): Promise<Answer['body']> {
    const answer = await this.ask(id, sent)
    assert.equal(answer.status, operationOf(id).status, `${id}: ${answer.text}`)
    return answer.body
  }

  /** The same tenant through a key of its own making. */
  async withKey(body: Readonly<Record<string, unknown>>): Promise<Tenant> {
    const { api_key } = await this.ok('keys.create', { body })
    return new Tenant(this.service, { tenant_id: this.tenant_id, api_key })
  }
}

export async function newTenant(service: TestService): Promise<Tenant> {
  return new Tenant(service, await service.createTenant('contract'))
}

/** Asserts the shape every refusal has, besides its code and status. */
export function assertRefusal(answer: Answer, code: RefusalCode, about: string): void {
  const { status, body, headers, text } = answer
  const note = `${about}: ${status} ${text.slice(0, 300)}`
  assert.equal(status, refusals[code].status, note)
  assert.equal(body?.error, code, note)
  assert.equal(body.request_id, headers.get('x-request-id'), note)
  if (code === 'validation' || code === 'malformed_json') {
    assert.equal(headers.get('content-type'), 'application/json; charset=utf-8', note)
    assert.ok(Array.isArray(body.detail) && body.detail.length > 0, note)
    for (const { loc, msg, type, ...rest } of body.detail) {
      assert.ok(Array.isArray(loc) && loc.length > 0, note)
      assert.equal(typeof msg, 'string', note)
      assert.equal(typeof type, 'string', note)
      assert.deepEqual(rest, {}, note)
    }
    return
  }
  assert.equal(headers.get('content-type'), 'application/problem+json; charset=utf-8', note)
  assert.equal(body.type, `/errors/${code}`, note)
  assert.equal(body.title, refusals[code].title, note)
  assert.equal(body.status, status, note)
  assert.ok(['string', 'object'].includes(typeof body.detail) && body.detail !== null, note)
}

/** Asserts that the answer is a refusal of some kind in our shape, and no 5xx. */
export function assertClientError(answer: Answer, about: string): void {
  const note = `${about}: ${answer.status} ${answer.text.slice(0, 300)}`
  assert.ok(answer.status >= 400 && answer.status < 500, note)
  const code = answer.body?.error
  assert.ok(typeof code === 'string' && code in refusals, note)
  // Just checked to be a key of the table.
  assertRefusal(answer, code as RefusalCode, about)
}
