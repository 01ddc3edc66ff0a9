// Three agents answer a question from memory under one budget, and the run is saved as a bundle
// that verifies without the service: `node research.ts "Who looks after the lighthouse?"`.

import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Custos } from '@custos/client'
import { startLocalModel } from '../local-model.ts'
import { runStep } from '../run-step.ts'
import { readSettings } from '../settings.ts'

const [, , question = 'Who looks after the lighthouse?', folder = '.'] = process.argv
const custos = new Custos(readSettings())
const local = process.env['MODEL_URL'] === undefined ? await startLocalModel() : null
const model_url = process.env['MODEL_URL'] ?? local?.url ?? ''

await custos.memory.write('default', { content: 'The lighthouse is looked after by Ana Sousa' })

const TASKS = {
  researcher: 'List what is known about the question:',
  critic: 'Say what of this is doubtful:',
  writer: 'Answer in one sentence:',
}
const workflow = `research-${randomUUID()}`
const agents = new Map<string, string>()
for (const name of Object.keys(TASKS)) {
  const body = {
    name: `${name} of ${workflow}`,
    model_id: 'local-model',
    memory_stores: ['default'],
  }
  agents.set(name, (await custos.orchestrator.createAgent(body)).agent_id)
}

const { run_id } = await custos.orchestrator.startRun({
  agent_id: agents.get('researcher') ?? '',
  budget: { tokens: 20_000 },
})
let before: string | null = null
for (const [name, task] of Object.entries(TASKS)) {
  const input = before === null ? { input_text: question } : { input_from: before }
  const agent_id = agents.get(name) ?? ''
  const key = `${workflow}:${name}`
  const final = name === 'writer'
  before = await runStep(custos, model_url, { run_id, agent_id, task, input, final, key })
}

const lines: string[] = []
for await (const line of custos.orchestrator.bundle(run_id)) lines.push(JSON.stringify(line))
writeFileSync(join(folder, 'run.ndjson'), `${lines.join('\n')}\n`)
writeFileSync(join(folder, 'keys.json'), JSON.stringify(await custos.gcrumbs.publicKey()))
const { state, spent, steps = [] } = await custos.orchestrator.getRun(run_id)
console.log(`${state}: ${steps.length} steps, ${spent.tokens} tokens`)
local?.stop()
