// The long form: fifty rounds of load, kill -9 and restart.

import { test } from 'node:test'
import { killRounds } from './testing/kill-rounds.ts'

const ROUNDS = 50

test('killed fifty times, the service keeps all it has acknowledged and forks no log', (t) =>
  killRounds(t, ROUNDS))
