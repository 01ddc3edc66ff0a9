// Run as a process of its own by the crash tests: the real service, which fails, stands still or
// ends itself with SIGKILL at the named points it was told to. It tells its parent every point it
// passes.

import { parseConfig, readEnvironment, startService } from '@custos/server'
import { indexSnapshotPolicy } from '../../../packages/server/src/platform/kernel/kernel.ts'
import { skewedClock } from '../../../packages/server/src/testing/skewed-clock.ts'
import type { Point, Told } from './server-process.ts'

const [, , fatal = '', lease = '', ahead_ms = '0'] = process.argv
let points: readonly Point[] = [{ name: fatal, how: 'kill' }]

const tell = (told: Told): void => {
  process.send?.(told)
}

process.on('message', (given) => {
  // Sent by ServerProcess.arm only.
  points = given as readonly Point[]
  tell({ kind: 'armed' })
})
// The parent has ended, and nothing else would stop this process.
process.on('disconnect', () => process.exit(0))

const service = await startService(parseConfig(readEnvironment()), {
  ...(lease === '' ? {} : { lease_ms: Number(lease) }),
  clock: skewedClock(Number(ahead_ms) * 1_000),
  step(name) {
    const point = points.find((known) => known.name === name)
    if (point?.how === 'kill') process.kill(process.pid, 'SIGKILL')
    tell({ kind: 'step', name })
    if (point?.how === 'stop') process.kill(process.pid, 'SIGSTOP')
    if (point?.how === 'fail') throw new Error(`failed at ${name}`)
  },
})
// Also the smallest index has a snapshot whenever the process is stopped.
Object.assign(indexSnapshotPolicy(service.kernel), { facts_min: 1, changes_min_at_stop: 1 })
tell({ kind: 'listening', url: service.url })
process.once('SIGTERM', async () => {
  await service.stop()
  process.exit(0)
})
