// A run that waits for somebody who knows whether a tool acted: its page, and how it goes on.

import assert from 'node:assert/strict'
import { after } from 'node:test'
import { startTlsServer } from '../../../packages/server/src/platform/egress/testing/tls-server.ts'
import {
  type ModelServer,
  startModelServer,
} from '../../../packages/server/src/slices/orchestrator/testing/model-server.ts'
import { checkLooks, consoleScene } from '../testing/scene.ts'

const model: ModelServer = await startModelServer({ after })
// The connection is cut: nobody knows whether the tool acted.
const { port } = await startTlsServer({ after }, (_, response) => void response.destroy())
const scene = consoleScene()

scene(
  'a run in waiting_resolution says so, and goes on when a person has said it',
  async (given) => {
    const post = async (path: string, body: object) =>
      (await given.local.call('POST', path, body)) as unknown as Record<string, string>
    model.answer = ({ body }) =>
      JSON.stringify(body).includes('The bank has it.')
        ? { text: 'It is paid.' }
        : { calls: [{ tool: 'pay', args: {} }] }
    const { base_url } = model
    await post('/v1/llm/providers', { provider: 'openai', model_id: 'model-a', base_url })
    await post('/v1/llm/tools', {
      name: 'pay',
      description: 'Pays an invoice',
      effect: 'once',
      input_schema: { type: 'object' },
      url: `https://127.0.0.1:${port}/pay`,
    })
    await post('/v1/orchestrator/agents', { name: 'payer', model_id: 'model-a' })
    const { page, accessible, end } = await given.visit('/agents')
    await page.getByRole('link', { name: 'payer', exact: true }).click()
    await page.getByRole('button', { name: 'Start a run' }).click()
    const form = page.getByRole('form', { name: 'Start a run' })
    await form.getByLabel('Input').fill('Pay the invoice')
    await form.getByLabel('Who asks the models').selectOption('managed')
    await form.getByRole('button', { name: 'Start' }).click()
    await page.getByRole('heading', { level: 1, name: 'Run of payer' }).waitFor()
    await page.getByText('waits for somebody who knows whether a tool acted').first().waitFor()
    await page.getByRole('heading', { name: 'Did the tool act?' }).waitFor()
    await accessible()
    const { pathname } = new URL(page.url())
    await checkLooks(given, pathname.replace('/console', ''))
    const record = page.getByRole('button', { name: 'Record the outcome' })
    assert.equal(await record.isDisabled(), true)
    await page.getByLabel('What happened').selectOption('yes')
    await page.getByLabel('What it answered').fill('The bank has it.')
    await record.press('Enter')
    await page.getByText('completed', { exact: true }).first().waitFor()
    await page.getByRole('list', { name: 'Calls of tools' }).getByText('done').waitFor()
    assert.equal(await page.getByRole('heading', { name: 'Did the tool act?' }).count(), 0)
    await end()
  },
)
