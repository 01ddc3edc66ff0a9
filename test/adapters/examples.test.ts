// The programs of examples/ run as a reader would run them, each in a process of its own.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startTestService } from '../../packages/server/src/testing/harness.ts'

const EXAMPLES = join(import.meta.dirname, '../../examples')
const execute = promisify(execFile)

async function runExample(path: string, words: readonly string[], env: Record<string, string>) {
  const { stdout } = await execute(process.execPath, [join(EXAMPLES, path), ...words], {
    env: { ...process.env, ...env },
  })
  return stdout.trim()
}

test('the chat agent remembers across its own restarts and those of the service', async () => {
  const first = await startTestService()
  const { api_key } = await first.createTenant('chat')
  const say = (words: string, url: string) =>
    runExample('chat-agent/agent.ts', [words], { CUSTOS_URL: url, CUSTOS_API_KEY: api_key })
  try {
    assert.equal(await say('I am allergic to nuts', first.url), 'I know nothing yet.')
  } finally {
    await first.stop({ keep: true })
  }
  const second = await startTestService({ data_dir: first.data_dir })
  try {
    assert.match(await say('what am I allergic to', second.url), /told me: I am allergic to nuts/)
  } finally {
    await second.stop()
    rmSync(first.data_dir, { recursive: true, force: true })
  }
})

test('the chat agent takes at most ten lines', () => {
  const lines = readFileSync(join(EXAMPLES, 'chat-agent/agent.ts'), 'utf8').split('\n')
  const own = lines.filter((line) => line !== '' && !/^(\/\/|import )/.test(line))
  assert.ok(own.length <= 10, `${own.length} lines`)
})

test('the support bot forgets one customer, and the certificates verify without it', async () => {
  const service = await startTestService()
  const folder = mkdtempSync(join(tmpdir(), 'custos-certificates-'))
  try {
    const { api_key } = await service.createTenant('support')
    const env = { CUSTOS_URL: service.url, CUSTOS_API_KEY: api_key }
    const said = await runExample('support-bot/bot.ts', [folder], env)
    assert.match(said, /notes left on ana: 0, on ben: 1$/)
  } finally {
    await service.stop()
  }
  try {
    const names = readdirSync(folder).filter((name) => name !== 'keys.json')
    assert.equal(names.length, 2)
    const checked = await runExample('support-bot/check.ts', [folder], {})
    assert.equal(checked.match(/: VALID$/gm)?.length, 2)
    const path = join(folder, names[0] ?? '')
    writeFileSync(path, readFileSync(path, 'utf8').replace('"erased"', '"erasex"'))
    await assert.rejects(runExample('support-bot/check.ts', [folder], {}), (error: object) => {
      assert.ok('stdout' in error)
      return /: NOT VALID, /.test(String(error.stdout))
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('the LangGraph agent remembers across its restarts', async () => {
  const service = await startTestService()
  try {
    const { api_key } = await service.createTenant('graph')
    const env = { CUSTOS_URL: service.url, CUSTOS_API_KEY: api_key }
    const say = (words: string) => runExample('langgraph-agent/agent.ts', [words], env)
    assert.equal(await say('I am allergic to nuts'), 'I know nothing yet.')
    assert.match(await say('what am I allergic to'), /told me: I am allergic to nuts/)
  } finally {
    await service.stop()
  }
})
