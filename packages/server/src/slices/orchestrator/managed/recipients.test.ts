// The certificate of a memory names the providers and tools that runs had sent it to.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTlsServer } from '../../../platform/egress/testing/tls-server.ts'
import { startModelServer } from '../testing/model-server.ts'
import { openRunScene } from '../testing/run-scene.ts'

const scene = openRunScene({ config: { egress: { allow: ['127.0.0.1'], proxy: null } } })
const CANARY = 'Zenobia Quarles lives at 14 Pelican Row'
const model = await startModelServer({ after })
const received: string[] = []
const { port } = await startTlsServer({ after }, (request, response) => {
  request.on('data', (chunk) => received.push(String(chunk)))
  request.on('end', () => response.writeHead(200).end(`sent to ${CANARY}`))
})

async function tenantWithTool() {
  model.asked.length = 0
  received.length = 0
  const tenant = await scene.tenant()
  const { config_id } = await tenant.provider(model.base_url)
  const tool = await tenant.ok('POST', '/llm/tools', {
    name: 'post',
    description: 'Sends a letter',
    effect: 'once',
    input_schema: { type: 'object', properties: { to: { type: 'string' } } },
    method: 'POST',
    url: `https://127.0.0.1:${port}/letters`,
  })
  return { tenant, config_id, tool_id: tool.tool_id }
}

test('a memory that a model and a tool were sent has both in its certificate', async () => {
  const { tenant, config_id, tool_id } = await tenantWithTool()
  const ref = await tenant.remember(CANARY)
  const other = await tenant.ok('POST', '/stores', { store_id: 'apart' })
  const apart = await tenant.ok('POST', `/stores/${other.store_id}/write`, { content: 'apart' })
  model.answer = () =>
    model.asked.length === 1
      ? { calls: [{ tool: 'post', args: { to: CANARY } }] }
      : { text: `The letter goes to ${CANARY}` }
  const run_id = await tenant.start({ executor: 'managed', input_text: 'where does she live?' })
  const run = await tenant.ended(run_id)
  assert.equal(run.state, 'completed', JSON.stringify(run))
  assert.ok(received.some((body) => body.includes('Zenobia')))

  const certificate = await tenant.ok('POST', '/erasure/issue', { fact_ref: ref })
  const { sent_to_providers, sent_to_tools } = certificate.coverage
  const said = / since \d{4}-[\dT:.-]+Z \(step [0-9a-f]{32}\)$/
  assert.ok(sent_to_providers.startsWith(`${config_id} since `), sent_to_providers)
  assert.match(sent_to_providers, said)
  assert.ok(sent_to_tools.startsWith(`${tool_id} since `), sent_to_tools)
  assert.match(sent_to_tools, said)
  assert.ok(certificate.limits.some((text: string) => text.includes('providers and tools')))
  assert.equal(certificate.verified, true)
  assert.equal(JSON.stringify(await tenant.bundle(run_id)).includes('Zenobia'), false)
  const verdict = await tenant.verify(run_id)
  assert.equal(verdict.valid, true, verdict.reason)

  const untold = await tenant.ok('POST', '/erasure/issue', { fact_ref: apart.ref })
  assert.equal(untold.coverage.sent_to_providers, undefined)
  assert.equal(
    untold.limits.some((text: string) => text.includes('providers and tools')),
    false,
  )
})

test('a model that never answered has received the memory all the same', async () => {
  const { tenant, config_id } = await tenantWithTool()
  const ref = await tenant.remember(CANARY)
  model.answer = () => ({ cut: true })
  const run_id = await tenant.start({ executor: 'managed', input_text: 'where does she live?' })
  assert.equal((await tenant.ended(run_id)).state, 'failed')
  const certificate = await tenant.ok('POST', '/erasure/issue', { fact_ref: ref })
  assert.ok(certificate.coverage.sent_to_providers.startsWith(config_id))
  assert.equal(certificate.coverage.sent_to_tools, undefined)
})
