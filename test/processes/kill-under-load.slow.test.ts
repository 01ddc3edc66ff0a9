// The long form on PostgreSQL: many rounds of load, kill -9 and restart of the only process.

import { test } from 'node:test'
import { longRounds } from '../../packages/server/src/testing/sweep.ts'
import { killRounds } from '../crash/testing/kill-rounds.ts'
import { onPostgres } from './testing/mixed-load.ts'

const ROUNDS = longRounds(25)
/** Instead of half a minute: every round waits for it. */
const LEASE_MS = 1_500

test('killed again and again on PostgreSQL, the service keeps all it has acknowledged', async (t) =>
  killRounds(t, ROUNDS, await onPostgres(t, LEASE_MS)))
