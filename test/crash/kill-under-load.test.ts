// kill -9 at a random moment under load, again and again on the same data.

import { test } from 'node:test'
import { roundsOf } from '../../packages/server/src/testing/sweep.ts'
import { killEmbedded } from './testing/kill-rounds.ts'

const ROUNDS = roundsOf(3, 8)

test('killed at any moment, the service keeps all it has acknowledged and forks no log', (t) =>
  killEmbedded(t, ROUNDS))
