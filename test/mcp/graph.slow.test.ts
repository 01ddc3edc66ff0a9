// The long forms of what graph.test.ts compares and writes.

import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { tempDirectory } from '../../packages/cli/src/testing/run.ts'
import { startTestService, type TestService } from '../../packages/server/src/testing/harness.ts'
import { compareServers, connect, custosServer, officialServer } from './testing/graph-servers.ts'
import { writeTogether } from './testing/two-writers.ts'

const SEQUENCES = 500
const WRITES = 1_000

let service: TestService

before(async () => {
  service = await startTestService()
})
after(() => service.stop())

/** A server of a tenant of its own. */
async function graphServer() {
  const { api_key } = await service.createTenant()
  return custosServer(['--tools', 'graph', '--url', service.url], { CUSTOS_API_KEY: api_key })
}

test('500 random sequences of the nine tools have the results of the official server', async () => {
  const official = await connect(officialServer(join(tempDirectory(), 'official.jsonl')))
  const custos = await connect(await graphServer())
  try {
    await compareServers(official, custos, SEQUENCES)
  } finally {
    await official.close()
    await custos.close()
  }
})

test('1,000 writes of two servers to one graph at once are all there', async () => {
  const server = await graphServer()
  const clients = [await connect(server), await connect(server, 'auto')]
  try {
    await writeTogether(clients, WRITES)
  } finally {
    for (const client of clients) await client.close()
  }
})
