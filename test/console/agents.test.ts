// Agents, models and tools in the console, and a run that is started here.

import assert from 'node:assert/strict'
import { checkLooks, consoleScene, HOSTILE } from './testing/scene.ts'

const scene = consoleScene()

scene('an agent is created, changed, disabled and deleted', async (given) => {
  await checkLooks(given, '/agents')
  const { page, accessible, end } = await given.visit('/agents')
  await page.getByText('No agents yet').waitFor()
  await page.getByRole('button', { name: 'New agent' }).press('Enter')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill(HOSTILE[0] ?? '')
  await dialog.getByLabel('Role').selectOption('researcher')
  await dialog.getByLabel('Model', { exact: true }).fill('model-a')
  await dialog.getByLabel('Instructions').fill('Answer from memory only.')
  await dialog.getByLabel('Stores').fill('default, letters')
  await accessible()
  await dialog.getByRole('button', { name: 'Create agent' }).click()
  await page.getByRole('link', { name: HOSTILE[0] ?? '', exact: true }).click()
  await page.getByRole('region', { name: 'Instructions' }).getByText('memory only').waitFor()
  await page.getByText('default, letters').waitFor()
  await page.getByRole('button', { name: 'Change', exact: true }).click()
  await dialog.getByLabel('Model', { exact: true }).fill('model-b')
  await dialog.getByLabel('Steps of a run').fill('7')
  await dialog.getByRole('button', { name: 'Save as a new version' }).click()
  await page.getByText('model-b').waitFor()
  const [agent] = (await agentsOf(given)).agents
  assert.equal(agent?.version, 2)
  assert.equal(agent.max_steps, 7)
  assert.deepEqual(agent.memory_stores, ['default', 'letters'])
  await page.getByRole('button', { name: 'Disable' }).click()
  await page.getByText('disabled', { exact: true }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Start a run' }).isDisabled(), true)
  await accessible()
  const { pathname } = new URL(page.url())
  await checkLooks(given, pathname.replace('/console', ''))
  await page.getByRole('button', { name: 'Delete' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No agents yet').waitFor()
  assert.equal(await page.locator('main img').count(), 0)
  await end()
})

scene('a run of an agent starts with its budget and deadline, and is opened', async (given) => {
  const body = { name: 'desk', model_id: 'model-a' }
  await given.local.call('POST', '/v1/orchestrator/agents', body)
  const { page, accessible, end } = await given.visit('/agents', { statuses: [404] })
  await page.getByRole('link', { name: 'desk', exact: true }).click()
  await page.getByRole('button', { name: 'Start a run' }).click()
  const form = page.getByRole('form', { name: 'Start a run' })
  await form.getByLabel('Input').fill('When does the ferry leave?')
  await form.getByLabel('Budget in tokens').fill('3000')
  await form.getByLabel('Deadline in minutes').fill('30')
  await accessible()
  // Nobody answers for the model: what the service says is shown, and the form stays.
  await form.getByLabel('Who asks the models').selectOption('managed')
  await form.getByRole('button', { name: 'Start' }).click()
  await form.getByRole('alert').getByText('provider_not_found').waitFor()
  await form.getByLabel('Who asks the models').selectOption('client')
  await form.getByRole('button', { name: 'Start' }).press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Run of desk' }).waitFor()
  await page.getByText('of 3,000').waitFor()
  await end()
  const { runs } = (await given.local.call('GET', '/v1/orchestrator/runs')) as unknown as {
    readonly runs: readonly { created_at: string; deadline_at: string; budget: object }[]
  }
  const [run] = runs
  assert.ok(run)
  const seconds = (Date.parse(run.deadline_at) - Date.parse(run.created_at)) / 1_000
  assert.equal(Math.round(seconds), 1_800)
  assert.deepEqual(run.budget, { tokens: 3_000, cost_micro: null })
})

scene('an agent with a run under way is not deleted, and the console says so', async (given) => {
  const { call } = given.local
  const made = await call('POST', '/v1/orchestrator/agents', { name: 'busy', model_id: 'm' })
  const { agent_id } = made as unknown as { readonly agent_id: string }
  await call('POST', '/v1/orchestrator/runs', { agent_id })
  const { page, end } = await given.visit(`/agents/${agent_id}`, { statuses: [409] })
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('alert').getByText('wrong_state').waitFor()
  await end()
})

scene('a model and a tool are configured, replaced and deleted', async (given) => {
  const { page, accessible, end } = await given.visit('/agents', { statuses: [422, 400] })
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Configure a model' }).click()
  await dialog.getByLabel('Model', { exact: true }).fill('model-a')
  await dialog.getByLabel('Address').fill('http://10.0.0.1/v1')
  await dialog.getByLabel('Key', { exact: true }).fill('sk-never-shown')
  await accessible()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('alert').getByText('url_refused').waitFor()
  await dialog.getByLabel('Address').fill('http://127.0.0.1:9/v1')
  await dialog.getByRole('button', { name: 'Save' }).click()
  const models = page.getByRole('table', { name: 'Models' })
  await models.getByText('stored').waitFor()
  assert.ok(!(await page.content()).includes('sk-never-shown'))
  await page.getByRole('button', { name: 'Change the model model-a' }).click()
  await dialog.getByLabel('Key', { exact: true }).fill('sk-another')
  await dialog.getByLabel('Price of a million tokens of the prompt').fill('2500000')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await models.getByText('2,500,000 / 0').waitFor()

  await page.getByRole('button', { name: 'Add the tools of memory' }).click()
  const tools = page.getByRole('table', { name: 'Tools' })
  await tools.getByText('memory_retrieve').waitFor()
  await page.getByRole('button', { name: 'New tool' }).click()
  await dialog.getByLabel('Name').fill('open_ticket')
  await dialog.getByLabel('What it does').fill(HOSTILE[0] ?? '')
  await dialog.getByLabel('Address').fill('http://127.0.0.1:9/tickets')
  await dialog.getByLabel('Arguments (JSON Schema)').fill('[')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('alert').getByText('not a JSON object').waitFor()
  await dialog.getByLabel('Arguments (JSON Schema)').fill('{"type":"object"}')
  await dialog.getByLabel('Headers').fill('X-Key: a-secret-of-the-tool')
  await accessible()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await tools.getByText('POST http://127.0.0.1:9/tickets').waitFor()
  assert.ok(!(await page.content()).includes('a-secret-of-the-tool'))
  await checkLooks(given, '/agents')
  await page.getByRole('button', { name: 'Delete the tool open_ticket' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await tools.getByText('open_ticket').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Delete the model model-a' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No models configured').waitFor()
  await end()
})

const agentsOf = async ({ local }: Parameters<typeof checkLooks>[0]) =>
  (await local.call('GET', '/v1/orchestrator/agents')) as unknown as {
    readonly agents: readonly {
      readonly version: number
      readonly max_steps: number
      readonly memory_stores: readonly string[]
    }[]
  }
