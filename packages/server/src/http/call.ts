// The Call of one request, the handler's only way to the data and to a refusal, and the id that the
// request is known by in its answer and in the log.

import assert from 'node:assert/strict'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import type { OperationSpec, RefusalCode } from '@custos/contract'
import type { TenantDb, Tx } from '../platform/db/tenant-db.ts'
import type { Ids } from '../platform/ids.ts'
import type {
  AnswerCookie,
  Call,
  IdempotentUnit,
  InParts,
  Principal,
  ReplayIds,
} from '../platform/kernel/call.ts'
import { runInParts, runOnce } from '../platform/kernel/idempotency.ts'
import { type Kernel, perKernel } from '../platform/kernel/kernel.ts'
import { Refusal, type RefusalExtras } from '../platform/refusal.ts'
import { readCookie, renderCookie } from './access/cookies.ts'

/** An Idempotency-Key and the content that must be the same on each use. */
export interface IdempotencyKey {
  readonly key: string
  /** The body, or the digest of a streamed body, for which it reads what is left. */
  content(): Promise<Uint8Array>
}

export class HttpCall implements Call {
  readonly kernel: Kernel
  readonly operation: OperationSpec
  readonly request_id: string
  readonly principal: Principal
  readonly tenant_id: string
  readonly #keyed: IdempotencyKey | null
  readonly #headers: IncomingHttpHeaders
  readonly #response: ServerResponse
  #gone: AbortController | undefined
  #wrote = false
  #replayed = false
  readonly #cookies: string[] = []

  constructor(
    facts: Pick<Call, 'kernel' | 'operation' | 'request_id' | 'principal' | 'tenant_id'> & {
      readonly keyed: IdempotencyKey | null
      readonly headers: IncomingHttpHeaders
      readonly response: ServerResponse
    },
  ) {
    this.kernel = facts.kernel
    this.operation = facts.operation
    this.request_id = facts.request_id
    this.principal = facts.principal
    this.tenant_id = facts.tenant_id
    this.#keyed = facts.keyed
    this.#headers = facts.headers
    this.#response = facts.response
  }

  get address(): string {
    const remote = this.#response.req.socket.remoteAddress ?? ''
    return clientAddress(this.#headers, remote, this.kernel.settings.trusted_proxies)
  }

  // Created on first use, because most operations end before the client could leave.
  get gone(): AbortSignal {
    if (this.#gone) return this.#gone.signal
    const gone = new AbortController()
    this.#gone = gone
    if (this.#response.closed) gone.abort()
    else this.#response.once('close', () => gone.abort())
    return gone.signal
  }

  /** Whether a unit of work has run; the unit counts its usage itself. */
  get wrote(): boolean {
    return this.#wrote
  }

  /** Whether the reply is that of an earlier request with the same key. */
  get replayed(): boolean {
    return this.#replayed
  }

  refuse(code: RefusalCode, message?: string, extras?: RefusalExtras): never {
    throw new Refusal(code, message, extras)
  }

  header(name: string): string | null {
    assert(this.operation.headers?.[name] !== undefined, `the operation declares no header ${name}`)
    const value = this.#headers[name]
    return value === undefined ? null : String(value)
  }

  cookie(name: AnswerCookie['name']): string | null {
    return readCookie(this.#headers, name)
  }

  setCookie(cookie: AnswerCookie): void {
    this.#cookies.push(renderCookie(this.#headers, cookie))
  }

  /** Cookies that the answer sets. */
  get cookies(): readonly string[] {
    return this.#cookies
  }

  read<T>(query: (db: TenantDb) => Promise<T>): Promise<T> {
    return this.kernel.db.read(this.tenant_id, query)
  }

  transact<T>(unit: (tx: Tx) => Promise<T>): Promise<T> {
    this.#wrote = true
    return this.kernel.db.transact(this.tenant_id, unit)
  }

  get idempotency_key(): string | null {
    return this.#keyed?.key ?? null
  }

  async once<T>(unit: IdempotentUnit<T>, tenant_id = this.tenant_id): Promise<T> {
    this.#wrote = true
    const { kernel } = this
    if (this.#keyed === null)
      return kernel.db.transact(tenant_id, async (tx) => (await unit.run(tx)).reply)
    const content = await this.#keyed.content()
    const request = { ...this.#request(this.#keyed), tenant_id, content }
    const { reply, replayed } = await runOnce(request, unit)
    this.#replayed = replayed
    return reply
  }

  async inParts<T extends ReplayIds>(parts: InParts<T>): Promise<T> {
    if (this.#keyed === null) return parts.run(null)
    this.#wrote = true
    const { reply, replayed } = await runInParts(this.#request(this.#keyed), parts)
    this.#replayed = replayed
    return reply
  }

  #request({ key, content }: IdempotencyKey) {
    const { kernel, tenant_id, operation } = this
    return { kernel, tenant_id, operation: operation.id, status: operation.status, key, content }
  }
}

/**
 * Each trusted proxy appends the address of its caller to `X-Forwarded-For`. From the right, the
 * first address that is not trusted is the client's; anybody can have written what is left of it.
 */
function clientAddress(
  headers: IncomingHttpHeaders,
  remote: string,
  proxies: Kernel['settings']['trusted_proxies'],
): string {
  const named = String(headers['x-forwarded-for'] ?? '').split(',')
  let address = remote
  while (proxies.has(address)) {
    const next = named.pop()?.trim() ?? ''
    if (isIP(next) === 0) break
    address = next
  }
  return address
}

const FORM = /^[A-Za-z0-9._-]{1,64}$/
const COUNT_END = 2 ** 32

/** Ids of one process: eight random hex digits, then a count. Unique, not secret. */
export class RequestIds {
  readonly #prefix: string
  #count = 0

  constructor(ids: Ids) {
    this.#prefix = ids.hex(4)
  }

  /** The caller's id if it is harmless in a log line, else a new one. */
  of(given: string | string[] | undefined): string {
    if (typeof given === 'string' && FORM.test(given)) return given
    this.#count = (this.#count + 1) % COUNT_END
    return this.#prefix + this.#count.toString(16).padStart(8, '0')
  }
}

export const requestIds = perKernel((kernel) => new RequestIds(kernel.ids))
