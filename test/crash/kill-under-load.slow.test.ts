// The long form: many rounds of load, kill -9 and restart.

import { test } from 'node:test'
import { longRounds } from '../../packages/server/src/testing/sweep.ts'
import { killEmbedded } from './testing/kill-rounds.ts'

const ROUNDS = longRounds(50)
/** A round compares all that its directory has acknowledged: many rounds need several. */
const ROUNDS_PER_DIRECTORY = 25

for (let first = 0; first < ROUNDS; first += ROUNDS_PER_DIRECTORY) {
  const rounds = Math.min(ROUNDS_PER_DIRECTORY, ROUNDS - first)
  const name = `rounds from ${first + 1}`
  test(`killed again and again, the service keeps all it has acknowledged: ${name}`, (t) =>
    killEmbedded(t, rounds))
}
