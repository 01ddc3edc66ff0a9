// kill -9 within milliseconds of an erasure request, inside any of its writes.

import { test } from 'node:test'
import { roundsOf } from '../../../packages/server/src/testing/sweep.ts'
import { killMoments } from '../testing/kill-moments.ts'

const ROUNDS = roundsOf(4, 10)

test('killed in the middle of any write, an erasure is undone or completed', (t) =>
  killMoments(t, ROUNDS))
