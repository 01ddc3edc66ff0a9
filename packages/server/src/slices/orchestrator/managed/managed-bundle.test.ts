// What a bundle of a managed run proves offline, and every change of it that is found.

import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { type PublishedKey, readSavedDocuments, verifySavedDocument } from '@custos/proof'
import type { Answer } from '../../../testing/harness.ts'
import { startModelServer } from '../testing/model-server.ts'
import { openRunScene } from '../testing/run-scene.ts'

type Line = Answer['body']

const scene = openRunScene({ config: { egress: { allow: ['127.0.0.1'], proxy: null } } })
const model = await startModelServer({ after })
let lines: Line[]
let keys: readonly PublishedKey[]

/** One question is lost, one answer asks for a call that stays uncertain until a person says so. */
async function makeRun(): Promise<void> {
  const tenant = await scene.tenant()
  await tenant.provider(model.base_url)
  await tenant.remember('The ferry leaves at ten')
  await tenant.ok('POST', '/llm/tools', {
    name: 'book',
    description: 'Books a ferry',
    input_schema: { type: 'object' },
    // The model closes this connection: nobody knows what it did.
    url: `${model.base_url}/tool`,
  })
  model.answer = ({ path }) => {
    if (path.endsWith('/tool') || model.asked.length === 1) return { cut: true }
    const asked = model.asked.filter((one) => !one.path.endsWith('/tool')).length
    return asked === 2 ? { calls: [{ tool: 'book', args: { at: 10 } }] } : { text: 'Booked.' }
  }
  const run_id = await tenant.start({
    executor: 'managed',
    input_text: 'book the ferry',
    budget: { tokens: 20_000 },
  })
  const waiting = await tenant.inState(run_id, (state) => state === 'waiting_resolution')
  const { call_id } = waiting.steps[1].calls[0]
  const path = `/orchestrator/runs/${run_id}/calls/${call_id}/resolve`
  await tenant.ok('POST', path, { happened: true })
  assert.equal((await tenant.ended(run_id)).state, 'completed')
  lines = await tenant.bundle(run_id)
  keys = await tenant.keys()
}

let made: Promise<void> | undefined
beforeEach(() => {
  made ??= makeRun()
  return made
})

async function verify(bundle: readonly Line[]) {
  const [document] = readSavedDocuments(bundle.map((line) => JSON.stringify(line)).join('\n'))
  assert.ok(document)
  return verifySavedDocument(document, { keys, entry: undefined })
}

test('the bundle of a managed run is valid', async () => {
  const verdict = await verify(lines)
  assert.equal(verdict.valid, true, verdict.reason)
  assert.ok(verdict.not_checked.some((text) => text.includes('the provider answered')))
})

const entry = (all: Line[], event: string): Line =>
  all.find(({ proof }) => proof?.breadcrumb.event_type === event)
const without = (event: string) => (all: Line[]) => all.filter((one) => one !== entry(all, event))
const edit = (event: string, change: (crumb: Line) => void) => (all: Line[]) => {
  change(entry(all, event).proof.breadcrumb)
  return all
}
const receipt = (nth: number, change: (receipt: Line) => void) => (all: Line[]) => {
  change(all.filter(({ type }) => type === 'receipt')[nth].receipt)
  return all
}

const MUTATIONS: Readonly<Record<string, (all: Line[]) => Line[]>> = {
  'answer-dropped': without('step.answered'),
  'answer-tokens-lowered': edit('step.answered', ({ payload }) => (payload.tokens_in = 1)),
  'answer-output-replaced': edit('step.answered', ({ payload }) => {
    payload.output_commitment = '0'.repeat(64)
  }),
  'uncertain-dropped': without('tool.uncertain'),
  'resolution-dropped': without('tool.resolved'),
  'resolution-turned': edit('tool.resolved', ({ payload }) => (payload.state = 'failed')),
  'resolver-changed': edit('tool.resolved', ({ payload }) => (payload.resolved_by = 'another')),
  'executor-changed-in-log': edit('run.started', ({ payload }) => (payload.executor = 'client')),
  'executor-dropped-in-log': edit('run.started', ({ payload }) => delete payload.executor),
  'lost-question-dropped': without('step.failed'),
  'receipt-executor-changed': receipt(0, (one) => (one.executor = 'client')),
  'receipt-claims-added': receipt(1, (one) => (one.claimed = ['output'])),
  'receipt-model-version-changed': receipt(1, ({ model: of }) => (of.version = 'another')),
  'receipt-estimate-hidden': receipt(1, ({ model: of }) => (of.estimated = !of.estimated)),
  'receipt-provider-changed': receipt(1, ({ model: of }) => (of.provider_id = '0'.repeat(32))),
  'receipt-call-settled-otherwise': receipt(1, ({ calls }) => (calls[0].state = 'uncertain')),
  'receipt-of-lost-question-lowered': receipt(0, ({ budget }) => (budget.charged_tokens = 0)),
}

for (const [name, mutate] of Object.entries(MUTATIONS))
  test(`a bundle of a managed run with ${name} is not valid`, async () => {
    const mutated = mutate(structuredClone(lines))
    assert.notDeepEqual(mutated, lines)
    assert.equal((await verify(mutated)).valid, false)
  })
