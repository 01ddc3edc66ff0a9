// The long form of the simulation: several runs of many steps.

import { test } from 'node:test'
import { simulate } from './testing/run.ts'

for (let run = 1; run <= 2; run += 1)
  test(`run ${run}: after a long sequence of operations the service and a model agree`, (t) =>
    simulate(t, 1_500))
