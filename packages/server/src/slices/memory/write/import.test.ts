// 'memory.import': refs, times and chains are imported unchanged, or nothing is imported.

import assert from 'node:assert/strict'
import { after, before, mock, test } from 'node:test'
import type { Memory } from '@custos/contract'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'
import { countIterations } from '../../../testing/growth.ts'
import { readImport } from './import-lines.ts'

let scene: Scene

before(async () => {
  scene = await openScene()
})

after(() => scene.stop())

const freshStore = async (options: object = {}): Promise<string> =>
  (await scene.api('POST', '/v1/stores', options)).body.store_id

const send = (store_id: string, raw: string | Uint8Array, once?: string, query = '') =>
  scene.service.request('POST', `/v1/stores/${store_id}/import${query}`, {
    raw,
    key: scene.api_key,
    headers: {
      'content-type': 'application/x-ndjson',
      ...(once === undefined ? {} : { 'idempotency-key': once }),
    },
  })

const ndjson = (lines: readonly unknown[]): string =>
  lines.map((line) => `${JSON.stringify(line)}\n`).join('')

const audit = async (store_id: string): Promise<Memory[]> =>
  (await scene.api('GET', `/v1/stores/${store_id}/audit`)).body.memories

test('an export imported by another tenant keeps refs, times, chains and namespaces', async () => {
  const from = await freshStore()
  const write = async (content: string, options: object = {}) =>
    (await scene.api('POST', `/v1/stores/${from}/write`, { content, options })).body.ref
  const a = await write('v0 \\u0000 as six characters', { valid_from: '2020-01-01T00:00:00Z' })
  await write('apart', { tenant_id: 'x/y', metadata: { deep: { er: [1, 2.5, null] } } })
  const later = { valid_from: '2021-01-01T00:00:00.000001Z' }
  const body = { old_ref: a, content: 'v1', options: later }
  await scene.api('POST', `/v1/stores/${from}/supersede`, body)
  const { text } = await scene.api('GET', `/v1/stores/${from}/export`)

  const other = await openScene()
  try {
    const answer = await other.service.request('POST', '/v1/stores/default/import', {
      raw: text,
      key: other.api_key,
      headers: { 'content-type': 'application/x-ndjson' },
    })
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.body.imported, 3)
    assert.deepEqual(answer.body.refs_mapped, [])
    const taken: Memory[] = (await other.api('GET', '/v1/stores/default/audit')).body.memories
    const before = await audit(from)
    for (const [i, memory] of taken.entries()) {
      const old = before[i]
      assert.ok(old)
      for (const key of ['ref', 'content', 'metadata', 'valid_from', 'valid_until'] as const)
        assert.deepEqual(memory[key], old[key])
      assert.equal(memory.superseded_by, old.superseded_by)
      assert.equal(memory.tenant_id, old.tenant_id.replace(scene.tenant_id, other.tenant_id))
      assert.equal(memory.source.original_written_at, old.written_at)
      assert.notEqual(memory.source.signature, old.source.signature)
    }
    const options = { as_of: '2020-06-01T00:00:00Z' }
    const then = await other.api('POST', '/v1/stores/default/retrieve', { query: 'v0', options })
    assert.deepEqual(then.body.memories[0]?.ref, a)
    const next = await other.api('POST', '/v1/stores/default/write', { content: 'after' })
    assert.ok(next.body.ref > Math.max(...taken.map(({ ref }) => ref)))
  } finally {
    await other.stop()
  }
})

test('a ref in use is mapped and chains follow it, in any order of lines', async () => {
  const taken = await scene.write('already here')
  const store_id = await freshStore()
  const free = taken + 5_000_000
  const day = (n: number) => `2024-01-0${n}T00:00:00.000000Z`
  const lines = [
    { ref: free, content: 'c', valid_from: day(3) },
    { ref: taken, content: 'a', valid_from: day(1), superseded_by: taken + 1 },
    { ref: taken + 1, content: 'b', valid_from: day(2), superseded_by: free },
  ]
  const { status, body, text } = await send(store_id, ndjson(lines))
  assert.equal(status, 200, text)
  assert.deepEqual(
    body.refs_mapped.map(({ from }: { from: number }) => from),
    [taken, taken + 1],
  )
  const byContent = new Map((await audit(store_id)).map((memory) => [memory.content, memory]))
  const [a, b, c] = ['a', 'b', 'c'].map((content) => byContent.get(content))
  assert.equal(c?.ref, free)
  assert.equal(a?.superseded_by, b?.ref)
  assert.equal(b?.superseded_by, c?.ref)
  assert.deepEqual([a?.valid_until, b?.valid_until, c?.valid_until], [day(2), day(3), null])
})

