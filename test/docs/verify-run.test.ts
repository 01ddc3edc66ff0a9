// docs/verify_run.py agrees with the offline verifier: on bundles of runs that are valid, and on
// changes of them, each of which both find.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, beforeEach, test } from 'node:test'
import {
  type PublishedKey,
  readSavedDocuments,
  verifyRunBundle,
  verifySavedDocument,
} from '@custos/proof'
import { alterations } from '../../packages/proof/src/testing/alterations.ts'
import {
  NEVER_UNDONE,
  UNDONE,
  type UndoEvent,
} from '../../packages/proof/src/testing/undo-vectors.ts'
import {
  entriesOf,
  TAKEN_WORKFLOWS,
  WRONG_WORKFLOWS,
} from '../../packages/proof/src/testing/workflow-vectors.ts'
import {
  type ModelServer,
  startModelServer,
} from '../../packages/server/src/slices/orchestrator/testing/model-server.ts'
import {
  openRunScene,
  type RunningTenant,
} from '../../packages/server/src/slices/orchestrator/testing/run-scene.ts'
import type { Answer } from '../../packages/server/src/testing/harness.ts'
import { casesOf } from '../../packages/server/src/testing/sweep.ts'

type Line = Answer['body']

const PROGRAM = join(import.meta.dirname, '../../docs/verify_run.py')
const scene = openRunScene({ config: { egress: { allow: ['127.0.0.1'], proxy: null } } })
const model: ModelServer = await startModelServer({ after })
const dir = mkdtempSync(join(tmpdir(), 'custos-verify-run-'))
after(() => rmSync(dir, { recursive: true, force: true }))

interface SavedRun {
  readonly lines: readonly Line[]
  readonly keys: readonly PublishedKey[]
}
let client: SavedRun
let managed: SavedRun
let erased: SavedRun
let compensated: SavedRun
let stopped: SavedRun
let proposed: SavedRun

const saved = async (tenant: RunningTenant, run_id: string): Promise<SavedRun> => ({
  lines: await tenant.bundle(run_id),
  keys: await tenant.keys(),
})

async function makeRuns(): Promise<void> {
  client = await clientRun()
  managed = await managedRun()
  erased = await erasedRun()
  compensated = await compensatedRun()
  stopped = await stoppedRun()
  proposed = await proposedRun()
}

let made: Promise<void> | undefined
beforeEach(() => {
  made ??= makeRuns()
  return made
})

/** A call that a person approved, two steps under a budget. */
async function clientRun(): Promise<SavedRun> {
  const tenant = await scene.tenant()
  const config = { operations: ['tool_execution'] }
  await tenant.policy({ policy_type: 'hitl_required', config })
  await tenant.remember('The ferry leaves at ten')
  const run_id = await tenant.start({ input_text: 'plan', budget: { tokens: 500, cost_micro: 90 } })
  const first = await tenant.permitted(run_id, { input_text: 'when? ½ past', max_tokens: 200 })
  const called = await tenant.call(run_id, first.step_id, { tool: 'book', args: { at: 10 } })
  const { action_id, call_id } = called.body.detail
  await tenant.ok('POST', `/orchestrator/actions/${action_id}/approve`, { approver: 'ana' })
  const calls = [{ call_id, result: 'booked' }]
  await tenant.complete(run_id, first.step_id, { output: 'At ten.', calls, cost_micro: 30 })
  const second = await tenant.permitted(run_id, { input_from: first.step_id, max_tokens: 100 })
  await tenant.complete(run_id, second.step_id, { output: 'Done.', cost_micro: 1, final: true })
  return saved(tenant, run_id)
}

/** One question is lost, one answer asks for a call that stays uncertain until a person says so. */
async function managedRun(): Promise<SavedRun> {
  const tenant = await scene.tenant()
  await tenant.provider(model.base_url)
  await tenant.ok('POST', '/llm/tools', {
    name: 'book',
    description: 'Books a ferry',
    input_schema: { type: 'object' },
    url: `${model.base_url}/tool`,
  })
  const look = { name: 'look_up', description: 'Looks up', effect: 'read' }
  await tenant.ok('POST', '/llm/tools', look)
  const calls = [
    { tool: 'book', args: { at: 10 } },
    { tool: 'look_up', args: {} },
  ]
  model.answer = ({ path }) => {
    if (path.endsWith('/tool') || model.asked.length === 1) return { cut: true }
    const asked = model.asked.filter((one) => !one.path.endsWith('/tool')).length
    return asked === 2 ? { calls } : { text: 'Booked.' }
  }
  const start = { executor: 'managed', input_text: 'book', budget: { tokens: 20_000 } }
  const run_id = await tenant.start(start)
  const waiting = await tenant.inState(run_id, (state) => state === 'waiting_resolution')
  const path = `/orchestrator/runs/${run_id}/calls/${waiting.steps[1].calls[0].call_id}/resolve`
  await tenant.ok('POST', path, { happened: true })
  const { steps } = await tenant.inState(run_id, (state) => state === 'waiting_client')
  const report = `/orchestrator/runs/${run_id}/calls/${steps[1].calls[1].call_id}/report`
  await tenant.ok('POST', report, { result: 'at the pier' })
  assert.equal((await tenant.ended(run_id)).state, 'completed')
  return saved(tenant, run_id)
}

