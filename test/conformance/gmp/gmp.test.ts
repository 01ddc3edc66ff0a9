// The seven declared capabilities, measured on the public workloads with the suite's own gates.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  type ForbiddenReason,
  leakageOf,
  type Observation,
  type Ref,
  type ReplayStore,
  recallOf,
  replay,
} from '@custos/conformance'
import { startTestService, type TestService } from '../../../packages/server/src/testing/harness.ts'
import { loadTrace } from './trace.ts'

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

async function freshStore(): Promise<ReplayStore> {
  const { store_id } = await post('/v1/stores', {})
  const base = `/v1/stores/${store_id}`
  return {
    write: async (content, options) => (await post(`${base}/write`, { content, options })).ref,
    supersede: async (old_ref, content, options) =>
      (await post(`${base}/supersede`, { old_ref, content, options })).ref,
    erase: async (ref) => (await post(`${base}/delete`, { ref })).deleted,
    retrieve: async (query, options) => {
      assert.deepEqual(await post(`${base}/flush`, {}), {})
      const { memories } = await post(`${base}/retrieve`, { query, options })
      return memories.map((memory: { ref: Ref }) => memory.ref)
    },
  }
}

const RECALL_MIN = 0.5
const LEAKAGE_MAX = 0.005

type Gate = (all: readonly Observation[]) => void

const found = (min: number, all: readonly Observation[], what = 'recall'): void => {
  const recall = recallOf(all)
  assert(recall >= min, `${what} ${recall}`)
}
const without = (reason: ForbiddenReason, all: readonly Observation[], max = LEAKAGE_MAX): void => {
  const leakage = leakageOf(all, [reason])
  assert(leakage <= max, `${reason}: ${leakage}`)
}
const deletes: Gate = (all) => {
  without('deleted', all, 0)
  found(RECALL_MIN, all, 'survivor recall')
}

const gates: Record<string, Gate> = {
  w01: (all) => found(0.95, all),
  w02: (all) => {
    const current = all.filter(({ as_of }) => as_of === null)
    const historical = all.filter(({ as_of }) => as_of !== null)
    found(RECALL_MIN, current, 'current recall')
    found(RECALL_MIN, historical, 'historical recall')
    without('not_valid_then', current)
  },
  w03: (all) => found(0.95, all),
  w05: (all) => {
    without('foreign', all)
    found(RECALL_MIN, all, 'in-tenant recall')
  },
  w06: deletes,
  w09: deletes,
}

const declared = new Set(['supersession_chain', 'bi_temporal', 'hard_delete', 'multi_tenant'])

for (const [workload, gate] of Object.entries(gates)) {
  for (const difficulty of ['easy', 'medium']) {
    const name = `${workload}-${difficulty}-seed0`
    test(`workload ${name} passes its gate over HTTP`, async (t) => {
      const loaded = loadTrace(name)
      if (!loaded) return t.diagnostic(`${name}: the data sets are not present, nothing was run`)
      const options = { budget: 512, declared }
      const { observations, not_deleted } = await replay(loaded.trace, await freshStore(), options)
      t.diagnostic(`${name}: ${observations.length} queries, recall ${recallOf(observations)}`)
      assert.deepEqual(not_deleted, [])
      gate(observations)
    })
  }
}
