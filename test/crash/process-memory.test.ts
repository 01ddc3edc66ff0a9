// The memory of a running service, searched for texts that were erased. What is found is counted:
// a process gives memory back when it collects garbage, not when something is erased. A new process
// has none of it, which is held to.

import assert from 'node:assert/strict'
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { noteCounts, roundsOf } from '../../packages/server/src/testing/sweep.ts'
import { fsck } from './testing/command-line.ts'
import { Stage } from './testing/stage.ts'

const MEMORIES = 50
const REQUESTS_AFTER = roundsOf(100, 2_000)
const WAIT_MS = roundsOf(0, 60_000)
const PART = 1 << 24
const END = 'asthma7'

/** Words of which each is in one memory, in order. */
const wordOf = (i: number): string => `qz${String(i).padStart(3, '0')}${END}`
const WORDS = Array.from({ length: MEMORIES }, (_, i) => wordOf(i))

/** How many of the words are in the process, as bytes of UTF-8 or of UTF-16. */
function wordsIn(pid: number): number {
  const found = new Set<string>()
  const memory = openSync(`/proc/${pid}/mem`, 'r')
  try {
    for (const line of readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')) {
      const [, from, to, rights = ''] = /^([0-9a-f]+)-([0-9a-f]+) (\S+)/.exec(line) ?? []
      if (!rights.startsWith('rw')) continue
      // Whole parts overlap by more than a word.
      for (let at = Number(`0x${from}`); at < Number(`0x${to}`); at += PART - 64)
        for (const word of wordsAt(memory, at, Math.min(PART, Number(`0x${to}`) - at)))
          found.add(word)
    }
  } finally {
    closeSync(memory)
  }
  return found.size
}

function wordsAt(memory: number, at: number, length: number): string[] {
  const bytes = Buffer.alloc(length)
  try {
    readSync(memory, bytes, 0, length, at)
  } catch {
    // Unmapped meanwhile, or a page that cannot be read.
    return []
  }
  return [...wordsAs(bytes, 'latin1'), ...wordsAs(bytes, 'utf16le')]
}

function wordsAs(bytes: Buffer, encoding: 'latin1' | 'utf16le'): string[] {
  const [end, width] = [Buffer.from(END, encoding), Buffer.byteLength(wordOf(0), encoding)]
  const found: string[] = []
  for (let at = bytes.indexOf(end); at >= 0; at = bytes.indexOf(end, at + 1)) {
    const from = at + end.length - width
    if (from >= 0) found.push(bytes.toString(encoding, from, at + end.length))
  }
  return found.filter((word) => WORDS.includes(word))
}

async function fill({ client }: Stage): Promise<number[]> {
  const contents = WORDS.map((word) => `Ines has ${word} since spring`)
  const items = contents.map((content) => ({ content }))
  const { refs } = await client.ok('POST', '/v1/stores/default/write_batch', { body: { items } })
  for (const [i, ref] of refs.entries()) {
    const body = { store_id: 'default', model_id: 'm', query: 'q', output: 'o' }
    const used = { retrieved_refs: [ref], retrieved_contents: [contents[i]] }
    await client.ok('POST', '/v1/decisions/log', { body: { ...body, ...used } })
  }
  const query = { query: 'Who has it since spring?', budget_tokens: 4_000 }
  await client.ok('POST', '/v1/stores/default/retrieve', { body: query })
  return refs
}

const pidOf = ({ server }: Stage): number => server.pid ?? assert.fail('no process')

async function search(t: TestContext, stage: Stage, when: string): Promise<number> {
  const found = wordsIn(pidOf(stage))
  t.diagnostic(`${when}: ${found} of ${MEMORIES} words`)
  noteCounts({ [`words found in memory ${when}`]: found })
  // The service has closed the connections that were idle meanwhile: let the client notice.
  await delay(500)
  return found
}

test('no erased word is in the memory of a process that starts after the erasure', async (t) => {
  if (process.platform !== 'linux') return t.diagnostic('NOT RUN: THIS NEEDS /proc OF LINUX')
  const stage = new Stage(t)
  const client = await stage.start()
  const refs = await fill(stage)
  noteCounts({ 'words searched for': MEMORIES })
  assert.equal(await search(t, stage, 'before the erasure'), MEMORIES, 'the search finds nothing')
  for (const fact_ref of refs) await client.ok('POST', '/v1/erasure/issue', { body: { fact_ref } })
  await search(t, stage, 'at once after the erasure')
  for (let i = 0; i < REQUESTS_AFTER; i += 1) {
    await client.ok('POST', '/v1/stores/default/write', { body: { content: `Another ${i}` } })
    const body = { query: `another ${i}`, budget_tokens: 500 }
    await client.ok('POST', '/v1/stores/default/retrieve', { body })
  }
  await search(t, stage, 'after other requests')
  await delay(WAIT_MS)
  await search(t, stage, 'after a pause')
  await stage.server.stop()
  await stage.start()
  const body = { query: 'Who has asthma?', budget_tokens: 4_000 }
  await stage.client.ok('POST', '/v1/stores/default/retrieve', { body })
  assert.equal(await search(t, stage, 'of a new process'), 0)
  await stage.server.stop()
  await fsck(stage.options)
})