/** One call is undone, one that nobody knows of is left. */
async function compensatedRun(): Promise<SavedRun> {
  const tenant = await scene.tenant()
  await tenant.provider(model.base_url)
  const input_schema = { type: 'object' }
  const tool = { description: 'x', input_schema, effect: 'idempotent' }
  const url = `${model.base_url}/book/tool`
  const compensation = { tool: 'unbook', map: { at: 'args.at' } }
  await tenant.ok('POST', '/llm/tools', { ...tool, name: 'book', url, compensation })
  await tenant.ok('POST', '/llm/tools', { ...tool, name: 'unbook', url })
  await tenant.ok('POST', '/llm/tools', { ...tool, name: 'keep', url, effect: 'once' })
  const calls = [
    { tool: 'book', args: { at: 10 } },
    { tool: 'keep', args: { at: 11 } },
  ]
  model.answer = ({ path, body }) => {
    if (path.endsWith('/tool')) return { raw: 'booked' }
    return body.messages.at(-1).role === 'tool' ? { status: 401 } : { calls }
  }
  const start = { executor: 'managed', input_text: 'book', on_failure: 'compensate' }
  const run_id = await tenant.start(start)
  const run = await tenant.inState(run_id, (state) => state === 'failed')
  assert.equal(run.compensation, 'partial')
  return saved(tenant, run_id)
}

/** A person ends the undoing while the only call that undoes waits for another person. */
async function stoppedRun(): Promise<SavedRun> {
  const tenant = await scene.tenant()
  await tenant.provider(model.base_url)
  const tool = { description: 'x', input_schema: { type: 'object' }, effect: 'idempotent' }
  const url = `${model.base_url}/book/tool`
  const compensation = { tool: 'unbook', map: { at: 'args.at' } }
  await tenant.ok('POST', '/llm/tools', { ...tool, name: 'book', url, compensation })
  await tenant.ok('POST', '/llm/tools', { ...tool, name: 'unbook', url })
  await tenant.ok('POST', '/llm/tools', { name: 'wait', description: 'x', effect: 'read' })
  model.answer = ({ path, body }) => {
    if (path.endsWith('/tool')) return { raw: 'booked' }
    const again = body.messages.at(-1).role === 'tool'
    return { calls: [again ? { tool: 'wait', args: {} } : { tool: 'book', args: { at: 10 } }] }
  }
  const run_id = await tenant.start({ executor: 'managed', input_text: 'book' })
  await tenant.inState(run_id, (state) => state === 'waiting_client')
  await tenant.policy({ policy_type: 'hitl_required', config: { operations: ['tool_execution'] } })
  const path = `/orchestrator/runs/${run_id}/cancel`
  await tenant.ok('POST', path, { compensate: true })
  const { state } = await tenant.ok('POST', path, { compensate: false })
  assert.equal(state, 'terminated')
  return saved(tenant, run_id)
}

/** One call that an agent proposed. */
async function proposedRun(): Promise<SavedRun> {
  const tenant = await scene.tenant()
  const path = `/orchestrator/agents/${tenant.agent_id}/propose`
  const { run_id, step_id, call_id } = await tenant.ok('POST', path, { tool: 'book' })
  const calls = [{ call_id, result: 'booked' }]
  await tenant.complete(run_id, step_id, { output: 'Booked.', calls, final: true })
  return saved(tenant, run_id)
}

async function erasedRun(): Promise<SavedRun> {
  const tenant = await scene.tenant()
  const ref = await tenant.remember('Gil is allergic to nuts')
  const run_id = await tenant.start()
  const { step_id } = await tenant.permitted(run_id, { input_text: 'what about Gil?' })
  await tenant.complete(run_id, step_id, { output: 'Gil is allergic to nuts', final: true })
  await tenant.ok('POST', '/erasure/issue', { fact_ref: ref })
  return saved(tenant, run_id)
}

