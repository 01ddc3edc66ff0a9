// Several `custos mcp` on one data directory: one runs the service, the others join it.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { tempDirectory } from '../../packages/cli/src/testing/run.ts'
import { called, INFO } from './testing/calls.ts'

const BIN = join(import.meta.dirname, '../../packages/cli/bin/custos.js')

async function open(dir: string) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [BIN, 'mcp', '--data-dir', dir],
  })
  const client = new Client(INFO)
  await client.connect(transport)
  return { client, transport }
}

/** Saves, corrects and searches; returns the refs of what must be there. */
async function writeMixed(client: Client, name: string, count: number): Promise<number[]> {
  const refs: number[] = []
  for (let i = 0; i < count; i += 1) {
    const replaces = i % 5 === 4 ? { replaces: refs.at(-1) } : {}
    const content = `${name} wrote number ${i}`
    const saved = await called(client, 'memory_save', { content, ...replaces })
    assert.equal(saved.failed, false, saved.text)
    assert.equal(saved.data.duplicate_of, null)
    refs.push(saved.data.ref)
    if (i % 10 === 0) await called(client, 'memory_search', { query: content })
  }
  return refs
}

async function assertAllThere(client: Client, refs: readonly number[]): Promise<void> {
  assert.equal(new Set(refs).size, refs.length, 'no number is given twice')
  for (const ref of refs) {
    const got = await called(client, 'memory_get', { ref })
    assert.equal(got.failed, false, `memory ${ref}: ${got.text}`)
  }
}

async function writeTogether(each: number): Promise<void> {
  const dir = join(tempDirectory(), 'data')
  // Both start at once: one finds the directory held.
  const [one, other] = await Promise.all([open(dir), open(dir)])
  const written = await Promise.all([
    writeMixed(one.client, 'Ada', each),
    writeMixed(other.client, 'Grace', each),
  ])
  await assertAllThere(one.client, written.flat())
  await assertAllThere(other.client, written.flat())
  await one.client.close()
  await other.client.close()
  assert.equal(existsSync(join(dir, 'custos.address')), false)
}

test('two clients on one directory lose nothing of 100 mixed writes', () => writeTogether(50))

test('when the process that runs the service ends, the other goes on', async () => {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const dir = join(tempDirectory(), 'data')
    const first = await open(dir)
    const second = await open(dir)
    const before = await writeMixed(second.client, `Before ${signal}`, 5)
    const { pid } = first.transport
    assert.ok(pid)
    const gone = new Promise<void>((resolve) => {
      first.client.onclose = () => resolve()
    })
    process.kill(pid, signal)
    await gone
    const after = await writeMixed(second.client, `After ${signal}`, 5)
    await assertAllThere(second.client, [...before, ...after])
    await second.client.close()
  }
})
