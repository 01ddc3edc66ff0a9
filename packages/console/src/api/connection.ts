// The connection to the service that served this page. Scripts cannot read the session cookie.

import { Client } from '@custos/client/core'

let csrfToken: string | null = null
let onSignedOut: () => void = () => undefined

/** The token that every write of a session carries. */
export function keepCsrfToken(token: string | null): void {
  csrfToken = token
}

export const holdsCsrfToken = (token: unknown): boolean => token === csrfToken

/** Called when the service no longer accepts the session. */
export function whenSignedOut(act: () => void): void {
  onSignedOut = act
}

async function send(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  if (csrfToken !== null && init.method !== 'GET') headers.set('x-custos-csrf', csrfToken)
  const response = await fetch(input, { ...init, headers })
  if (response.status === 401) onSignedOut()
  return response
}

export const client = new Client({ url: location.origin, retries: 1, fetch: send })
