// Random sequences of operations on the service and on a small model, which must agree throughout.

import { test } from 'node:test'
import { simulate } from './testing/run.ts'

test('after any sequence of operations the service and a model agree', (t) => simulate(t, 400))
