// Two thousand random requests from one seed: never a 5xx, never a reply outside its schema.

import assert from 'node:assert/strict'
import test from 'node:test'
import { noteCounts } from '../../../packages/server/src/testing/sweep.ts'
import { fuzz } from './testing/fuzz.ts'
import { startContractService } from './testing/payments.ts'
import { buildWorld } from './testing/world.ts'

test('2,000 random bodies are taken or refused as the contract says', async (t) => {
  const service = await startContractService()
  try {
    const world = await buildWorld(service)
    const tally = await fuzz(service, world, { count: 2_000, seed: 8_420 })
    t.diagnostic(`${tally.accepted} accepted, ${tally.refused} refused`)
    assert.ok(tally.accepted > 100 && tally.refused > 100, JSON.stringify(tally))
    noteCounts({ seeds: 1, 'bodies accepted': tally.accepted, 'bodies refused': tally.refused })
    const { status } = await world.tenant.ok('gcrumbs.verify', { query: { full: true } })
    assert.equal(status, 'intact')
  } finally {
    await service.stop()
  }
})
