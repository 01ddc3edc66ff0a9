// Requests to a service that may be killed at any moment, and a tenant of it.

import assert from 'node:assert/strict'
import { OPERATOR_KEY, type ServerProcess } from './server-process.ts'

/** The process ended before it had answered: what was asked for may have happened or not. */
export class Interrupted extends Error {}

export interface Answer {
  readonly status: number
  readonly text: string
  /** The parsed body, or undefined when it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies of every shape
  readonly body: any
  /** The header of that name. */
  readonly retry_after: string | null
}

export interface Sent {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface RawSent {
  readonly raw: string | undefined
  readonly type: string
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export class Client {
  readonly url: string
  readonly key: string

  constructor(url: string, key: string) {
    this.url = url
    this.key = key
  }

  /** Throws Interrupted when no whole answer came. */
  async ask(method: string, path: string, { body, headers }: Sent = {}): Promise<Answer> {
    const raw = body === undefined ? undefined : JSON.stringify(body)
    return this.raw(method, path, { raw, type: 'application/json', headers })
  }

  /** The same with a body that is sent as it is. */
  async raw(method: string, path: string, { raw, type, headers }: RawSent): Promise<Answer> {
    try {
      const response = await fetch(`${this.url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${this.key}`,
          ...(raw === undefined ? {} : { 'content-type': type }),
          ...headers,
        },
        ...(raw === undefined ? {} : { body: raw }),
      })
      const text = await textOf(response)
      const retry_after = response.headers.get('retry-after')
      return { status: response.status, text, body: parse(text), retry_after }
    } catch (error) {
      throw new Interrupted(`${method} ${path}`, { cause: error })
    }
  }

  /** The body of a 2xx answer. */
  async ok(method: string, path: string, sent: Sent = {}): Promise<Answer['body']> {
    const { status, text, body } = await this.ask(method, path, sent)
    assert.ok(status >= 200 && status < 300, `${method} ${path}: ${status} ${text.slice(0, 400)}`)
    return body
  }

  /** Every item of a list, page by page. */
  async all(path: string, key: string): Promise<Answer['body'][]> {
    const items: Answer['body'][] = []
    for (let cursor = ''; ; ) {
      const page = await this.ok('GET', `${path}?limit=500${cursor}`)
      items.push(...page[key])
      if (page.next_cursor === null) return items
      cursor = `&cursor=${page.next_cursor}`
    }
  }

  /** The lines of an NDJSON answer. */
  async lines(path: string): Promise<Answer['body'][]> {
    const { status, text } = await this.ask('GET', path)
    assert.equal(status, 200, `${path}: ${text.slice(0, 400)}`)
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  }
}

/** A stream of events never ends: what came first stands for it. */
async function textOf(response: Response): Promise<string> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
  if (!isStream || response.body === null) return response.text()
  const reader = response.body.getReader()
  const { value } = await reader.read()
  await reader.cancel()
  return Buffer.from(value ?? []).toString()
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export interface TenantKey {
  readonly tenant_id: string
  readonly api_key: string
}

export async function createTenant(server: ServerProcess): Promise<TenantKey> {
  const operator = new Client(server.url, OPERATOR_KEY)
  return operator.ok('POST', '/v1/cloud/tenants', { body: { name: 'crash' } })
}
