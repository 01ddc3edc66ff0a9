// custos import --from: what each kind of file becomes, and that nothing is there twice.

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { runCustos, spawnCustos, type TestCleanup, tempDirectory } from '../testing/run.ts'
import { type LocalService, serveLocally } from '../testing/serve-locally.ts'
import { MalformedJson, readJsonPieces } from './json-values.ts'
import { makeZip } from './testing/zip-file.ts'

const GOLDEN = join(import.meta.dirname, 'testing/golden')
const golden = (name: string): string => join(GOLDEN, name)
const dir = tempDirectory()
const ends: (() => void | Promise<void>)[] = []
let local: LocalService
let stores = 0

before(async () => {
  const t: TestCleanup = { after: (end) => void ends.push(end) }
  local = await serveLocally(t)
})

after(async () => {
  for (const end of ends.reverse()) await end()
})

const fileOf = (name: string, text: string | Uint8Array): string => {
  writeFileSync(join(dir, name), text)
  return join(dir, name)
}

async function newStore(): Promise<string> {
  stores += 1
  const store_id = `import-${stores}`
  await local.call('POST', '/v1/stores', { store_id })
  return store_id
}

const run = (...args: string[]) => runCustos(['import', ...args, '--url', local.url])

/** The memories of a store, without what differs from run to run. */
async function contents(store: string): Promise<string[]> {
  const lines = (await local.text(`/v1/stores/${store}/export`)).trim().split('\n').slice(1)
  return lines.map((line) => {
    const { content, namespace, tenant_id, metadata, valid_from, valid_until, source, item } =
      JSON.parse(line)
    const space = namespace ?? tenant_id ?? null
    const { original_written_at = null } = source
    return JSON.stringify({
      content,
      space,
      metadata,
      // Without a time of its own an item is valid from the import on.
      valid_from: item === undefined ? valid_from : undefined,
      valid_until,
      original_written_at,
      item,
    })
  })
}

for (const [kind, file, ...more] of [
  ['mem0', 'mem0.json'],
  ['zep', 'zep.jsonl'],
  ['chatgpt', 'chatgpt.json'],
  ['chatgpt', 'chatgpt.json', '--roles', 'user,assistant', '--namespace', 'talks'],
  ['langgraph', 'langgraph.jsonl'],
  ['langgraph', 'langgraph.jsonl', '--namespace', 'team'],
  ['memory-jsonl', 'memory.jsonl'],
  ['memory-jsonl', 'memory.jsonl', '--namespace', 'team'],
] as const)
  test(`${[kind, ...more].join(' ')}: each record becomes what the golden file says`, async () => {
    const store = await newStore()
    const expected = golden(`${file}${more.length > 0 ? '.all' : ''}.expected.ndjson`)
    const ran = await run('--from', kind, golden(file), '--store', store, ...more)
    assert.equal(ran.status, 0, ran.stderr)
    const found = await contents(store)
    if (process.env['CUSTOS_WRITE_GOLDEN']) writeFileSync(expected, `${found.join('\n')}\n`)
    assert.deepEqual(found, readFileSync(expected, 'utf8').trim().split('\n'))
    const again = await run('--from', kind, golden(file), '--store', store, ...more)
    assert.match(again.stdout, /^0 memories imported/)
    assert.deepEqual(await contents(store), found)
  })

test('a dry run prints counts and three memories, and sends nothing', async () => {
  const preview = ['--from', 'mem0', golden('mem0.json'), '--dry-run']
  const ran = await runCustos(['import', ...preview, '--url', 'http://127.0.0.1:9'])
  assert.equal(ran.status, 0, ran.stderr)
  const [counts, left, ...samples] = ran.stdout.trim().split('\n')
  assert.equal(counts, '3 records, 2 memories; nothing was sent')
  assert.equal(left, '1 left out: without a text')
  assert.deepEqual(
    samples.map((line) => JSON.parse(line).content),
    ['Prefers the early ferry', 'Keeps bees “since spring”'],
  )
})

test('a dry run shows items as they would be imported', async () => {
  const preview = ['--from', 'langgraph', golden('langgraph.jsonl'), '--dry-run']
  const ran = await runCustos(['import', ...preview, '--url', 'http://127.0.0.1:9'])
  assert.equal(ran.status, 0, ran.stderr)
  const [counts, first = ''] = ran.stdout.trim().split('\n')
  assert.equal(counts, '4 records, 4 memories; nothing was sent')
  assert.deepEqual(JSON.parse(first).item, { namespace: ['users', 'ines'], key: 'food' })
})