/** What each of the two says. */
async function judge(
  { lines, keys }: SavedRun,
  alter = (text: string): string => text,
): Promise<[boolean, boolean, string]> {
  const text = alter(lines.map((line) => JSON.stringify(line)).join('\n'))
  const [document] = readSavedDocuments(text)
  assert.ok(document)
  const ours = await verifySavedDocument(document, { keys, entry: undefined })
  const [bundle, list] = [join(dir, 'run.ndjson'), join(dir, 'keys.json')]
  writeFileSync(bundle, text)
  writeFileSync(list, JSON.stringify({ keys }))
  const [theirs, said] = await new Promise<[boolean, string]>((resolve) => {
    execFile('python3', ['-B', PROGRAM, bundle, list], (error, stdout, stderr) =>
      resolve([error === null && stdout.startsWith('valid'), stdout + stderr]),
    )
  })
  assert.ok(theirs || said.startsWith('not valid: '), said)
  return [ours.valid, theirs, `${ours.reason} / ${said}`]
}

test('both verifiers accept runs of both executors, and one with erased texts', async () => {
  for (const run of [client, managed, erased, compensated, stopped, proposed]) {
    const [ours, theirs, said] = await judge(run)
    assert.deepEqual([ours, theirs], [true, true], said)
  }
  const [ours, theirs] = await judge({ ...client, keys: [] })
  assert.deepEqual([ours, theirs], [false, false])
})

test('both verifiers refuse a key that occurs twice, of which parsers keep the last', async () => {
  const [ours, theirs, said] = await judge(client, (text) => text.replace('{', '{"type":"other",'))
  assert.deepEqual([ours, theirs], [false, false], said)
  assert.match(said, /occurs twice.*occurs twice/s)
})

test('verify_run.py says in one line what it cannot read', async () => {
  const list = join(dir, 'no-keys.json')
  writeFileSync(list, '{"keys": []}')
  const say = (text: string | Buffer, as: 'bundle' | 'keys') => {
    const file = join(dir, 'odd')
    writeFileSync(file, text)
    const files = as === 'bundle' ? [file, list] : [join(dir, 'none'), file]
    return new Promise<string>((resolve) => {
      execFile('python3', ['-B', PROGRAM, ...files], (error, stdout, stderr) => {
        assert.equal(error?.code, 1)
        resolve((stdout + stderr).replaceAll(dir, ''))
      })
    })
  }
  const head = '{"type":"run_bundle","version":1}'
  const deep = '['.repeat(20_000)
  const nested = `{"a":${'['.repeat(900)}${']'.repeat(900)}}`
  const crumb = `{"breadcrumb_id":1,"created_at":1,"event_type":1,"payload":${nested},"prev_id":1,
    "seq":1,"subject":1,"tenant_id":1}`.replace(/\n */, '')
  const proof = `{"type":"entry","proof":{"root_hash":"0","breadcrumb":${crumb}}}`
  const bundles: readonly [string | Buffer, string][] = [
    ['', 'the file has no line'],
    ['hello', 'line 1 is no JSON'],
    [Buffer.from([0xff, 0xd5, 0x0a]), 'line 1 is no JSON'],
    [`${head}\n${head.slice(0, 20)}`, 'line 2 is no JSON'],
    [`${head}\n[]`, 'line 2 is no object'],
    [`${head}\n${deep}`, 'line 2 is nested too deeply'],
    [`${head}\n${proof}`, 'a line is nested too deeply'],
  ]
  for (const [text, said] of bundles)
    assert.equal(await say(text, 'bundle'), `not valid: ${said}\n`)
  const lists: readonly [string, string][] = [
    ['{"keys": [', 'the file is no JSON'],
    [deep, 'the file is nested too deeply'],
    ['[]', 'it lists no keys'],
    ['{"keys": [{"key_id": "1"}]}', 'a key has not the members of a key'],
  ]
  for (const [text, said] of lists)
    assert.equal(await say(text, 'keys'), `/odd is no list of keys: ${said}\n`)
  assert.equal(
    await say(JSON.stringify({ keys: [] }), 'keys'),
    'cannot read /none: No such file or directory\n',
  )
})

const PARTS = `
import json, sys
sys.path.insert(0, sys.argv[1])
import verify_run
said = []
for part, entries in json.load(sys.stdin):
    try:
        if part == "turns":
            verify_run.check_turns(entries)
        else:
            verify_run.check_compensation(entries, entries[-1]["payload"])
        said.append(True)
    except verify_run.Invalid:
        said.append(False)
print(json.dumps(said))
`