test('a bad line refuses the whole import by number, and nothing is written', async () => {
  const store_id = await freshStore()
  const erased = await scene.write('to be erased')
  await scene.issue(erased)
  const at = '2024-01-01T00:00:00Z'
  const later = '2024-02-01T00:00:00Z'
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const bad: [string, string][] = [
    ['not json', '{"content":'],
    ['no content', '{"metadata":{}}'],
    ['wrong type', '{"content":1}'],
    ['naive time', '{"content":"x","valid_from":"2024-01-01T00:00:00"}'],
    ['lone surrogate', '{"content":"\\ud800"}'],
    ['nul', '{"content":"\\u0000"}'],
    ['large integer', '{"content":"x","metadata":{"n":9007199254740993}}'],
    ['prototype', '{"content":"x","metadata":{"__proto__":{"a":1}}}'],
    ['deep', `{"content":"x","metadata":{"a":${deep}}}`],
    ['erased ref', JSON.stringify({ content: 'x', ref: erased })],
    ['ref twice', JSON.stringify({ content: 'x', ref: 1_000_000_001 })],
    ['itself', JSON.stringify({ content: 'x', ref: 7, superseded_by: 7, valid_from: at })],
    ['inverted', JSON.stringify({ content: 'x', valid_from: later, valid_until: at })],
    ['no start', JSON.stringify({ content: 'x', valid_until: at })],
    [
      'ring',
      JSON.stringify({ content: 'x', ref: 8, superseded_by: 1_000_000_001, valid_from: later }),
    ],
    [
      'across',
      JSON.stringify({
        content: 'x',
        ref: 8,
        superseded_by: 1_000_000_001,
        namespace: 'n',
        valid_from: '2000-01-01T00:00:00Z',
      }),
    ],
    ['long namespace', JSON.stringify({ content: 'x', namespace: 'n'.repeat(129) })],
    ['empty', JSON.stringify({ content: '' })],
    ['blank', JSON.stringify({ content: ' \n' })],
    ['too large', JSON.stringify({ content: 'x'.repeat(256 * 1024 + 1) })],
  ]
  const good = { content: 'good', ref: 1_000_000_001, valid_from: at }
  for (const [name, line] of bad) {
    const { status, body } = await send(store_id, `${JSON.stringify(good)}\n${line}\n`)
    assert.equal(status, 422, `${name}: ${status} ${JSON.stringify(body)}`)
    assert.equal(body.error, 'import_refused', name)
    assert.equal(body.line, 2, name)
    assert.equal(body.imported, 0, name)
  }
  assert.equal((await send(store_id, Uint8Array.of(0x7b, 0xff, 0x0a))).status, 422)
  assert.deepEqual(await audit(store_id), [])
})

test('two predecessors of one version are refused', async () => {
  const store_id = await freshStore()
  const lines = [
    { ref: 1, content: 'a', superseded_by: 3, valid_from: '2024-01-01T00:00:00Z' },
    { ref: 2, content: 'b', superseded_by: 3, valid_from: '2024-01-01T00:00:00Z' },
  ]
  const { status, body } = await send(store_id, ndjson(lines))
  assert.equal(status, 422)
  assert.equal(body.line, 2)
})

test('lines with only a content are written as of now', async () => {
  const store_id = await freshStore()
  const answer = await send(store_id, '{"content":"bare"}\n\n{"content":"last"}')
  assert.equal(answer.body.imported, 2)
  assert.deepEqual(answer.body.refs_mapped, [])
  const [bare] = await audit(store_id)
  assert.equal(bare?.valid_from, bare?.written_at)
  assert.equal(bare?.source.original_written_at, undefined)
  const nothing = { imported: 0, duplicates: 0, refs_mapped: [], log_seq: null }
  assert.deepEqual((await send(store_id, '')).body, nothing)
})

test('an import beyond 8 MiB keeps what precedes a bad line', async () => {
  const store_id = await freshStore({ tokenizer: 'chars' })
  const content = 'filler '.repeat(30_000)
  const lines = Array.from({ length: 60 }, (_, i) => ({ content: `${i} ${content}` }))
  const many = Array.from({ length: 600 }, (_, i) => ({ content: `small ${i}` }))
  const { status, body } = await send(store_id, `${ndjson([...lines, ...many])}{"content":5}\n`)
  assert.equal(status, 422)
  assert.equal(body.line, 661)
  assert.ok(body.imported >= 500, String(body.imported))
  assert.equal((await audit(store_id)).length, body.imported)
})