test('a ZIP gives the conversations in it, and one without them is refused', async () => {
  const store = await newStore()
  const json = readFileSync(golden('chatgpt.json'))
  const other = Buffer.from('[]')
  const zip = makeZip([
    ['user.json', other],
    ['conversations.json', json],
  ])
  const ran = await run('--from', 'chatgpt', fileOf('export.zip', zip), '--store', store)
  assert.match(ran.stdout, /^4 memories imported/)
  const empty = fileOf('empty.zip', makeZip([['user.json', other]]))
  const none = await run('--from', 'chatgpt', empty, '--store', store)
  assert.equal(none.status, 1)
  assert.match(none.stderr, /has no conversations\.json in it/)
  const broken = fileOf('broken.zip', zip.subarray(0, zip.length - 30))
  assert.match((await run('--from', 'chatgpt', broken)).stderr, /is no readable ZIP/)
})

test('a file of another kind is one sentence, and changes nothing', async () => {
  const store = await newStore()
  for (const [kind, file] of [
    ['zep', 'mem0.json'],
    ['mem0', 'chatgpt.json'],
    ['chatgpt', 'zep.jsonl'],
    ['memory-jsonl', 'mem0.json'],
    ['langgraph', 'memory.jsonl'],
  ] as const) {
    const ran = await run('--from', kind, golden(file), '--store', store)
    assert.equal(ran.status, 1)
    assert.match(ran.stderr, /^custos import: [^\n]+ is not of this kind: expected [^\n]+\n$/)
  }
  for (const args of [
    ['--from', 'other', golden('mem0.json')],
    ['--from', 'ndjson', 'x', '--dry-run'],
    ['--from', 'mem0', 'x', '--allow-duplicates'],
    ['default', 'x', '--store', 'y'],
  ])
    assert.equal((await run(...args)).status, 2, args.join(' '))
  assert.deepEqual(await contents(store), [])
})

const mem0Line = (i: number, more: object = {}): string =>
  `${JSON.stringify({ ...oneMemory(i), ...more })}\n`
const oneMemory = (i: number) => ({
  id: `m-${i}`,
  memory: `memory ${i}`,
  created_at: '2025-01-01T00:00:00Z',
})

const itemLine = (i: number): string =>
  `${JSON.stringify({
    namespace: ['users', `u${i % 7}`],
    key: `k${i}`,
    value: { text: `item ${i}` },
    created_at: '2025-01-01T00:00:00+00:00',
    updated_at: '2025-01-02T00:00:00+00:00',
  })}\n`

test('a malformed line is named, with how much was kept; mended, the rest follows', async () => {
  const store = await newStore()
  const lines = Array.from({ length: 1200 }, (_, i) => mem0Line(i))
  const text = (bad: string) => lines.with(1099, bad).join('')
  const file = fileOf('broken.jsonl', text('{"id": "m-1099", "memory": "cut of\n'))
  const broken = await run('--from', 'mem0', file, '--store', store)
  assert.equal(broken.status, 1)
  assert.match(broken.stderr, /: line 1100: [^\n]+\(the 1000 memories before it are imported\)\n$/)
  const refused = fileOf('refused.jsonl', text(mem0Line(1099, { user_id: 'x'.repeat(2000) })))
  const second = await run('--from', 'mem0', refused, '--store', store)
  assert.match(second.stderr, /: line 1100: [^\n]+\(the 1000 memories before it are imported\)\n$/)
  const mended = await run('--from', 'mem0', fileOf('good.jsonl', lines.join('')), '--store', store)
  assert.match(mended.stdout, /^200 memories imported into \S+\n1000 memories left out/)
  const first = fileOf('first.jsonl', `nonsense\n${mem0Line(1)}`)
  assert.match(
    (await run('--from', 'mem0', first)).stderr,
    /line 1: [^\n]+\(nothing was imported\)/,
  )
})

for (const [kind, line] of [
  ['mem0', mem0Line],
  ['langgraph', itemLine],
] as const)
  test(`${kind}: killed in the middle and started again, it ends as one that was not`, async () => {
    const [killed, whole] = [await newStore(), await newStore()]
    const lines = Array.from({ length: 2600 }, (_, i) => line(i))
    const file = fileOf(`large-${kind}.jsonl`, lines.join(''))
    const abort = new AbortController()
    // The third block is committed, and nobody is told.
    const proxy = await startProxy((requests) => {
      if (requests === 3) abort.abort()
      return requests < 3
    })
    const args = ['import', '--from', kind, file, '--store', killed, '--url', proxy.url]
    await assert.rejects(spawnCustos(args, { signal: abort.signal }), { name: 'AbortError' })
    await proxy.stop()
    const there = (await contents(killed)).length
    assert.equal(there, 1500)
    assert.equal((await run('--from', kind, file, '--store', killed)).status, 0)
    assert.equal((await run('--from', kind, file, '--store', whole)).status, 0)
    assert.deepEqual(await contents(killed), await contents(whole))
  })

