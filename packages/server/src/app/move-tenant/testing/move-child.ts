// A move that is killed at a step, without a chance to clean up.

import { text } from 'node:stream/consumers'
import { runTenantMove } from '../move-tenant.ts'

const { step, move } = JSON.parse(await text(process.stdin))
await runTenantMove(move, {
  step: (name) => {
    if (name === step) process.kill(process.pid, 'SIGKILL')
  },
})
