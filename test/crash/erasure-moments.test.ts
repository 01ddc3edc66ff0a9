// kill -9 within milliseconds of an erasure request, inside any of its writes.

import { test } from 'node:test'
import { killMoments } from './testing/kill-moments.ts'

const ROUNDS = 10

test('killed in the middle of any write, an erasure is undone or completed', (t) =>
  killMoments(t, ROUNDS))