/** Passes requests on to the service; `answers` says whether the caller hears of the result. */
async function startProxy(answers: (requests: number) => boolean) {
  let requests = 0
  const server = createServer(async (request, response) => {
    const body = await buffer(request)
    const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers
    const reply = await fetch(`${local.url}${request.url}`, {
      method: request.method ?? 'GET',
      headers: Object.entries(headers).map(([name, value]): [string, string] => [
        name,
        String(value),
      ]),
      body,
    })
    const text = await reply.text()
    requests += 1
    if (!answers(requests)) {
      response.destroy()
      return
    }
    response.writeHead(reply.status, { 'content-type': 'application/json' }).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server that listens on a port has an address of this form.
  const { port } = server.address() as AddressInfo
  const stop = () => new Promise((resolve) => server.close(resolve))
  return { url: `http://127.0.0.1:${port}`, stop }
}

test('a wrong role, store, key or address is one sentence, and nothing is imported', async () => {
  const cases: readonly [RegExp, readonly string[]][] = [
    [/--roles takes user, assistant, system, tool, not "bob"$/, ['--roles', 'user,bob']],
    [/404 No such store: name one that is there \(nothing was imported\)$/, ['--store', 'absent']],
    [
      /no answer from http:\S+: .+ with --url \(nothing was imported\)$/,
      ['--url', 'http://127.0.0.1:9'],
    ],
  ]
  for (const [sentence, args] of cases) {
    const given = ['--from', 'chatgpt', golden('chatgpt.json'), '--url', local.url, ...args]
    const { status, stdout, stderr } = await runCustos(['import', ...given])
    assert.notEqual(status, 0)
    assert.equal(stdout, '')
    assert.match(stderr.trimEnd(), sentence)
    assert.equal(stderr.trimEnd().split('\n').length, 1)
  }
})

test('running an import twice is running it once, whatever is in the file', async () => {
  const memory = fc.record({
    id: fc.uuid(),
    memory: fc.string({ minLength: 1, maxLength: 40 }),
    user_id: fc.constantFrom(null, 'ines', 'bo'),
    created_at: fc.constantFrom('2025-01-01T00:00:00Z', '2025-01-02T00:00:00', null),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(memory, { minLength: 1, maxLength: 20 }), async (memories) => {
      const store = await newStore()
      const file = fileOf('any.json', JSON.stringify({ results: memories }))
      const once = await run('--from', 'mem0', file, '--store', store)
      assert.equal(once.status, 0, once.stderr)
      const found = await contents(store)
      // Another file with the same memories: not the answer to a retry.
      const more = fileOf('again.json', JSON.stringify(memories, null, 1))
      for (const again of [file, more])
        assert.match((await run('--from', 'mem0', again, '--store', store)).stdout, /^0 memories/)
      assert.deepEqual(await contents(store), found)
    }),
    { numRuns: 12 },
  )
})

test('objects are found in any text, wherever it is cut into pieces', async () => {
  const value = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 })
  const cuts = fc.array(fc.nat({ max: 400 }), { maxLength: 6 })
  const shape = fc.constantFrom('array', 'member', 'lines')
  await fc.assert(
    fc.asyncProperty(fc.array(value), cuts, shape, fc.boolean(), async (values, at, kind, wide) => {
      const space = wide ? 1 : undefined
      const given = { 'a"b': [{ results: [1] }], results: values, next: { results: [{}] } }
      const text =
        kind === 'array'
          ? JSON.stringify(values, null, space)
          : kind === 'member'
            ? JSON.stringify(given, null, space)
            : values.map((one) => `${JSON.stringify(one)}\n`).join('')
      const found: unknown[] = []
      for await (const { text: piece } of readJsonPieces(cut(text, at), ['results']))
        found.push(JSON.parse(piece))
      const wanted = kind === 'lines' ? values.flatMap((one) => ownArray(one)) : values
      assert.deepEqual(found, JSON.parse(JSON.stringify(wanted)))
    }),
  )
  for (const text of ['[', '{"a": 1', '[1]', '"x"', '{}]', '[[{}]]', '{"a": "b\nc"}', '{} x'])
    await assert.rejects(readAll(text), MalformedJson, text)
})

async function readAll(text: string): Promise<void> {
  for await (const piece of readJsonPieces(cut(text, []))) assert.ok(piece.text.startsWith('{'))
}

/** An object with a member of that name stands for its objects. */
const ownArray = (value: Record<string, unknown>): unknown[] =>
  Array.isArray(value['results']) ? (value['results'] as unknown[]) : [value]

async function* cut(text: string, places: readonly number[]): AsyncGenerator<string> {
  let from = 0
  for (const place of places.toSorted((a, b) => a - b)) {
    yield text.slice(from, place)
    from = Math.max(from, place)
  }
  yield text.slice(from)
}
