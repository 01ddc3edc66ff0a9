// custos run: a run is started, followed, approved, cancelled, and its bundle verified.

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, request as forward } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Custos } from '@custos/client'
import { runCustos, tempDirectory } from '../testing/run.ts'
import { serveLocally } from '../testing/serve-locally.ts'

/** A service with an agent whose model, on loopback, always answers the same. */
async function serveAgent(t: TestContext) {
  const model = createServer((request, response) => {
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/json')
      const message = { role: 'assistant', content: 'Tea at four' }
      const usage = { prompt_tokens: 10, completion_tokens: 3 }
      response.end(JSON.stringify({ model: 'model-a', choices: [{ message }], usage }))
    })
  })
  await new Promise<void>((resolve) => model.listen(0, '127.0.0.1', resolve))
  t.after(() => model.close())
  const { port } = model.address() as AddressInfo
  const service = await serveLocally(t)
  const custos = new Custos({ url: service.url })
  await custos.llm.createProvider({
    provider: 'openai',
    model_id: 'model-a',
    base_url: `http://127.0.0.1:${port}/v1`,
  })
  const agent = { name: 'host', model_id: 'model-a' }
  const { agent_id } = await custos.orchestrator.createAgent(agent)
  const run = (...args: string[]) =>
    runCustos(['run', ...args], { env: { CUSTOS_URL: service.url } })
  return { service, custos, agent_id, run }
}

const idOf = (stdout: string) => /^run (\S+)$/m.exec(stdout)?.[1] ?? ''

test('a run is started and followed to its end, and its bundle verifies offline', async (t) => {
  const { service, agent_id, run } = await serveAgent(t)
  const started = await run('start', agent_id, '--input', 'When is tea?', '--follow')
  assert.equal(started.status, 0, started.stderr)
  assert.match(started.stdout, /^step 1 model-a: completed$/m)
  assert.match(started.stdout, /^completed: 1 steps, 13 tokens$/m)

  const file = join(tempDirectory(), 'run.ndjson')
  const keys = `${file}.keys`
  writeFileSync(keys, await service.text('/v1/gcrumbs/public_key'))
  const saved = await run('bundle', idOf(started.stdout), '-o', file)
  assert.equal(saved.status, 0, saved.stderr)
  const valid = await run('verify', file, '--keys', keys)
  assert.equal(valid.status, 0, valid.stdout + valid.stderr)
  writeFileSync(file, readFileSync(file, 'utf8').replace('Tea at four', 'Tea at five'))
  assert.equal((await run('verify', file, '--keys', keys)).status, 1)
})

test('a run that waits for a person names the action; approved, it goes on', async (t) => {
  const { custos, agent_id, run } = await serveAgent(t)
  const config = { operations: ['inference'] }
  await custos.governance.createPolicy({ name: 'ask', policy_type: 'hitl_required', config })
  const started = await run('start', agent_id, '--input', 'When is tea?', '--follow')
  assert.equal(started.status, 0, started.stderr)
  const [, action = ''] = /^step 1 model-a: waiting_hitl, action (\S+)$/m.exec(started.stdout) ?? []
  assert.match(started.stdout, /^waiting_hitl$/m)
  assert.equal((await run('approve', action)).status, 2)
  const approved = await run('approve', action, '--approver', 'ana')
  assert.equal(approved.status, 0, approved.stderr)
  const followed = await run('follow', idOf(started.stdout))
  assert.match(followed.stdout, /^completed: /m, followed.stderr)
})