test('chains across chunks are linked, and an open end can be superseded', async () => {
  const store_id = await freshStore({ tokenizer: 'chars' })
  const at = (us: number) => `2024-01-01T00:00:00.${String(us).padStart(6, '0')}Z`
  const count = 1_200
  const start = 2_000_000_000
  const lines = Array.from({ length: count }, (_, i) => ({
    ref: start + i,
    content: `link ${i}`,
    valid_from: at(i),
    ...(i + 1 < count ? { superseded_by: start + i + 1 } : {}),
  }))
  assert.equal((await send(store_id, ndjson(lines))).body.imported, count)
  const memories = await audit(store_id)
  for (const [i, memory] of memories.entries()) {
    assert.equal(memory.superseded_by, memories[i + 1]?.ref ?? null)
    assert.equal(memory.valid_until, i + 1 < count ? at(i + 1) : null)
  }
  const path = `/v1/stores/${store_id}/supersede`
  const stale = await scene.api('POST', path, { old_ref: start, content: 'x' })
  assert.equal(stale.body.head, start + count - 1)
  assert.equal(
    (await scene.api('POST', path, { old_ref: start + count - 1, content: 'x' })).status,
    200,
  )
})

test('a version that had ended without a successor can still be superseded', async () => {
  const store_id = await freshStore()
  const line = {
    ref: 3_000_000_000,
    content: 'ended',
    valid_from: '2024-01-01T00:00:00Z',
    valid_until: '2024-02-01T00:00:00.000000Z',
  }
  await send(store_id, ndjson([line]))
  const { status } = await scene.api('POST', `/v1/stores/${store_id}/supersede`, {
    old_ref: line.ref,
    content: 'resumed',
  })
  assert.equal(status, 200)
  const [ended, resumed] = await audit(store_id)
  assert.equal(ended?.valid_until, line.valid_until)
  assert.equal(ended?.superseded_by, resumed?.ref)

  const erased = await scene.api('POST', `/v1/stores/${store_id}/delete`, { ref: resumed?.ref })
  assert.equal(erased.body.deleted, true)
  const [alone] = await audit(store_id)
  assert.equal(alone?.superseded_by, null)
  assert.equal(alone?.valid_until, line.valid_until, 'what had ended by itself stays ended')
})

test('a line that needs a capability the store lacks is refused', async () => {
  const store_id = await freshStore({ capabilities: ['audit'] })
  for (const line of [
    { content: 'x', namespace: 'n' },
    { content: 'x', ref: 5, superseded_by: 6 },
  ]) {
    const { body } = await send(store_id, ndjson([line]))
    assert.equal(body.error, 'import_refused')
  }
})

test('an import repeated under its key gets the same reply and imports nothing', async () => {
  const store_id = await freshStore({ tokenizer: 'chars' })
  const taken = await scene.write('has a ref')
  const lines = Array.from({ length: 1_001 }, (_, i) => ({ content: `line ${i}` }))
  const raw = ndjson([{ content: 'mapped', ref: taken }, ...lines])
  const first = await send(store_id, raw, 'import-1')
  assert.equal(first.body.imported, 1_002, first.text)
  assert.equal(first.body.refs_mapped[0].from, taken)
  const again = await send(store_id, raw, 'import-1')
  assert.deepEqual([again.status, again.body], [200, first.body])
  assert.equal(again.headers.get('idempotency-replayed'), 'true')
  assert.equal(first.headers.get('idempotency-replayed'), null)

  for (const other of [`${raw}{"content":"more"}\n`, raw.slice(0, -1), '']) {
    const { status, body } = await send(store_id, other, 'import-1')
    assert.deepEqual([status, body.error], [409, 'idempotency_key_reused'])
  }
  const elsewhere = await send(await freshStore(), raw, 'import-1')
  assert.equal(elsewhere.body.error, 'idempotency_key_reused')
  assert.equal((await audit(store_id)).length, 1_002)
})

