// kill -9 between the answer of a model and the unit that stores it: nothing of the conversation is
// there, and a repeat writes all of it once.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  type ModelServer,
  startModelServer,
} from '../../packages/server/src/slices/orchestrator/testing/model-server.ts'
import { writeTestCertificate } from '../../packages/server/src/slices/webhooks/testing/scene.ts'
import { Interrupted } from './testing/client.ts'
import { fsck } from './testing/command-line.ts'
import { Stage } from './testing/stage.ts'
import { tempDirectory } from './testing/temp-directory.ts'

test('a conversation whose process is killed is written by its repeat, all or none', async (t) => {
  const model: ModelServer = await startModelServer(t)
  const fact = { content: 'Ana lives in Porto', sources: [1] }
  model.answer = () => ({ text: JSON.stringify({ facts: [fact] }) })
  const certificate = writeTestCertificate(join(tempDirectory(t), 'model.pem'))
  const stage = new Stage(t, {
    env: { CUSTOS_EGRESS_ALLOW: '127.0.0.1', NODE_EXTRA_CA_CERTS: certificate },
  })
  const client = await stage.start()
  const provider = { provider: 'openai', model_id: 'model-a', base_url: model.base_url }
  await client.ok('POST', '/v1/llm/providers', { body: provider })
  await client.ok('POST', '/v1/stores', { body: { store_id: 'notes' } })
  const messages = [{ role: 'user', content: 'I moved to Porto' }]
  const sent = {
    body: { mode: 'extract', model_id: 'model-a', messages },
    headers: { 'idempotency-key': 'talk-1' },
  }
  const path = '/v1/stores/notes/ingest'
  await stage.server.arm([{ name: 'ingest:answered', how: 'kill' }])
  await assert.rejects(client.ask('POST', path, sent), Interrupted)
  await stage.died()

  const again = await stage.start()
  assert.equal((await again.ok('GET', '/v1/stores/notes/stats')).facts, 0)
  const first = await again.ok('POST', path, sent)
  assert.equal(first.extraction.facts[0].outcome, 'new')
  assert.deepEqual(await again.ok('POST', path, sent), first)
  assert.equal(model.asked.length, 2)
  assert.equal((await again.ok('GET', '/v1/stores/notes/stats')).facts, 2)
  await stage.server.stop()
  await fsck(stage.options)
})