/** What a service answers through a proxy, which may lack the streams of runs. */
async function serveProxied(t: TestContext, origin: string, streams: boolean) {
  const asked: string[] = []
  const proxy = createServer((request, response) => {
    const { url = '', method = 'GET' } = request
    asked.push(url)
    if (!streams && url.endsWith('/stream')) {
      response.writeHead(404, { 'content-type': 'application/problem+json' })
      response.end(JSON.stringify({ status: 404, error: 'route_not_found', detail: 'no route' }))
      return
    }
    const { host: _, ...headers } = request.headers
    request.pipe(
      forward(`${origin}${url}`, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers)
        answer.pipe(response)
      }),
    )
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  t.after(() => proxy.close())
  const { port } = proxy.address() as AddressInfo
  const follow = (run_id: string) =>
    runCustos(['run', 'follow', run_id], { env: { CUSTOS_URL: `http://127.0.0.1:${port}` } })
  return { follow, looks: () => asked.filter((url) => /runs\/\w+$/.test(url)).length }
}

for (const [way, streams] of [
  ['its stream', true],
  ['looking at it, where a service has no streams', false],
] as const)
  test(`a run is followed by ${way}`, async (t) => {
    const { service, custos, run } = await serveAgent(t)
    const { agent_id } = await custos.orchestrator.createAgent({ name: 'b', model_id: 'model-b' })
    const { run_id } = await custos.orchestrator.startRun({ agent_id })
    const proxied = await serveProxied(t, service.url, streams)
    const following = proxied.follow(run_id)
    const until = performance.now() + 20_000
    while (proxied.looks() === 0 && performance.now() < until) await setTimeout(20)
    // A run that nothing happens in is not looked at, or else four times a second.
    await setTimeout(1_500)
    const before = proxied.looks()
    await setTimeout(2_500)
    const looks = proxied.looks() - before
    assert.ok(streams ? looks === 0 : looks >= 3, `${looks} looks`)
    const asked = await custos.orchestrator.beginStep(run_id, { input_text: 'x', budget_tokens: 0 })
    assert.ok('step_id' in asked)
    const done = { output: 'y', tokens_in: 1, tokens_out: 1, final: true }
    await custos.orchestrator.completeStep(run_id, asked.step_id, done)
    const followed = await following
    assert.equal(followed.status, 0, followed.stderr)
    assert.match(followed.stdout, /^step 1 model-b: completed$/m)
    assert.match(followed.stdout, /^completed: 1 steps, 2 tokens$/m)
    assert.equal(/no event stream of the run: route_not_found/.test(followed.stderr), !streams)
    assert.equal((await run('follow', run_id)).stderr, '')
  })

test('a workflow is started by its id', async (t) => {
  const { custos, agent_id, run } = await serveAgent(t)
  const { workflow_id } = await custos.workflows.create({ name: 'twice', agent_ids: [agent_id] })
  const started = await run('start', workflow_id, '--workflow', '--input', 'Tea?', '--follow')
  assert.equal(started.status, 0, started.stderr)
  assert.match(started.stdout, /^completed: 1 steps/m)
})

test('a cancelled or rejected run does nothing more, and following it fails', async (t) => {
  const { custos, agent_id, run } = await serveAgent(t)
  const config = { operations: ['inference'] }
  await custos.governance.createPolicy({ name: 'ask', policy_type: 'hitl_required', config })
  const started = await run('start', agent_id, '--input', 'When is tea?', '--tokens', '500')
  const run_id = idOf(started.stdout)
  const cancelled = await run('cancel', run_id)
  assert.equal(cancelled.stdout, `run ${run_id} terminated\n`, cancelled.stderr)
  const followed = await run('follow', run_id)
  assert.equal(followed.status, 1)
  assert.match(followed.stderr, /terminated \(cancelled\)/)

  const second = await run('start', agent_id, '--input', 'When is tea?', '--follow')
  const [, action = ''] = /action (\S+)$/m.exec(second.stdout) ?? []
  assert.equal((await run('reject', action, '--approver', 'ana')).status, 0)
  assert.match((await run('follow', idOf(second.stdout))).stderr, /denied/)
  assert.equal((await run('follow', 'none')).status, 1)
  assert.equal((await run('start', agent_id)).status, 2)
})
