// A LangGraph whose nodes are steps of a run: its checkpoints hold ids, the texts rest in Custos.
// `node graph.ts thread-1 "Who looks after the lighthouse?"`, and again where it was stopped.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Custos } from '@custos/client'
import { Annotation, END, START, StateGraph } from '@langchain/langgraph'
import { startLocalModel } from '../local-model.ts'
import { runStep } from '../run-step.ts'
import { readSettings } from '../settings.ts'
import { FileSaver } from './file-saver.ts'

const [, , thread = 'thread-1', question = '', folder = '.'] = process.argv
const custos = new Custos(readSettings())
const local = process.env['MODEL_URL'] === undefined ? await startLocalModel() : null
const model_url = process.env['MODEL_URL'] ?? local?.url ?? ''

const State = Annotation.Root({
  agent_id: Annotation<string>,
  run_id: Annotation<string>,
  researched: Annotation<string>,
  written: Annotation<string>,
})

/** The thread is the workflow and the node is the activity. */
const keyOf = (activity: string) => `${thread}:${activity}`

const graph = new StateGraph(State)
  .addNode('start', async () => {
    const agent = { name: `graph ${thread}`, model_id: 'local-model', memory_stores: ['default'] }
    const { agent_id } = await custos.orchestrator.createAgent(agent, {
      idempotencyKey: keyOf('agent'),
    })
    const start = { agent_id, budget: { tokens: 20_000 } }
    const { run_id } = await custos.orchestrator.startRun(start, { idempotencyKey: keyOf('run') })
    return { agent_id, run_id }
  })
  .addNode('research', async ({ agent_id, run_id }) => ({
    researched: await runStep(custos, model_url, {
      run_id,
      agent_id,
      input: { input_text: question },
      final: false,
      task: 'List what is known about the question:',
      key: keyOf('research'),
    }),
  }))
  .addNode('write', async ({ agent_id, run_id, researched }) => ({
    written: await runStep(custos, model_url, {
      run_id,
      agent_id,
      input: { input_from: researched },
      final: true,
      task: 'Answer in one sentence:',
      key: keyOf('write'),
    }),
  }))
  .addEdge(START, 'start')
  .addEdge('start', 'research')
  .addEdge('research', 'write')
  .addEdge('write', END)
  .compile({ checkpointer: new FileSaver(join(folder, 'checkpoints.json')) })

const config = { configurable: { thread_id: thread } }
const { next } = await graph.getState(config)
// Without input it goes on where the last checkpoint is.
const { run_id } = await graph.invoke(next.length > 0 ? null : {}, config)

const lines: string[] = []
for await (const line of custos.orchestrator.bundle(run_id)) lines.push(JSON.stringify(line))
writeFileSync(join(folder, 'run.ndjson'), `${lines.join('\n')}\n`)
const keys = join(folder, 'keys.json')
if (!existsSync(keys)) writeFileSync(keys, JSON.stringify(await custos.gcrumbs.publicKey()))
const { state } = await custos.orchestrator.getRun(run_id)
console.log(
  `${state}: ${lines.length} lines, ${JSON.parse(readFileSync(keys, 'utf8')).keys.length} keys`,
)
local?.stop()
