// Canaries through connections to providers: sealed, and gone with the connection.

import assert from 'node:assert/strict'
import { marks, refused, type SendParts } from './send-parts.ts'

const PATH = '/v1/portal/sso/connections'

export async function sendConnections(parts: SendParts): Promise<void> {
  const { client, canaries } = parts
  const made: string[] = []
  for (const [operation, path] of [
    ['identity.create_connection', PATH],
    ['identity.configure', '/v1/portal/sso/configure'],
  ] as const) {
    const { text, word } = marks(parts, operation)
    const body = {
      name: text('body.name'),
      issuer: `https://login.invalid/${word('body.issuer')}`,
      client_id: word('body.client_id'),
      client_secret: word('body.client_secret'),
      role_claim: [word('body.role_claim[]')],
      role_map: [{ value: word('body.role_map[].value'), role: 'viewer' }],
      default_role: 'viewer',
    }
    const { connection_id } = await client.ok('POST', path, { body })
    made.push(connection_id)
  }
  const [first] = made
  const { text, word } = marks(parts, 'identity.update_connection')
  const body = {
    name: text('body.name'),
    client_secret: word('body.client_secret'),
    role_claim: [word('body.role_claim[]')],
    role_map: [{ value: word('body.role_map[].value'), role: 'viewer' }],
  }
  await client.ok('PUT', `${PATH}/${first}`, { body })
  const tested = await client.ok('POST', `${PATH}/${first}/test`)
  assert.deepEqual(canaries.foundIn(JSON.stringify(tested)), [])
  await sendDomains(parts, `${PATH}/${first}`)
  const exchange = marks(parts, 'identity.exchange')
  const verifier = exchange.word('body.verifier').padEnd(43, '0')
  const code = exchange.word('body.code')
  await refused(parts, '/v1/portal/sso/exchange', { body: { code, verifier } })
}

/** Domains are in lower case. One that is not proved is stored nowhere; the answer names it. */
async function sendDomains({ client, canaries }: SendParts, connection: string): Promise<void> {
  const domainFor = (operation: string, place: string) =>
    `${canaries.mark(operation, place).toLowerCase()}.invalid`
  const domain = domainFor('identity.verify_domain', 'body.domain')
  const proof = await client.ok('POST', `${connection}/verify-domain`, { body: { domain } })
  assert.deepEqual([proof.domain, proof.verified], [domain, false])
  const { domains } = await client.ok('GET', connection)
  assert.deepEqual(domains, [])
  const other = domainFor('identity.drop_domain', 'params.domain')
  const { status, text } = await client.ask('DELETE', `${connection}/domains/${other}`)
  assert.equal(status, 404, text)
  assert.deepEqual(canaries.foundIn(text), [], text)
}
