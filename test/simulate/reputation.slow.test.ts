// The long form of the simulation of reputation: many worlds.

import { test } from 'node:test'
import { checkReputation } from './reputation-held.ts'
import { seedsOf } from './reputation-run.ts'

test('in many worlds Sybils move no score by more than 0.05', (t) =>
  checkReputation(t, seedsOf(100)))