test('two parallel imports under one key import once, an empty import included', async () => {
  for (const [raw, count] of [
    [ndjson(Array.from({ length: 501 }, (_, i) => ({ content: `twin ${i}` }))), 501],
    ['', 0],
  ] as const) {
    const store_id = await freshStore({ tokenizer: 'chars' })
    const twins = Array.from({ length: 8 }, () => send(store_id, raw, `twins-${count}`))
    const answers = await Promise.all(twins)
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
    assert.equal(answers[0]?.body.imported, count)
    const fresh = answers.filter(({ headers }) => !headers.has('idempotency-replayed'))
    assert.equal(fresh.length, 1)
    assert.equal((await audit(store_id)).length, count)
  }
})

test('a refused import that imported nothing leaves its key free', async () => {
  const store_id = await freshStore()
  assert.equal((await send(store_id, '{"content":5}', 'free')).status, 422)
  const { body } = await send(store_id, '{"content":"five"}', 'free')
  assert.equal(body.imported, 1)
})

test('an import that broke off after its first memories is not started again', async () => {
  const store_id = await freshStore({ tokenizer: 'chars' })
  const large = Array.from({ length: 60 }, (_, i) => ({ content: `${i} ${'x'.repeat(200_000)}` }))
  const small = Array.from({ length: 600 }, (_, i) => ({ content: `small ${i}` }))
  const raw = `${ndjson([...large, ...small])}{"content":5}\n`
  const first = await send(store_id, raw, 'breaks')
  assert.equal(first.body.error, 'import_refused', first.text)
  assert.ok(first.body.imported >= 500)
  for (const retry of [raw, '{"content":"another"}']) {
    const { status, body } = await send(store_id, retry, 'breaks')
    assert.deepEqual([status, body.error], [422, 'import_refused'])
    assert.equal(body.imported, first.body.imported)
  }
  assert.equal((await audit(store_id)).length, first.body.imported)
})

/** Lines of every kind: with times, without, in namespaces, and a version chain. */
const MIXED = [
  { content: 'tea', written_at: '2024-01-01T00:00:00Z' },
  { content: 'tea', written_at: '2024-01-02T00:00:00Z' },
  { content: 'tea', written_at: '2024-01-01T00:00:00Z', namespace: 'n' },
  { content: 'tea', valid_from: '2024-01-03T00:00:00Z' },
  { content: 'tea', valid_from: '2024-01-04T00:00:00Z' },
  { content: 'tea' },
  {
    content: 'v1',
    ref: 4_000_000_001,
    valid_from: '2024-01-05T00:00:00Z',
    superseded_by: 4_000_000_002,
  },
  { content: 'v2', ref: 4_000_000_002, valid_from: '2024-01-06T00:00:00Z' },
]

test('a file imported twice adds nothing and says so, whatever its lines have', async () => {
  const store_id = await freshStore()
  const raw = ndjson(MIXED)
  const first = await send(store_id, raw)
  assert.deepEqual([first.body.imported, first.body.duplicates], [8, 0], first.text)
  const before = await audit(store_id)
  const again = (await send(store_id, raw)).body
  assert.deepEqual([again.imported, again.duplicates, again.log_seq], [0, 8, null])
  const own = (await scene.api('GET', `/v1/stores/${store_id}/export`)).text
  assert.deepEqual((await send(store_id, own)).body.duplicates, 8, 'nor its own export')
  assert.deepEqual(await audit(store_id), before)
  const all = await send(store_id, raw, undefined, '?allow_duplicates=true')
  assert.deepEqual([all.body.imported, all.body.duplicates], [8, 0])
  assert.equal((await audit(store_id)).length, 16)
  assert.equal((await send(await freshStore(), raw)).body.imported, 8, 'other stores are apart')
})

test('lines that an import has already are left out, in one chunk and over chunks', async () => {
  const store_id = await freshStore({ tokenizer: 'chars' })
  const lines = Array.from({ length: 700 }, (_, i) => ({ content: `line ${i}` }))
  const { imported, duplicates } = (await send(store_id, ndjson([...lines, ...lines]))).body
  assert.deepEqual([imported, duplicates], [700, 700])
  const twice = [{ content: 'x' }, { content: 'x' }, { content: 'y' }]
  const { body } = await send(store_id, ndjson(twice), 'twice')
  assert.deepEqual([body.imported, body.duplicates], [2, 1])
  assert.deepEqual((await send(store_id, ndjson(twice), 'twice')).body, body, 'a retry is replayed')
  assert.equal((await audit(store_id)).length, 702)
})

