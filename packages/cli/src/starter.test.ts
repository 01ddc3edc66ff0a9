// The command under npm: whatever ends npm ends the service it started.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type TestCleanup, tempDirectory } from './testing/run.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const ENDS_MS = 15_000

/** Starts a service by a command line and waits until it listens. */
async function start(
  t: TestCleanup,
  command: string,
  args: string[],
): Promise<{ starter: ChildProcess; url: string }> {
  const starter = spawn(command, args, {
    cwd: ROOT,
    detached: true,
    env: {
      ...process.env,
      CUSTOS_PORT: '0',
      CUSTOS_DATA_DIR: join(tempDirectory(), 'data'),
      CUSTOS_LOG_LEVEL: 'silent',
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  // What a failed test leaves: the group of processes that was started here.
  t.after(() => {
    try {
      process.kill(-Number(starter.pid), 'SIGKILL')
    } catch {
      // It has ended.
    }
  })
  let output = ''
  for await (const chunk of starter.stdout ?? []) {
    output += String(chunk)
    const [, url] = output.match(/custos listens on (\S+)/) ?? []
    if (url !== undefined) return { starter, url }
  }
  throw new Error(`nothing listens: ${output}`)
}

async function assertEnds(url: string): Promise<void> {
  for (const deadline = performance.now() + ENDS_MS; performance.now() < deadline; ) {
    const answer = await fetch(`${url}/health`).catch(() => null)
    if (answer === null) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  assert.fail('the service still answers')
}

for (const signal of ['SIGKILL', 'SIGTERM'] as const)
  test(`${signal} to npm ends the service that npm started`, async (t) => {
    const { starter, url } = await start(t, 'npm', ['start', '--silent'])
    starter.kill(signal)
    await assertEnds(url)
  })

test('a service that was not started by npm outlives the shell that started it', async (t) => {
  const line = `'${process.execPath}' packages/cli/bin/custos.js serve & wait`
  const { starter, url } = await start(t, 'sh', ['-c', line])
  starter.kill('SIGKILL')
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  assert.equal((await fetch(`${url}/health`)).status, 200)
})
