// Random requests for longer, each round from another seed.

import assert from 'node:assert/strict'
import test from 'node:test'
import { fuzz } from './testing/fuzz.ts'
import { startContractService } from './testing/payments.ts'
import { buildWorld } from './testing/world.ts'

const ROUNDS = 20
const SHOTS = 5_000

test('100,000 random bodies from 20 seeds are taken or refused as the contract says', async (t) => {
  for (let seed = 1; seed <= ROUNDS; seed += 1) {
    const service = await startContractService()
    try {
      const world = await buildWorld(service)
      const tally = await fuzz(service, world, { count: SHOTS, seed })
      t.diagnostic(`seed ${seed}: ${tally.accepted} accepted, ${tally.refused} refused`)
      const { status } = await world.tenant.ok('gcrumbs.verify', { query: { full: true } })
      assert.equal(status, 'intact')
    } finally {
      await service.stop()
    }
  }
})
