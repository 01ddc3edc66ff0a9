// The examples of runs: three agents on a local model, and a LangGraph that is killed and goes on.
// Their bundles verify with both verifiers, and the checkpoints of LangGraph hold no text.

import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { readSavedDocuments, verifySavedDocument } from '@custos/proof'
import { startTestService } from '../../packages/server/src/testing/harness.ts'

const ROOT = join(import.meta.dirname, '../..')
const CANARY = 'Zenobia Quarles'
const execute = promisify(execFile)

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'custos-run-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function assertVerifies(folder: string): Promise<void> {
  const [bundle, list] = [join(folder, 'run.ndjson'), join(folder, 'keys.json')]
  const { keys } = JSON.parse(readFileSync(list, 'utf8'))
  const [document] = readSavedDocuments(readFileSync(bundle, 'utf8'))
  assert.ok(document)
  const verdict = await verifySavedDocument(document, { keys, entry: undefined })
  assert.equal(verdict.valid, true, verdict.reason)
  const { stdout } = await execute('python3', [
    '-B',
    join(ROOT, 'docs/verify_run.py'),
    bundle,
    list,
  ])
  assert.match(stdout, /^valid\nsigned by /)
}

test('three agents answer under one budget, and their run verifies offline', async (t) => {
  const folder = folderOf(t)
  const service = await startTestService()
  try {
    const { api_key } = await service.createTenant('research')
    const env = { ...process.env, CUSTOS_URL: service.url, CUSTOS_API_KEY: api_key }
    const program = join(ROOT, 'examples/research-run/research.ts')
    const { stdout } = await execute(process.execPath, [program, 'Who?', folder], { env })
    assert.match(stdout, /^completed: 3 steps, \d+ tokens\n$/)
  } finally {
    await service.stop()
  }
  await assertVerifies(folder)
  const bundle = readFileSync(join(folder, 'run.ndjson'), 'utf8')
  assert.ok(bundle.includes('Ana Sousa'), 'no agent read the memory')
})

/** A model whose every other question ends the process that asks it. */
async function startFatalModel(t: TestContext) {
  const model = { asked: 0, running: null as ChildProcess | null, url: '' }
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      model.asked += 1
      if (model.asked % 2 === 1) {
        model.running?.kill('SIGKILL')
        return
      }
      const choices = [{ message: { role: 'assistant', content: `${CANARY} does` } }]
      const usage = { prompt_tokens: 9, completion_tokens: 4 }
      response.end(JSON.stringify({ choices, usage }))
    })
  }).listen(0, '127.0.0.1')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  // Bound to a port just now.
  model.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  return model
}

test('a LangGraph that is killed at a question goes on with the same permit', async (t) => {
  const folder = folderOf(t)
  const model = await startFatalModel(t)
  const service = await startTestService()
  try {
    const { api_key: key } = await service.createTenant('graph')
    const settings = { CUSTOS_URL: service.url, CUSTOS_API_KEY: key, MODEL_URL: model.url }
    const body = { content: `${CANARY} looks after the lighthouse` }
    await service.request('POST', '/v1/stores/default/write', { key, body })
    const program = join(ROOT, 'examples/langgraph-run/graph.ts')
    const words = [program, 'thread-1', `What does ${CANARY} do?`, folder]
    let ended: unknown[] = []
    let said = ''
    for (let start = 0; start < 3; start += 1) {
      const env = { ...process.env, ...settings }
      const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'inherit'] })
      model.running = child
      child.stdout.on('data', (chunk) => {
        said += String(chunk)
      })
      ended = await once(child, 'close')
    }
    assert.deepEqual(ended, [0, null])
    assert.match(said, /^completed: /)
    assert.equal(model.asked, 4)
    const { body: listed } = await service.request('GET', '/v1/orchestrator/runs', { key })
    assert.deepEqual([listed.runs.length, listed.runs[0].spent.tokens], [1, 26])
  } finally {
    await service.stop()
  }
  const checkpoints = readFileSync(join(folder, 'checkpoints.json'), 'utf8')
  assert.ok(checkpoints.includes('researched'))
  assert.equal(checkpoints.includes('Zenobia'), false)
  assert.deepEqual(readdirSync(folder).sort(), ['checkpoints.json', 'keys.json', 'run.ndjson'])
  await assertVerifies(folder)
})
