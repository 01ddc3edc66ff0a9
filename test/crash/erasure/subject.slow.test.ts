// The long form: a person with 10,000 memories, killed again and again.

import { test } from 'node:test'
import { killSubject } from '../testing/kill-subject.ts'

test('killed thirty times, the erasure of 10,000 memories has one certificate for each', (t) =>
  killSubject(t, { facts: 10_000, kills: 30, delay_ms: 3_000 }))
