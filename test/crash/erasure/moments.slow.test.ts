// The long form: a hundred kills within milliseconds of an erasure request.

import { test } from 'node:test'
import { longRounds } from '../../../packages/server/src/testing/sweep.ts'
import { killMoments } from '../testing/kill-moments.ts'

const ROUNDS = longRounds(100)

test('killed in the middle of any write, a hundred times, no erasure is left halfway', (t) =>
  killMoments(t, ROUNDS))
