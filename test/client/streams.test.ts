// The event stream over broken connections, and calls that are given up: nothing stays open.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, before, test } from 'node:test'
import { Custos } from '@custos/client'
import { startTestService, type TestService } from '../../packages/server/src/testing/harness.ts'
import { bundle } from './testing/browser.ts'
import { startProxy } from './testing/proxy.ts'

const WRITES = 12

let service: TestService
let apiKey: string

before(async () => {
  service = await startTestService()
  apiKey = (await service.createTenant('streams')).api_key
})

after(() => service.stop())

test('streams.events continues after the last frame when its connection is cut', async () => {
  // The first three connections end within a frame, each a little later.
  const proxy = await startProxy(() => service.url, {
    cut: (request, sent) =>
      request <= 3 && sent.split('event: memory.written').length > request + 1,
  })
  try {
    const writer = new Custos({ url: service.url, apiKey })
    const reader = new Custos({ url: proxy.url, apiKey })
    const controller = new AbortController()
    const { signal } = controller
    const frames: { id: string; seq: number }[] = []
    const enough = new Error('enough')
    const writes = (async () => {
      for (let n = 0; n < WRITES; n += 1)
        await writer.memory.write('default', { content: `entry ${n}` })
    })()
    await assert.rejects(
      async () => {
        for await (const { id, event } of reader.streams.events({ from: 'start', signal })) {
          if (event !== 'memory.written') continue
          frames.push({ id, seq: Number(id.split('.')[1]) })
          if (frames.length === WRITES) controller.abort(enough)
        }
      },
      (error) => error === enough,
    )
    await writes
    const written: number[] = []
    for await (const { event_type, seq } of writer.gcrumbs.breadcrumbs.all())
      if (event_type === 'memory.written') written.push(seq)
    assert.deepEqual(
      frames.map(({ seq }) => seq),
      written.sort((a, b) => a - b),
    )
    const asked = proxy.seen.map(({ headers }) => headers['last-event-id'])
    assert.equal(asked.length, 4)
    assert.equal(asked[0], undefined)
    for (const id of asked.slice(1)) assert.match(String(id), /^0\.\d+$/)
  } finally {
    await proxy.stop()
  }
})

test('streams.run ends with its run, also over a connection that is cut', async () => {
  const proxy = await startProxy(() => service.url, {
    cut: (request, sent) => request === 1 && sent.includes('event: step.permitted'),
  })
  try {
    const custos = new Custos({ url: service.url, apiKey })
    const { agent_id } = await custos.orchestrator.createAgent({ name: 'a', model_id: 'm' })
    const { run_id } = await custos.orchestrator.startRun({ agent_id })
    const begun = await custos.orchestrator.beginStep(run_id, { input_text: 'x', budget_tokens: 0 })
    assert.ok('step_id' in begun)
    const done = { output: 'y', tokens_in: 1, tokens_out: 1, final: true }
    const reader = new Custos({ url: proxy.url, apiKey })
    const events: string[] = []
    for await (const { event } of reader.streams.run(run_id)) {
      events.push(event)
      if (event === 'step.permitted')
        await custos.orchestrator.completeStep(run_id, begun.step_id, done)
    }
    assert.deepEqual(events, ['run.started', 'step.permitted', 'step.completed', 'run.completed'])
    assert.equal(proxy.seen.length, 2)
    let last = ''
    for await (const { id } of custos.streams.run(run_id)) last = id
    for await (const { event } of custos.streams.run(run_id, { from: last }))
      assert.fail(`${event} after the end`)
  } finally {
    await proxy.stop()
  }
})

