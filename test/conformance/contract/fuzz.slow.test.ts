// Random requests for longer, each round from another seed.

import assert from 'node:assert/strict'
import test from 'node:test'
import { longRounds, noteCounts } from '../../../packages/server/src/testing/sweep.ts'
import { fuzz } from './testing/fuzz.ts'
import { startContractService } from './testing/payments.ts'
import { buildWorld } from './testing/world.ts'

const ROUNDS = longRounds(20)
const SHOTS = 5_000

test('random bodies from many seeds are taken or refused as the contract says', async (t) => {
  for (let seed = 1; seed <= ROUNDS; seed += 1) {
    const service = await startContractService()
    try {
      const world = await buildWorld(service)
      const tally = await fuzz(service, world, { count: SHOTS, seed })
      t.diagnostic(`seed ${seed}: ${tally.accepted} accepted, ${tally.refused} refused`)
      noteCounts({ seeds: 1, 'bodies accepted': tally.accepted, 'bodies refused': tally.refused })
      const { status } = await world.tenant.ok('gcrumbs.verify', { query: { full: true } })
      assert.equal(status, 'intact')
    } finally {
      await service.stop()
    }
  }
})