test('a memory written here is known by the time of its write, an erased one is not', async () => {
  const scene = await openScene()
  try {
    const base = `/v1/stores/${scene.store_id}`
    const kept = await scene.write('kept')
    const erased = await scene.write('erased')
    const { text } = await scene.api('GET', `${base}/export`)
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    await scene.issue(erased)
    const renumbered = lines.map(({ ref: _, ...line }) => line)
    const answer = await scene.service.request('POST', `${base}/import`, {
      raw: ndjson([
        ...renumbered.slice(1),
        { content: 'kept', written_at: '2020-01-01T00:00:00Z' },
      ]),
      key: scene.api_key,
      headers: { 'content-type': 'application/x-ndjson' },
    })
    assert.deepEqual([answer.body.imported, answer.body.duplicates], [2, 1], answer.text)
    const memories = (await scene.api('GET', `${base}/memories`)).body.memories
    const contents = memories.map(({ content }: Memory) => content)
    assert.deepEqual(contents, ['kept', 'erased', 'kept'])
    assert.equal(memories[0].ref, kept)
  } finally {
    await scene.stop()
  }
})

test('a version chain that a file continues is continued, however much is there', async () => {
  const day = (n: number) => `2024-03-0${n}T00:00:00.000000Z`
  const start = 5_000_000_000
  const version = (n: number, last: boolean) => ({
    ref: start + n,
    content: `version ${n}`,
    valid_from: day(n),
    ...(last ? {} : { superseded_by: start + n + 1 }),
  })
  const chain = (count: number) =>
    Array.from({ length: count }, (_, i) => version(i + 1, i + 1 === count))
  const filler = Array.from({ length: 600 }, (_, i) => ({ content: `filler ${i}` }))
  for (const between of [[], filler]) {
    const store_id = await freshStore({ tokenizer: 'chars' })
    await send(store_id, ndjson([...chain(2), ...between]))
    const [one, two, three] = chain(3)
    const { body } = await send(store_id, ndjson([one, two, ...between, three]))
    assert.deepEqual([body.imported, body.duplicates], [1, 2 + between.length])
    const memories = (await audit(store_id)).filter(({ content }) => content.startsWith('version'))
    const refs = memories.map(({ ref }) => ref)
    assert.deepEqual(
      memories.map(({ valid_until }) => valid_until),
      [day(2), day(3), null],
    )
    assert.deepEqual(
      memories.map(({ superseded_by }) => superseded_by),
      [refs[1], refs[2], null],
    )
  }
})

/** Imports a line for each ref, all of which are free; the sizes of the blocks made for it. */
async function blocksFor(scene: Scene, refs: readonly number[]): Promise<number[]> {
  const { keyring } = scene.service.kernel
  const reserve = mock.method(keyring, 'reserve')
  try {
    const answer = await scene.service.request('POST', `/v1/stores/${scene.store_id}/import`, {
      raw: refs.map((ref) => `${JSON.stringify({ ref, content: `memory ${ref}` })}\n`).join(''),
      key: scene.api_key,
      headers: { 'content-type': 'application/x-ndjson' },
    })
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(answer.body.refs_mapped, [])
    return reserve.mock.calls
      .filter(({ arguments: [, kind] }) => kind === 'fact')
      .map(({ arguments: [, , { count }] }) => count ?? 1)
  } finally {
    reserve.mock.restore()
  }
}

test('an import with refs far apart makes secrets for them, not for refs in between', async () => {
  const scene = await openScene()
  try {
    const first = (await scene.write('takes the first block')) + 10_000
    const blocks = await blocksFor(
      scene,
      Array.from({ length: 40 }, (_, i) => first + i * 25_000),
    )
    assert.deepEqual(blocks, Array(40).fill(1))
  } finally {
    await scene.stop()
  }
})

test('an import with consecutive refs and a few gaps reserves one block', async () => {
  const scene = await openScene()
  try {
    const first = (await scene.write('takes the first block')) + 10_000
    const near = Array.from({ length: 100 }, (_, i) => first + i * 3)
    const blocks = await blocksFor(scene, [...near, first + 500_000])
    assert.deepEqual(blocks, [298, 1])
  } finally {
    await scene.stop()
  }
})

test('other requests run between the parts of very many empty lines', async () => {
  // All there at once: the event loop turns only where reading pauses.
  const body = async function* () {
    yield Buffer.from('\n'.repeat(300_000))
  }
  const around = { tenant_id: 'a', clock: scene.service.kernel.clock }
  const iterations = await countIterations(async () => {
    for await (const fact of readImport(around, body())) assert.fail(`a fact: ${fact.line}`)
  })
  assert.ok(iterations > 3, `${iterations} iterations`)
})
