// Requests to a service of either version. It imports nothing that either version brings.

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import type { Answer as Answered } from '../../crash/testing/client.ts'

/** Parsed bodies of every shape. */
export type Body = Answered['body']

export interface Answer {
  readonly status: number
  readonly text: string
  /** The parsed body, or undefined where it is not JSON. */
  readonly body: Body
}

export type Headers = Readonly<Record<string, string>>

const WAITS_MAX = 600

export class Client {
  readonly #url: string
  readonly #key: string

  constructor(url: string, key: string) {
    this.#url = url
    this.#key = key
  }

  /** A text is sent as it is, of the type that the headers say. */
  async ask(method: string, path: string, body?: unknown, headers: Headers = {}): Promise<Answer> {
    const response = await fetch(`${this.#url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: textOf(body) }),
    })
    const text = await response.text()
    return { status: response.status, text, body: parsed(text) }
  }

  /** The body of a 2xx answer. */
  async ok(method: string, path: string, body?: unknown, headers?: Headers): Promise<Body> {
    const answer = await this.ask(method, path, body, headers)
    assert.ok(answer.status >= 200 && answer.status < 300, said(method, path, answer))
    return answer.body
  }

  get(path: string): Promise<Body> {
    return this.ok('GET', path)
  }

  post(path: string, body: unknown = {}, headers?: Headers): Promise<Body> {
    return this.ok('POST', path, body, headers)
  }

  /** The refusal with this status. */
  async refused(status: number, method: string, path: string, body?: unknown): Promise<Body> {
    const answer = await this.ask(method, path, body)
    assert.equal(answer.status, status, said(method, path, answer))
    return answer.body
  }

  /** Resolves when what the path answers is as it is waited for. */
  async until(path: string, fits: (body: Body) => boolean): Promise<Body> {
    for (let waits = 0; waits < WAITS_MAX; waits += 1) {
      const body = await this.get(path)
      if (fits(body)) return body
      await delay(20)
    }
    return assert.fail(`${path} does not come to its end`)
  }

  done(job_id: string): Promise<Body> {
    return this.until(`/v1/jobs/${job_id}`, ({ state }) => state === 'done')
  }
}

const textOf = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body))

const said = (method: string, path: string, { status, text }: Answer): string =>
  `${method} ${path}: ${status} ${text.slice(0, 600)}`

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
