// A log whose reader stands still, or that is gone, costs bounded memory and nobody's time.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { LogFile } from './logger.ts'

const LINE = `${'x'.repeat(1_023)}\n`
const describeDropped = (lines: number) => `dropped ${lines}\n`

/** A pipe that takes 64 KiB at most before it is read. */
function openPipe(t: TestContext): number {
  const directory = mkdtempSync(join(tmpdir(), 'custos-log-'))
  const path = join(directory, 'pipe')
  execFileSync('mkfifo', [path])
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  t.after(() => {
    closeSync(fd)
    rmSync(directory, { recursive: true })
  })
  return fd
}

function readAll(fd: number): string {
  const buffer = Buffer.alloc(256 * 1024)
  try {
    return buffer.toString('utf8', 0, readSync(fd, buffer))
  } catch {
    return ''
  }
}

/** Reads until the text holds so much. */
async function readUntil(fd: number, holds: (text: string) => boolean): Promise<string> {
  let text = ''
  for (let looks = 0; looks < 30_000 && !holds(text); looks += 1) {
    text += readAll(fd)
    await delay(1)
  }
  assert.ok(holds(text), `${text.length} bytes came`)
  return text
}

const countLines = (text: string): number => text.split('x\n').length - 1

test('lines wait for a reader that stands still, in their order', async (t) => {
  const fd = openPipe(t)
  const log = new LogFile(fd, describeDropped)
  for (let i = 0; i < 200; i += 1) log.write(`${i} ${LINE}`)
  const text = await readUntil(fd, (read) => countLines(read) === 200)
  const numbers = text.split('\n').flatMap((line) => /^(\d+) x/.exec(line)?.[1] ?? [])
  assert.deepEqual(
    numbers,
    Array.from({ length: 200 }, (_, i) => String(i)),
  )
})

test('beyond 4 MiB lines are dropped, and their number is told', async (t) => {
  const fd = openPipe(t)
  const log = new LogFile(fd, describeDropped)
  for (let i = 0; i < 10_000; i += 1) log.write(LINE)
  const told = /dropped (\d+)\n/
  const text = await readUntil(fd, (read) => told.test(read))
  const dropped = Number(told.exec(text)?.[1])
  assert.ok(dropped >= 10_000 - 4_096 - 64, `${dropped} lines`)
  const left = await readUntil(fd, (read) => countLines(text + read) + dropped === 10_000)
  assert.doesNotMatch(left, told)
})

test('the last lines of a process are written behind a write that is under way', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'custos-log-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'log')
  const fd = openSync(path, 'a')
  const log = new LogFile(fd, describeDropped)
  for (let i = 0; i < 5; i += 1) log.write(LINE)
  log.write('the end\n')
  log.flush()
  assert.ok(readFileSync(path, 'utf8').endsWith('the end\n'))
  closeSync(fd)
})

test('a reader that stands still is not waited for at the end', async (t) => {
  const fd = openPipe(t)
  const log = new LogFile(fd, describeDropped)
  for (let i = 0; i < 200; i += 1) log.write(LINE)
  await delay(50)
  log.write('the end\n')
  log.flush()
  const text = readAll(fd)
  assert.ok(text.length > 60_000 && !text.endsWith('the end\n'))
})

test('a file that takes nothing holds nobody up, at the end either', async () => {
  const fd = openSync('/dev/full', 'w')
  const log = new LogFile(fd, describeDropped)
  for (let i = 0; i < 10; i += 1) log.write(LINE)
  await delay(50)
  log.write(LINE)
  log.flush()
  closeSync(fd)
})
