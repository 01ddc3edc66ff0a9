// The long form: many rounds of load, kill -9 and restart.

import { test } from 'node:test'
import { longRounds } from '../../packages/server/src/testing/sweep.ts'
import { killEmbedded } from './testing/kill-rounds.ts'

const ROUNDS = longRounds(50)

test('killed again and again, the service keeps all it has acknowledged and forks no log', (t) =>
  killEmbedded(t, ROUNDS))
