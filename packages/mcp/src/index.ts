// The public interface of the MCP package: a server over stdio, and over HTTP.

import assert from 'node:assert/strict'
import { type ClientOptions, Custos } from '@custos/client'
import { type AuthInfo, createMcpHandler } from '@modelcontextprotocol/server'
import { type StdioServerHandle, serveStdio } from '@modelcontextprotocol/server/stdio'
import { createServer } from './server.ts'
import type { SessionOptions } from './session.ts'

export { importMemoryFile, MemoryFileError } from './graph-items.ts'
export { type SessionOptions, TOOL_SETS, type ToolSet } from './session.ts'

/** Serves one client on this process's standard input and output, of either protocol era. */
export const serveOverStdio = (options: SessionOptions): StdioServerHandle =>
  serveStdio(({ era }) => createServer(options, era))

/** The caller of a request, with a `fetch` that reaches the service with the same credential. */
interface HttpCaller extends Omit<SessionOptions, 'custos'> {
  readonly fetch: NonNullable<ClientOptions['fetch']>
}

/** A placeholder that is never called: the caller's `fetch` uses only the path. */
const NOWHERE = 'http://127.0.0.1'

/**
 * Serves clients of either protocol era. Every request has its own server. `serve` checks no
 * credential, because the caller is already authenticated. `close` ends open streams.
 */
export function serveOverHttp(bodyBytesMax: number) {
  const sessions = new WeakMap<AuthInfo, SessionOptions>()
  const handler = createMcpHandler(
    ({ authInfo }) => {
      const options = authInfo && sessions.get(authInfo)
      assert(options, 'a request has a session')
      return createServer(options)
    },
    { maxRequestBodySize: bodyBytesMax },
  )
  return {
    serve(request: Request, { fetch, ...options }: HttpCaller): Promise<Response> {
      // No retries: the MCP client is told when to retry.
      const custos = new Custos({ url: NOWHERE, fetch, retries: 0 })
      const authInfo = { token: '', clientId: options.tenant_id, scopes: [...options.scopes] }
      sessions.set(authInfo, { ...options, custos })
      return handler.fetch(request, { authInfo })
    },
    close: handler.close,
  }
}
