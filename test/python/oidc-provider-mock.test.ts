// Signing in through a second provider that is not ours, of another language.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { request as send } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import {
  startTlsServer,
  trustTestCertificate,
} from '../../packages/server/src/platform/egress/testing/tls-server.ts'
import { Browser } from '../../packages/server/src/slices/identity/testing/browser.ts'
import {
  begin,
  connect,
  SSO_EGRESS,
} from '../../packages/server/src/slices/identity/testing/sso-scene.ts'
import { startTestService } from '../../packages/server/src/testing/harness.ts'
import { makeEnvironment } from './testing/environment.ts'

const PACKAGE = 'oidc-provider-mock==0.3.4'
/** Serves it on a free port; it believes that it is reached by TLS, as it is through the proxy. */
const PROGRAM = `
import oidc_provider_mock
from wsgiref.simple_server import make_server, WSGIRequestHandler
app = oidc_provider_mock.app()
class Silent(WSGIRequestHandler):
    def log_message(self, *args): pass
def secure(environ, start):
    return app({**environ, 'wsgi.url_scheme': 'https'}, start)
server = make_server('127.0.0.1', 0, secure, handler_class=Silent)
print(server.server_port, flush=True)
server.serve_forever()
`

/** Null where Python or its index cannot be had, which is said. */
async function startProvider(t: TestContext): Promise<string | null> {
  const dir = mkdtempSync(join(tmpdir(), 'custos-oidc-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  let python: string
  try {
    const environment = await makeEnvironment(dir)
    python = environment.python
    await environment.install(PACKAGE)
  } catch (error) {
    t.diagnostic(`NOT TESTED: Python 3.10 with pip and an index is needed: ${error}`)
    return null
  }
  const child: ChildProcess = spawn(python, ['-W', 'ignore', '-c', PROGRAM], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  t.after(() => child.kill('SIGKILL'))
  assert.ok(child.stdout)
  const [line] = await once(createInterface(child.stdout), 'line')
  trustTestCertificate()
  const { port } = await startTlsServer(t, (request, response) => {
    const { method, url: path, headers } = request
    const onward = send({ host: '127.0.0.1', port: Number(line), method, path, headers })
    onward.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    request.pipe(onward)
  })
  return `https://localhost:${port}`
}

test('a person signs in through a provider of Python, and has one account', async (t) => {
  const issuer = await startProvider(t)
  if (issuer === null) return
  const service = await startTestService({ config: { egress: SSO_EGRESS } })
  t.after(() => service.stop())
  const described = await fetch(`${issuer}/.well-known/openid-configuration`)
  const { issuer: named } = Object(await described.json())
  const { connection_id, tenant } = await connect(service, named)
  const users: string[] = []
  for (const sub of ['ana', 'ana', 'ben']) {
    const browser = new Browser(service)
    const location = await begin(browser, { connection_id })
    const back = await fetch(location, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams({ sub }),
    })
    const callback = new URL(back.headers.get('location') ?? '')
    const answer = await browser.ask('GET', callback.pathname + callback.search)
    assert.equal(answer.status, 302, answer.text)
    const me = await browser.ask('GET', '/v1/portal/me')
    assert.deepEqual([me.status, me.body.tenant_id], [200, tenant.tenant_id], me.text)
    users.push(me.body.user.user_id)
    // The same answer again is refused.
    const repeated = await browser.ask('GET', callback.pathname + callback.search)
    assert.notEqual(repeated.status, 302)
  }
  assert.equal(users[0], users[1])
  assert.notEqual(users[0], users[2])
})
