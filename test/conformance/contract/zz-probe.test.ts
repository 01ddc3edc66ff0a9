// probe
import test from 'node:test'
import { startTestService } from '../../../packages/server/src/testing/harness.ts'
import { fuzz } from './testing/fuzz.ts'
import { buildWorld } from './testing/world.ts'
for (const seed of [1,2,3,4]) test(`seed ${seed}`, async (t) => {
  const service = await startTestService()
  try { const w = await buildWorld(service); t.diagnostic(JSON.stringify(await fuzz(service, w, {count: 3000, seed}))) } finally { await service.stop() }
})
