// Whether data can be stored now: a row is written and read back, a file opened, space measured.

import { open, statfs } from 'node:fs/promises'
import { waitAtMost } from '../concurrency.ts'
import { PLATFORM } from '../db/database.ts'
import { findMark, saveMark } from '../db/leases.sql.ts'
import { Refusal } from '../refusal.ts'
import { storageFault } from '../storage-fault.ts'
import { type Kernel, perKernel } from './kernel.ts'

const MARK = 'readiness'
/** Probes in between share one answer: a flood of them does not become a flood of writes. */
const EVERY_MS = 1_000
/** With less, the next write to the keyring may fail although this one did not. */
const FREE_BYTES_MIN = 1024 * 1024

/** A database that hangs answers nothing for longer than a scrape waits. */
export const PROBE_WAIT_MS = 3_000

const lastProbes = perKernel(() => ({
  again_ms: Number.NEGATIVE_INFINITY,
  state: Promise.resolve<Awaited<ReturnType<typeof probe>>>('ok'),
}))

/** Never rejects: the reason of a failure goes to the log. */
export function probeStorage(kernel: Kernel): ReturnType<typeof probe> {
  const last = lastProbes(kernel)
  const begun_ms = performance.now()
  if (begun_ms < last.again_ms) return last.state
  // Nobody begins another while this one runs.
  last.again_ms = Number.POSITIVE_INFINITY
  const ended = probe(kernel).finally(() => {
    last.again_ms = begun_ms + EVERY_MS
  })
  last.state = waitAtMost(ended, PROBE_WAIT_MS, () => 'failing')
  return last.state
}

async function probe(kernel: Kernel): Promise<'ok' | 'full' | 'failing'> {
  try {
    const holder = kernel.ids.hex(8)
    const until_us = kernel.clock.now()
    await kernel.db.transact(PLATFORM, (tx) => saveMark(tx, { name: MARK, holder, until_us }))
    const found = await kernel.db.read(PLATFORM, (db) => findMark(db, MARK))
    // In a shared database another process may have written its own since.
    const stored = kernel.db.shared ? found !== null : found === holder
    if (!stored) throw new Error('what was written is not what is read')
    await takeFileDescriptor()
    return (await hasSpace(kernel)) ? 'ok' : 'full'
  } catch (error) {
    const state = stateOf(error)
    const reason = error instanceof Error ? error.name : 'unknown'
    kernel.logger.error('readiness.failing', { check: 'storage', state, reason })
    return state
  }
}

/** Files of the database are open already; what is loaded on first use needs another one. */
async function takeFileDescriptor(): Promise<void> {
  await (await open(process.execPath)).close()
}

/** SQLite writes over the old part of its log while the file system has no room for the keyring. */
async function hasSpace({ db: { source } }: Kernel): Promise<boolean> {
  if (source.engine !== 'sqlite') return true
  const { bfree, bsize } = await statfs(source.path)
  return bfree * bsize >= FREE_BYTES_MIN
}

function stateOf(error: unknown): 'full' | 'failing' {
  const full = error instanceof Refusal && error.code === 'storage_full'
  return full || storageFault(error) === 'full' ? 'full' : 'failing'
}