test('streams.events goes on after a cut before a frame, and after a passing refusal', async () => {
  const frame = 'id: 0.1\nevent: position\ndata: {}\n\n'
  let asked = 0
  const server = createServer((_request, response) => {
    asked += 1
    const busy = asked > 1 && asked < 6
    response.writeHead(busy ? 503 : 200, {
      'content-type': busy ? 'application/problem+json' : 'text/event-stream',
    })
    if (busy) response.end('{"error":"unavailable"}')
    else if (asked === 1) response.write(frame.slice(0, 9), () => response.destroy())
    else response.write(frame)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A TCP server has an address object, never a path.
  const { port } = server.address() as AddressInfo
  try {
    const seen: string[] = []
    for await (const { id } of new Custos({ url: `http://127.0.0.1:${port}` }).streams.events()) {
      seen.push(id)
      break
    }
    assert.deepEqual([asked, seen], [6, ['0.1']])
  } finally {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

for (const [what, path] of [
  ['at once', ''],
  ['after frames', '/later'],
])
  test(`streams.events that a page answers, ${what}, throws and asks no more`, async () => {
    let asked = 0
    const server = createServer((_request, response) => {
      asked += 1
      const page = asked > 1 || path === ''
      response.writeHead(200, { 'content-type': page ? 'text/html' : 'text/event-stream' })
      response.end(page ? '<html>Sign in</html>' : 'id: 0.1\nevent: position\ndata: {}\n\n')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    // A TCP server has an address object, never a path.
    const { port } = server.address() as AddressInfo
    const signal = AbortSignal.timeout(10_000)
    const seen: string[] = []
    try {
      await assert.rejects(
        async () => {
          const custos = new Custos({ url: `http://127.0.0.1:${port}${path}` })
          for await (const { id } of custos.streams.events({ signal })) seen.push(id)
        },
        { name: 'CustosError', message: /did not answer like a Custos service: check `url`/ },
      )
      assert.deepEqual([asked, seen], path === '' ? [1, []] : [2, ['0.1']])
    } finally {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  })

/** A server whose answers stop in the phase that the path of the call names. */
async function startStalling() {
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    if (path.includes('silent')) return
    if (path.includes('busy')) {
      response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '60' })
      response.end('{"error":"unavailable"}')
      return
    }
    const json = path.includes('lines') ? 'application/x-ndjson' : 'application/json'
    const type = path.includes('/events/') ? 'text/event-stream' : json
    response.writeHead(200, { 'content-type': type })
    response.write(type === 'text/event-stream' ? 'id: 0.1\nevent: position\ndata: {}\n\n' : '{')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A TCP server has an address object, never a path.
  const { port } = server.address() as AddressInfo
  return { server, url: `http://127.0.0.1:${port}` }
}

const PHASES = {
  'before it is sent': 'controller.abort(reason); await custos.memory.stats("any", { signal })',
  'waiting for headers': 'soon(); await custos.memory.stats("silent", { signal })',
  'reading the body': 'soon(); await custos.memory.stats("body", { signal })',
  'waiting to repeat': 'soon(); await custos.memory.stats("busy", { signal })',
  'reading lines': 'soon(); for await (const line of custos.memory.export("lines", { signal })) {}',
  'following events':
    'for await (const frame of custos.streams.events({ signal })) controller.abort(reason)',
}

test('a program that aborts a call in any phase gets its reason and ends by itself', async () => {
  const { server, url } = await startStalling()
  const folder = mkdtempSync(join(tmpdir(), 'custos-abort-'))
  const file = join(folder, 'abort.mjs')
  const phases = Object.entries(PHASES).map(
    ([phase, code]) => `await end(${JSON.stringify(phase)}, async (controller) => {
  const { signal } = controller
  const soon = () => setTimeout(() => controller.abort(reason), 150)
  ${code}
})`,
  )
  try {
    // Packed into one file: the type-stripping of the sources takes longer than the test.
    const { outputFiles } = await bundle(
      `import { Custos } from '@custos/client'
const custos = new Custos({ url: ${JSON.stringify(url)} })
const reason = new Error('enough')
async function end(phase, act) {
  try { await act(new AbortController()); console.log(phase, 'returned') }
  catch (error) { console.log(phase, error === reason ? 'reason' : error) }
  const left = process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length
  if (left > 0) console.log(phase, left, 'timers')
}
${phases.join('\n')}
`,
      'esm',
    )
    for (const { path, contents } of outputFiles)
      writeFileSync(join(folder, basename(path)), contents)
    writeFileSync(file, "import './stdin.js'\n")
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    const ended = Object.keys(PHASES).map((phase) => `${phase} reason\n`)
    assert.equal(await runToEnd(file), ended.join(''))
  } finally {
    rmSync(folder, { recursive: true })
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

/** The output of a program; one that does not end by itself is killed and fails. */
function runToEnd(file: string): Promise<string> {
  const child = spawn(process.execPath, [file])
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  const deadline = setTimeout(() => child.kill('SIGKILL'), 20_000)
  return new Promise((resolve) => {
    child.on('close', (status) => {
      clearTimeout(deadline)
      resolve(status === 0 ? output : `${output}ended with ${status}`)
    })
  })
}
