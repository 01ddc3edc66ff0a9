// The programs of docs/adapters.md run as written, with a scripted model, an address and a key.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { Custos } from '@custos/client'
import { startTestService, type TestService } from '../../packages/server/src/testing/harness.ts'
import { blocksOf, readPage, sectionOf } from '../docs/testing/page.ts'

const MODEL = `import { scriptedModel } from './testing/scripted-model.ts'
const yourModel = scriptedModel([
  { tool: 'memory_save', input: { content: 'Ana lives in Porto' } },
  'I will remember.',
])
`

/** Runs the program of a section beside this file, where packages are found as by a reader. */
async function runProgram(heading: string, before: string, service: TestService, api_key: string) {
  const [block] = blocksOf(sectionOf(readPage('docs/adapters.md'), heading))
  const code = (block?.text ?? '')
    .replace('http://127.0.0.1:8420', service.url)
    .replace('your key', api_key)
  assert.ok(code.includes(service.url) && code.includes(api_key))
  const file = join(import.meta.dirname, `quick-start-${process.pid}.ts`)
  try {
    writeFileSync(file, before + code)
    const { stdout } = await promisify(execFile)(process.execPath, [file])
    return stdout
  } finally {
    rmSync(file, { force: true })
  }
}

test('the program of the AI SDK saves a memory and records its decisions', async () => {
  const service = await startTestService()
  try {
    const { api_key } = await service.createTenant('quick')
    await runProgram('## AI SDK', MODEL, service, api_key)
    const custos = new Custos({ url: service.url, apiKey: api_key })
    const { memories } = await custos.memory.memories('default', { namespace: 'ana' })
    assert.deepEqual(
      memories.map(({ content }) => content),
      ['Ana lives in Porto'],
    )
    let recorded = 0
    while (recorded < 2) recorded = (await custos.decisions.stats()).total
    assert.equal(recorded, 2)
  } finally {
    await service.stop()
  }
})

test('the program of LangGraph finds an item and shows its certificate', async () => {
  const service = await startTestService()
  try {
    const { api_key } = await service.createTenant('graph')
    const printed = await runProgram('## LangGraph', '', service, api_key)
    assert.match(printed, /"note":"Ana is allergic to nuts"/)
    assert.match(printed, /\[ '[0-9a-f]{32}' \]/)
  } finally {
    await service.stop()
  }
})

test('the programs of LangChain and OpenAI Agents show what was said', async () => {
  const service = await startTestService()
  try {
    const { api_key } = await service.createTenant('said')
    for (const heading of ['## LangChain', '## OpenAI Agents'])
      assert.match(await runProgram(heading, '', service, api_key), /I like tea/)
  } finally {
    await service.stop()
  }
})

test('the program of Mastra saves a memory by a tool', async () => {
  const service = await startTestService()
  try {
    const { api_key } = await service.createTenant('mastra')
    const printed = await runProgram('## Mastra', MODEL, service, api_key)
    assert.match(printed, /^true\nI will remember\./)
    const custos = new Custos({ url: service.url, apiKey: api_key })
    const { memories } = await custos.memory.memories('default', { namespace: 'ana' })
    assert.deepEqual(
      memories.map(({ content }) => content),
      ['Ana lives in Porto'],
    )
  } finally {
    await service.stop()
  }
})
