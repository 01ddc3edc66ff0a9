// The seven declared capabilities, measured on the public workloads with the suite's own gates.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestService, type TestService } from '../../../packages/server/src/testing/harness.ts'
import { loadTrace, replay, type Scores, type Store } from './trace.ts'

let service: TestService
let key: string

before(async () => {
  service = await startTestService()
  key = (await service.createTenant('conformance')).api_key
})

after(() => service.stop())

async function post(path: string, body: unknown) {
  const answer = await service.request('POST', path, { body, key })
  assert.equal(answer.status, 200, `${path}: ${answer.text}`)
  return answer.body
}

async function freshStore(): Promise<Store> {
  const { store_id } = await post('/v1/stores', {})
  const base = `/v1/stores/${store_id}`
  return {
    write: async (content, options) => (await post(`${base}/write`, { content, options })).ref,
    supersede: async (old_ref, content, options) =>
      (await post(`${base}/supersede`, { old_ref, content, options })).ref,
    erase: async (ref) => {
      assert.equal((await post(`${base}/delete`, { ref })).deleted, true)
    },
    retrieve: async (query, options) => {
      assert.deepEqual(await post(`${base}/flush`, {}), {})
      const { memories } = await post(`${base}/retrieve`, { query, options })
      return memories.map((memory: { ref: unknown }) => memory.ref)
    },
  }
}

const RECALL_MIN = 0.5
const LEAKAGE_MAX = 0.005

const gates: Record<string, (scores: Scores) => void> = {
  w01: (s) => assert(s.recall >= 0.95, `recall ${s.recall}`),
  w02: (s) => {
    assert(s.recall_current >= RECALL_MIN, `current recall ${s.recall_current}`)
    assert(s.recall_historical >= RECALL_MIN, `historical recall ${s.recall_historical}`)
    assert(s.stale <= LEAKAGE_MAX, `stale leakage ${s.stale}`)
  },
  w03: (s) => assert(s.recall >= 0.95, `recall ${s.recall}`),
  w05: (s) => {
    assert(s.foreign <= LEAKAGE_MAX, `foreign leakage ${s.foreign}`)
    assert(s.recall >= RECALL_MIN, `in-tenant recall ${s.recall}`)
  },
  w06: (s) => {
    assert.equal(s.deleted, 0)
    assert(s.recall >= RECALL_MIN, `survivor recall ${s.recall}`)
  },
  w09: (s) => {
    assert.equal(s.deleted, 0)
    assert(s.recall >= RECALL_MIN, `survivor recall ${s.recall}`)
  },
}

for (const [workload, gate] of Object.entries(gates)) {
  for (const difficulty of ['easy', 'medium']) {
    const name = `${workload}-${difficulty}-seed0`
    test(`workload ${name} passes its gate over HTTP`, async (t) => {
      const trace = loadTrace(name)
      if (!trace) return t.diagnostic(`${name}: the data sets are not present, nothing was run`)
      const scores = await replay(trace, await freshStore())
      t.diagnostic(`${name}: ${JSON.stringify(scores)}`)
      gate(scores)
    })
  }
}
