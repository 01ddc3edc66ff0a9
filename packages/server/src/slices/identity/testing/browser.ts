// What a browser keeps of a service: its cookies and the token of its session.

import assert from 'node:assert/strict'
import type { Answer, RequestOptions, TestService } from '../../../testing/harness.ts'

type Service = Pick<TestService, 'url' | 'request'>

export class Browser {
  readonly #service: Service
  /** By name. */
  readonly cookies = new Map<string, string>()
  csrf_token = ''

  constructor(service: Service) {
    this.#service = service
  }

  /** The headers of a page of the service. */
  get headers(): Record<string, string> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    return {
      origin: this.#service.url,
      'x-custos-csrf': this.csrf_token,
      ...(cookie === '' ? {} : { cookie }),
    }
  }

  async ask(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const headers = { ...this.headers, ...options.headers }
    const answer = await this.#service.request(method, path, { ...options, headers })
    for (const line of answer.headers.getSetCookie()) this.#keep(line)
    return answer
  }

  #keep(line: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    if (value === '') this.cookies.delete(name)
    else this.cookies.set(name, value)
  }

  /** The body of the answer. */
  async signIn(api_key: string): Promise<Answer['body']> {
    const answer = await this.ask('POST', '/v1/portal/session', { body: { api_key } })
    assert.equal(answer.status, 201, answer.text)
    this.csrf_token = answer.body.csrf_token
    return answer.body
  }
}

export async function signedIn(service: Service, api_key: string): Promise<Browser> {
  const browser = new Browser(service)
  await browser.signIn(api_key)
  return browser
}
