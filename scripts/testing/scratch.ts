// Where a run keeps its data: in memory where there is room, for most of a test's time is waiting
// for durable writes. Crash tests kill processes, not machines: what was written stays.

import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
/** Of the disk, and of the memory it is in. */
const ROOM_BYTES_MIN = 8 * 1024 ** 3

/** Sets TMPDIR and NODE_COMPILE_CACHE; what is below TMPDIR is removed when this process ends. */
export function useScratch(): void {
  const cache = join(tmpdir(), 'custos-compile-cache')
  mkdirSync(cache, { recursive: true })
  process.env['NODE_COMPILE_CACHE'] ??= cache
  const scratch = mkdtempSync(join(hasRoom() ? MEMORY : tmpdir(), 'custos-tests-'))
  // PostgreSQL runs as another user.
  chmodSync(scratch, 0o1777)
  process.env['TMPDIR'] = scratch
  // A server that is still being stopped may write: then it is tried again.
  const options = { recursive: true, force: true, maxRetries: 5 }
  process.on('exit', () => rmSync(scratch, options))
}

/** Whether there is a disk in memory with room, and programs may be run from it. */
function hasRoom(): boolean {
  try {
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n')
    const mount = mounts.map((line) => line.split(' ')).find(([, path]) => path === MEMORY)
    const { bavail, bsize } = statfsSync(MEMORY)
    const room = Math.min(bavail * bsize, process.availableMemory())
    return mount?.[2] === 'tmpfs' && !/noexec/.test(mount[3] ?? '') && room > ROOM_BYTES_MIN
  } catch {
    return false
  }
}
