// Runs of agents in the console: live steps, an approval in place, receipts verified here.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import { checkLooks, consoleScene, HOSTILE, type Scene } from './testing/scene.ts'

const scene = consoleScene()
const RUNS = '/v1/orchestrator/runs'
const DONE = { output: 'The ferry is late.', tokens_in: 40, tokens_out: 6 }

interface RunAnswer {
  readonly agent_id: string
  readonly run_id: string
  readonly step_id: string
}

const post = async ({ local }: Scene, path: string, body: object = {}) =>
  (await local.call('POST', path, body)) as unknown as RunAnswer

async function startRun(given: Scene, name: string): Promise<string> {
  const agent = { name: name.slice(0, 200), model_id: 'model-a' }
  const { agent_id } = await post(given, '/v1/orchestrator/agents', agent)
  return (await post(given, RUNS, { agent_id, budget: { tokens: 20_000 } })).run_id
}

scene('steps appear as they happen, and the receipts verify here', async (given) => {
  await checkLooks(given, '/runs')
  const run = await startRun(given, HOSTILE[0] ?? '')
  await given.local.call('POST', '/v1/stores/default/write', { content: 'The ferry is late' })
  const { page, end } = await given.visit('/runs')
  await page.getByRole('table', { name: 'Runs' }).getByRole('link').first().click()
  await page.getByText('No step yet').waitFor()
  const begun = { input_text: 'Is the ferry late?', store_id: 'default', max_tokens: 2_000 }
  const { step_id: step } = await post(given, `${RUNS}/${run}/steps`, begun)
  await page.getByText('permitted', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Show input and memory' }).click()
  await page.getByRole('region', { name: 'Input' }).getByText('Is the ferry late?').waitFor()
  await page.getByRole('list', { name: 'Memory' }).getByText('The ferry is late').waitFor()
  await post(given, `${RUNS}/${run}/steps/${step}/complete`, DONE)
  await page.getByText('completed', { exact: true }).waitFor()
  await page.getByText('1 receipt', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Verify the run here' }).click()
  await page.getByText('VALID', { exact: true }).waitFor()
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Save the bundle' }).click()
  assert.equal((await saved).suggestedFilename(), `run-${run}.ndjson`)
  await page.getByRole('button', { name: 'Cancel the run' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel the run' }).click()
  await page.getByText('terminated: cancelled').waitFor()
  assert.equal(await page.locator('main img').count(), 0)
  await end()
  await checkLooks(given, `/runs/${run}`)
  await checkLooks(given, '/runs')
})

scene('nobody is asked about a call whose step has ended: its receipt is signed', async (given) => {
  const run = await startRun(given, 'payer')
  const { step_id: step } = await post(given, `${RUNS}/${run}/steps`, { input_text: 'Pay it' })
  await post(given, `${RUNS}/${run}/steps/${step}/calls`, { tool: 'pay', effect: 'once' })
  // It is not reported what became of the call.
  await post(given, `${RUNS}/${run}/steps/${step}/complete`, DONE)
  await checkLooks(given, `/runs/${run}`)
  const { page, end } = await given.visit(`/runs/${run}`)
  const calls = page.getByRole('list', { name: 'Calls of tools' })
  await calls.getByText('uncertain').waitFor()
  assert.equal(await page.getByRole('heading', { name: 'Did the tool act?' }).count(), 0)
  await page.getByRole('button', { name: 'Verify the run here' }).click()
  await page.getByText('VALID', { exact: true }).waitFor()
  await end()
})

/** A model on loopback that answers with its name. */
async function startModel(): Promise<string> {
  const model = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { model: name } = JSON.parse(Buffer.concat(chunks).toString())
      const message = { role: 'assistant', content: `${name} says so` }
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ model: name, choices: [{ message }] }))
    })
  })
  await new Promise<void>((resolve) => model.listen(0, '127.0.0.1', resolve))
  after(() => model.close())
  return `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`
}

scene('a workflow is started, and its run is shown by turn and agent', async (given) => {
  const base_url = await startModel()
  const agent_ids: string[] = []
  for (const name of ['finder', 'editor']) {
    await post(given, '/v1/llm/providers', { provider: 'openai', model_id: name, base_url })
    const { agent_id } = await post(given, '/v1/orchestrator/agents', { name, model_id: name })
    agent_ids.push(agent_id)
  }
  const workflow = { name: (HOSTILE[2] ?? '').slice(0, 200), description: HOSTILE[0], agent_ids }
  await post(given, '/v1/orchestrator/workflows', workflow)
  await post(given, '/v1/orchestrator/workflows', { name: 'Weekly report', agent_ids })
  await checkLooks(given, '/runs')
  const { page, accessible, end } = await given.visit('/runs')
  const workflows = page.getByRole('table', { name: 'Workflows' })
  await workflows.getByText('none yet').first().waitFor()
  await page.getByLabel('Workflow', { exact: true }).selectOption({ label: 'Weekly report' })
  await page.getByLabel('What the run is for').fill('Report on the week')
  await accessible()
  await page.getByRole('button', { name: 'Start the run' }).press('Enter')
  await page.getByRole('heading', { name: 'Run of Weekly report' }).waitFor()
  const turns = page.getByRole('list', { name: 'Turns' })
  await turns.getByRole('heading', { name: 'Turn 1: finder' }).waitFor()
  await turns.getByRole('heading', { name: 'Turn 2: editor' }).waitFor()
  await turns.getByRole('heading', { name: '2. editor asks editor completed' }).waitFor()
  const path = new URL(page.url()).pathname.replace('/console', '')
  await page.getByRole('link', { name: 'Runs', exact: true }).first().click()
  await workflows.getByRole('link', { name: 'completed' }).waitFor()
  await end()
  await checkLooks(given, path)
})

scene('a step that waits is approved in place', async (given) => {
  await given.local.call('POST', '/v1/governance/policies', {
    name: 'A person reads it',
    policy_type: 'hitl_required',
    config: { operations: ['inference'] },
  })
  const run = await startRun(given, 'writer')
  await post(given, `${RUNS}/${run}/steps`, { input_text: 'Write to Elsa' })
  const { page, accessible, end } = await given.visit(`/runs/${run}`)
  await page.getByText('waits for approval').first().waitFor()
  await page.getByText('A person reads it').waitFor()
  await page.getByRole('region', { name: 'What is to be approved' }).waitFor()
  await page.getByLabel('How').selectOption('name')
  await page.getByLabel('Your name').fill('ben')
  await accessible()
  await page.getByRole('button', { name: 'Approve', exact: true }).press('Enter')
  await page
    .getByRole('dialog')
    .getByRole('button', { name: 'Approve', exact: true })
    .press('Enter')
  await page.getByText('permitted', { exact: true }).waitFor()
  await end()
})

scene('many runs fit, and are filtered by state', async (given) => {
  for (const name of HOSTILE.slice(1)) await startRun(given, name)
  await checkLooks(given, '/runs')
  const { page, end } = await given.visit('/runs')
  await page.getByLabel('State').selectOption('terminated')
  await page.getByRole('cell', { name: 'terminated: cancelled' }).waitFor()
  await page.getByLabel('State').selectOption('denied')
  await page.getByText('No runs').waitFor()
  await end()
})