test('verify_run.py judges turns and undoings as the offline verifier does', async () => {
  const undo = (events: readonly UndoEvent[]) =>
    events.map(([event_type, subject, payload]) => ({ event_type, subject, payload }))
  const turns = (vectors: typeof TAKEN_WORKFLOWS) =>
    vectors.map(([mode, steps]) => ['turns', entriesOf(mode, steps)] as const)
  const undoings = (vectors: typeof UNDONE) =>
    Object.values(vectors).map((events) => ['undo', undo(events)] as const)
  const taken = [...turns(TAKEN_WORKFLOWS), ...undoings(UNDONE)]
  const wrong = [...turns(WRONG_WORKFLOWS), ...undoings(NEVER_UNDONE)]
  const answer = await new Promise<string>((resolve, reject) => {
    const program = ['-B', '-c', PARTS, dirname(PROGRAM)]
    const child = execFile('python3', program, (error, stdout) =>
      error ? reject(error) : resolve(stdout),
    )
    child.stdin?.end(JSON.stringify([...taken, ...wrong]))
  })
  assert.deepEqual(JSON.parse(answer), [...taken.map(() => true), ...wrong.map(() => false)])
})

const of = (all: readonly Line[], type: string, nth = 0): Line =>
  all.filter((line) => line.type === type)[nth]
const entry = (all: readonly Line[], event: string): Line =>
  all.find(({ proof }) => proof?.breadcrumb.event_type === event)
const crumb = (all: readonly Line[], event: string): Line => entry(all, event).proof.breadcrumb
const drop = (all: readonly Line[], line: Line): Line[] => all.filter((one) => one !== line)

/** Each changes the bundle in place, or returns another. */
const OF_CLIENT: Readonly<Record<string, (all: Line[]) => unknown>> = {
  'proof-not-included': (all) => (of(all, 'entry').proof.included = false),
  'proof-root-repeated-otherwise': (all) => (of(all, 'entry').proof.merkle_root = '0'.repeat(64)),
  'proof-text-of-another': (all) =>
    (of(all, 'entry').proof.tlog_proof = of(all, 'entry', 1).proof.tlog_proof),
  'head-other-run': (all) => (of(all, 'run_bundle').run_id = '0'.repeat(32)),
  'permit-dropped': (all) => drop(all, entry(all, 'step.permitted')),
  'end-dropped': (all) => drop(all, entry(all, 'run.completed')),
  'decision-dropped': (all) => drop(all, entry(all, 'decision.logged')),
  'approval-entry-dropped': (all) => drop(all, entry(all, 'agent_action.approved')),
  'budget-raised-in-log': (all) => (crumb(all, 'run.started').payload.budget_tokens = 9_999),
  'path-cut': (all) => entry(all, 'run.started').proof.audit_path.pop(),
  'checkpoint-edited': (all) => {
    const { proof } = entry(all, 'run.started')
    proof.checkpoint = proof.checkpoint.replace('\n', 'x\n')
  },
  'last-receipt-dropped': (all) => drop(all, of(all, 'receipt', 1)),
  'receipt-model-changed': (all) => (of(all, 'receipt').receipt.model_id = 'model-z'),
  'receipt-charge-lowered': (all) => (of(all, 'receipt').receipt.budget.charged_tokens = 1),
  'action-approver-changed': (all) => (of(all, 'action').record.approval.approver = 'ben'),
  'approval-turned': (all) => (of(all, 'approval').record.decision = 'deny'),
  'text-edited': (all) => (of(all, 'text').text += '.'),
  'text-gone-without-certificate': (all) =>
    Object.assign(of(all, 'text'), { text: null, salt: null }),
}
const OF_MANAGED: typeof OF_CLIENT = {
  'answer-dropped': (all) => drop(all, entry(all, 'step.answered')),
  'resolution-dropped': (all) => drop(all, entry(all, 'tool.resolved')),
  'executor-dropped-in-log': (all) => delete crumb(all, 'run.started').payload.executor,
  'lost-question-dropped': (all) => drop(all, entry(all, 'step.failed')),
  'client-call-hidden-in-log': (all) =>
    delete all.find(
      ({ proof }) =>
        proof?.breadcrumb.payload.executor === 'client' &&
        proof.breadcrumb.event_type === 'tool.intended',
    ).proof.breadcrumb.payload.executor,
  'claim-dropped': (all) => (of(all, 'receipt', 1).receipt.claimed = []),
  'receipt-provider-changed': (all) => (of(all, 'receipt', 1).receipt.model.provider_id = '0'),
}

