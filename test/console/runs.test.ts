// Runs of agents in the console: live steps, an approval in place, receipts verified here.

import assert from 'node:assert/strict'
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

scene('somebody says whether a tool acted whose call was cut off', async (given) => {
  const run = await startRun(given, 'payer')
  const { step_id: step } = await post(given, `${RUNS}/${run}/steps`, { input_text: 'Pay it' })
  await post(given, `${RUNS}/${run}/steps/${step}/calls`, { tool: 'pay', effect: 'once' })
  // It is not reported what became of the call.
  await post(given, `${RUNS}/${run}/steps/${step}/complete`, DONE)
  await checkLooks(given, `/runs/${run}`)
  const { page, end } = await given.visit(`/runs/${run}`)
  const record = page.getByRole('button', { name: 'Record the outcome' })
  assert.equal(await record.isDisabled(), true)
  await page.getByLabel('What happened').selectOption('yes')
  await page.getByLabel('What it answered').fill('The bank has it.')
  await record.press('Enter')
  await page.getByRole('heading', { name: 'Did the tool act?' }).waitFor({ state: 'detached' })
  await page.getByRole('list', { name: 'Calls of tools' }).getByText('done').waitFor()
  await end()
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
