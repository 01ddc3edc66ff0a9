// The long form: four processes on one database.

import { test } from 'node:test'
import { loadAndCheck } from './testing/mixed-load.ts'

test('four processes under load give every acknowledged write, one log and no erased fact', (t) =>
  loadAndCheck(t, { processes: 4, load_ms: 60_000 }))