/** Of a run that undoes: a call that it undoes is intended last. */
const undoing = (all: readonly Line[]): Line =>
  all.filter(({ proof }) => proof?.breadcrumb.event_type === 'tool.intended').at(-1)
const OF_COMPENSATED: typeof OF_CLIENT = {
  'stop-dropped': (all) => drop(all, entry(all, 'run.compensating')),
  'undo-intent-dropped': (all) => drop(all, undoing(all)),
  'undo-end-dropped': (all) => drop(all, entry(all, 'tool.compensated')),
  'undo-dropped': (all) => drop(drop(all, undoing(all)), entry(all, 'tool.compensated')),
  'undo-of-another': (all) => (crumb(all, 'tool.compensated').payload.compensates = '0'.repeat(32)),
  'end-says-all-undone': (all) => (crumb(all, 'run.failed').payload.compensation = 'complete'),
  'undo-text-dropped': (all) =>
    drop(
      all,
      all.findLast(({ type }) => type === 'text'),
    ),
}

const endOf = (all: readonly Line[]) => crumb(all, 'run.terminated').payload
const OF_STOPPED: typeof OF_CLIENT = {
  'left-emptied': (all) => (endOf(all).left = []),
  'left-dropped': (all) => delete endOf(all).left,
  'left-of-another': (all) => (endOf(all).left = ['0'.repeat(32)]),
  'undo-stop-dropped': (all) => delete endOf(all).compensation_stopped,
  'undo-stop-changed': (all) => (endOf(all).compensation_stopped = 'policy'),
}

const MUTATIONS = {
  client: OF_CLIENT,
  managed: OF_MANAGED,
  compensated: OF_COMPENSATED,
  stopped: OF_STOPPED,
}
for (const [kind, mutations] of Object.entries(MUTATIONS))
  for (const [name, mutate] of Object.entries(mutations))
    test(`both verifiers refuse a bundle of a ${kind} run with ${name}`, async () => {
      const run = { client, managed, compensated, stopped }[kind]
      assert.ok(run)
      const lines = structuredClone(run.lines) as Line[]
      const result = mutate(lines)
      const changed = Array.isArray(result) ? result : lines
      assert.notDeepEqual(changed, run.lines)
      const [ours, theirs, said] = await judge({ ...run, lines: changed })
      assert.deepEqual([ours, theirs], [false, false], said)
    })

/** Every bundle that differs in one member of a line, of each kind of line once. */
function* alterEach(lines: readonly Line[], known: Set<string>): Generator<[string, Line[]]> {
  for (const [i, line] of lines.entries()) {
    const kind = line.proof?.breadcrumb.event_type ?? line.type
    if (known.has(kind)) continue
    known.add(kind)
    for (const [name, altered] of alterations(line))
      yield [`${kind}: ${name}`, lines.with(i, altered)]
  }
}

/** Of each run, in the short form. */
const ALTERED = 120

const BATCH = `
import functools, json, sys
sys.path.insert(0, sys.argv[1])
import verify_run
verify_run.is_signed = functools.cache(verify_run.is_signed)
keys = json.loads(sys.stdin.readline())
for line in sys.stdin:
    try:
        verify_run.verify(json.loads(line), keys)
        print("valid")
    except (verify_run.Invalid, ValueError, KeyError, TypeError, AttributeError, IndexError):
        print("not valid")
`

test('what the offline verifier refuses of a bundle, verify_run.py refuses too', async (t) => {
  const known = new Set<string>()
  for (const { lines, keys } of [client, managed, erased, compensated, stopped]) {
    const altered = casesOf([...alterEach(lines, known)], ALTERED)
    const said = new Promise<string[]>((resolve, reject) => {
      const program = ['-B', '-c', BATCH, dirname(PROGRAM)]
      const child = execFile('python3', program, (error, stdout) =>
        error ? reject(error) : resolve(stdout.trim().split('\n')),
      )
      for (const [, one] of [['keys', keys] as const, ...altered])
        child.stdin?.write(`${JSON.stringify(one)}\n`)
      child.stdin?.end()
    })
    const ours: boolean[] = []
    for (const [, one] of altered) ours.push((await verifyRunBundle(one, { keys })).valid)
    const theirs = await said
    assert.equal(theirs.length, altered.length)
    const taken = altered.flatMap(([name], i) => (!ours[i] && theirs[i] === 'valid' ? [name] : []))
    assert.deepEqual(taken, [])
    t.diagnostic(`${altered.length} altered, ${ours.filter((one) => !one).length} refused`)
  }
})
