// The long form: four processes, fifty endpoints, one of them silent for ever.

import { test } from 'node:test'
import { deliverFromProcesses } from './testing/webhook-load.ts'

test('fifty endpoints of four processes get every entry, also when two of them are killed', (t) =>
  deliverFromProcesses(t, {
    processes: 4,
    tenants: 10,
    endpoints_each: 5,
    events_per_s: 200,
    seconds: 20,
    // The aim is 2 s; four processes and their receivers share the cores, often with other work.
    late_ms: 5_000,
    kills: 2,
  }))
