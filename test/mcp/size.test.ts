// What a client pays for the tools before it calls one: tokens of its context, and the start.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempDirectory } from '../../packages/cli/src/testing/run.ts'
import { loadTokenizer } from '../../packages/server/src/platform/tokens/tokenizer.ts'
import { namesOf } from './testing/calls.ts'
import { connect, custosServer } from './testing/graph-servers.ts'

const TOKENS_MAX = 3_000
/** Far above what it takes: a machine that runs many tests starts processes slowly. */
const START_MS_MAX = 60_000

test('the lists of tools are short, and a new directory is served at once', async (t) => {
  const { count } = await loadTokenizer('o200k_base')
  for (const [set, tools] of [
    ['governed', 12],
    ['graph', 9],
  ] as const) {
    const dir = join(tempDirectory(), 'data')
    const started = performance.now()
    const client = await connect(custosServer(['--tools', set, '--data-dir', dir], {}))
    try {
      const names = await namesOf(client)
      const ms = performance.now() - started
      assert.equal(names.length, tools)
      assert.ok(ms < START_MS_MAX, `${set}: ${ms} ms`)
      const tokens = count(JSON.stringify((await client.listTools()).tools))
      assert.ok(tokens <= TOKENS_MAX, `${set}: ${tokens} tokens`)
      t.diagnostic(`${set}: ${tokens} tokens, listed after ${Math.round(ms)} ms`)
    } finally {
      await client.close()
    }
  }
})
