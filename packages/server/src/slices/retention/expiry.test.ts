// Memories that expire: hidden from every read at that time, then erased with a certificate.

import assert from 'node:assert/strict'
import test from 'node:test'
import { limits } from '@custos/contract'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'
import { movedClock } from '../../testing/skewed-clock.ts'
import { makeDueDigests } from '../memory/index.ts'
import { runDueRetention } from './index.ts'

const SECOND_US = 1_000_000
const BASIS = 'expiry: set when the memory was written'

const importInto = ({ service, api_key: key }: Scene, store_id: string, raw: string) =>
  service.request('POST', `/v1/stores/${store_id}/import`, {
    raw,
    key,
    headers: { 'content-type': 'application/x-ndjson' },
  })

interface ExpiringMemory {
  readonly ref: number
  readonly content: string
  readonly expires_at: string | null
}

const urlOf = (scene: Scene, path: string) => `/v1/stores/${scene.store_id}${path}`

/** Refs that each read path of memories shows. */
async function refsSeen(scene: Scene, more: object = {}): Promise<Record<string, number[]>> {
  const get = async (path: string) => (await scene.api('GET', urlOf(scene, path))).body
  const refsOf = (memories: readonly ExpiringMemory[]) => memories.map(({ ref }) => ref).sort()
  const body = { query: 'parking permit', budget_tokens: 10_000, ...more }
  const text = (await scene.api('GET', urlOf(scene, '/export'))).text
  const lines = text.trim().split('\n').slice(1)
  const listed = refsOf((await get('/memories')).memories)
  const by_ref: number[] = []
  for (let ref = 0; ref < 12; ref += 1)
    if ((await scene.api('GET', urlOf(scene, `/memories/${ref}`))).status === 200) by_ref.push(ref)
  return {
    retrieve: refsOf((await scene.api('POST', urlOf(scene, '/retrieve'), body)).body.memories),
    listed,
    by_ref: by_ref.sort(),
    by_offset: refsOf((await get('/memories?offset=1')).memories)
      .concat(listed[0] ?? [])
      .sort(),
    audit: refsOf((await get('/audit')).memories),
    exported: refsOf(lines.map((line) => JSON.parse(line))),
  }
}

function assertSeen(seen: Record<string, number[]>, refs: readonly number[]): void {
  for (const [path, found] of Object.entries(seen))
    assert.deepEqual(found, [...refs].sort(), `seen by ${path}`)
}

const run = async ({ service: { kernel } }: Scene): Promise<number> => {
  const begun = await runDueRetention(kernel)
  await kernel.jobs.idle()
  return begun
}

test('an expired memory is hidden at once from every read, then erased', async () => {
  const clock = movedClock()
  const scene = await openScene({ clock })
  try {
    const before = new Date(Math.floor(clock.now() / 1_000)).toISOString()
    const kept = await scene.write('a parking permit for ever')
    const short = await scene.write('a parking permit for an hour', { ttl_s: 3_600 })
    const expires_at = new Date(Math.floor(clock.now() / 1_000) + 7_200_000).toISOString()
    // memory.write_batch
    const items = [{ content: 'a parking permit for two hours', expires_at }]
    const [dated] = (await scene.api('POST', urlOf(scene, '/write_batch'), { items })).body.refs
    const all = [kept, short, dated]
    assertSeen(await refsSeen(scene), all)
    const shown = (await scene.api('GET', urlOf(scene, `/memories/${dated}`))).body
    assert.equal(shown.expires_at, expires_at.replace('Z', '000Z'))
    const known_at = new Date(Math.floor(clock.now() / 1_000) + 1).toISOString()
    assert.equal(await run(scene), 0)

    clock.forward(3_600 * SECOND_US)
    assertSeen(await refsSeen(scene), [kept, dated])
    for (const past of [{ as_of: known_at }, { known_at }])
      assert.deepEqual((await refsSeen(scene, past))['retrieve'], [kept, dated])
    assert.ok(before < known_at)
    const counted = (await scene.api('GET', urlOf(scene, '/stats'))).body
    assert.deepEqual([counted.facts, counted.current, counted.never_retrieved], [2, 2, 0])
    const again = await scene.api('POST', urlOf(scene, '/write'), {
      content: 'a parking permit for an hour',
    })
    assert.equal(again.body.duplicate_of, null, 'an expired memory is nobody’s duplicate')
    assert.equal((await scene.api('GET', urlOf(scene, '/retention'))).body.expired, 1)

    assert.equal(await run(scene), 1)
    const certificate = (await scene.api('GET', `/v1/erasure/fact/${short}`)).body
    assert.deepEqual([certificate.legal_basis, certificate.requested_by], [BASIS, 'policy'])
    assert.equal(certificate.verified, true)
    assert.equal((await scene.api('GET', urlOf(scene, '/retention'))).body.expired, 0)
    assert.equal(await run(scene), 0)
    clock.forward(3_600 * SECOND_US)
    assert.equal(await run(scene), 1)
    assertSeen(await refsSeen(scene), [kept, again.body.ref])
  } finally {
    await scene.stop()
  }
})

test('a hold stops the erasure of what has expired, and hides it all the same', async () => {
  const clock = movedClock()
  const scene = await openScene({ clock })
  try {
    const ref = await scene.write('a parking permit', { ttl_s: 60 })
    const hold = await scene.api('POST', urlOf(scene, '/holds'), { reason: 'matter' })
    clock.forward(60 * SECOND_US)
    assert.equal(await run(scene), 0)
    assertSeen(await refsSeen(scene), [])
    assert.equal((await scene.api('GET', urlOf(scene, '/retention'))).body.expired, 1)
    assert.equal((await scene.issue(ref)).body.error, 'legal_hold')
    // Who asks what is stored about them still learns of it.
    const found = await scene.api('POST', '/v1/erasure/subject/access', {
      find: { text: 'parking permit' },
    })
    assert.ok(found.text.includes('a parking permit'), found.text)
    const path = urlOf(scene, `/holds/${hold.body.hold_id}`)
    assert.equal((await scene.api('DELETE', path)).status, 200)
    assert.equal(await run(scene), 1)
    assert.equal((await scene.api('GET', `/v1/erasure/fact/${ref}`)).body.legal_basis, BASIS)
  } finally {
    await scene.stop()
  }
})

test('a hold placed during a run stops it after the batch under way', async () => {
  const clock = movedClock()
  let hold: (() => Promise<void>) | null = null
  const scene = await openScene({
    clock,
    step: async (name) => {
      if (name !== 'retention:erased') return
      await hold?.()
      hold = null
    },
  })
  try {
    const items = Array.from({ length: 250 }, (_, i) => ({ content: `permit ${i}`, ttl_s: 60 }))
    await scene.api('POST', urlOf(scene, '/write_batch'), { items })
    clock.forward(60 * SECOND_US)
    let placing: Promise<unknown> | undefined
    hold = async () => {
      placing = scene.api('POST', urlOf(scene, '/holds'), { reason: 'stop' })
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
    assert.equal(await run(scene), 1)
    await placing
    assert.equal((await scene.api('GET', urlOf(scene, '/retention'))).body.expired, 50)
    assert.equal((await scene.api('GET', '/v1/erasure/stats')).body.erased, 200)
  } finally {
    await scene.stop()
  }
})

test('each version has an expiry of its own, or none', async () => {
  const clock = movedClock()
  const scene = await openScene({ clock })
  try {
    const first = await scene.write('permit one', { ttl_s: 60 })
    const second = await scene.supersede(first, 'permit two')
    const send = (body: object) => scene.api('POST', urlOf(scene, '/supersede'), body)
    const third = (await send({ old_ref: second, content: 'permit three', ttl_s: 120 })).body.ref
    const seen = async () =>
      (await scene.api('GET', urlOf(scene, '/memories'))).body.memories.map(
        (memory: ExpiringMemory) => {
          return [memory.ref, memory.expires_at !== null]
        },
      )
    assert.deepEqual(await seen(), [
      [first, true],
      [second, false],
      [third, true],
    ])
    clock.forward(60 * SECOND_US)
    assert.deepEqual(await seen(), [
      [second, false],
      [third, true],
    ])
    clock.forward(60 * SECOND_US)
    const late = (await send({ old_ref: third, content: 'permit four' })).body
    assert.equal(late.warning, 'unknown_ref', 'an expired memory cannot be superseded')
    assert.equal(await run(scene), 1)
    const current = (await scene.api('GET', urlOf(scene, `/memories/${second}`))).body
    assert.deepEqual([current.superseded_by, current.valid_until], [null, null])
  } finally {
    await scene.stop()
  }
})

test('two expiries, one in the past and one out of bounds are refused', async () => {
  const scene = await openScene()
  try {
    const ref = await scene.write('a permit')
    const at = (ms: number) => new Date(Date.now() + ms).toISOString()
    const refused: object[] = [
      { expires_at: at(60_000), ttl_s: 60 },
      { expires_at: at(-1_000) },
      { expires_at: '2020-01-01T00:00:00Z' },
      { expires_at: '2999-01-01' },
      ...[0, -1, 1.5, '60', limits.ttl_s.max + 1].map((ttl_s) => ({ ttl_s })),
    ]
    for (const expiry of refused) {
      const memory = { content: 'x', ...expiry }
      const bodies: [string, unknown][] = [
        ['/write', memory],
        ['/write', { content: 'x', options: expiry }],
        ['/write_batch', { items: [{ content: 'fine' }, memory] }],
        ['/supersede', { old_ref: ref, ...memory }],
      ]
      for (const [path, body] of bodies) {
        const answer = await scene.api('POST', urlOf(scene, path), body)
        assert.equal(answer.status, 422, `${path} ${JSON.stringify(body)}`)
      }
      const line = JSON.stringify(memory)
      const imported = await importInto(scene, scene.store_id, line)
      assert.deepEqual([imported.status, imported.body.line], [422, 1], line)
    }
    const later = at(120_000)
    const pairs: object[] = [
      { ttl_s: 60, options: { expires_at: at(60_000) } },
      { ttl_s: 60, options: { ttl_s: 61 } },
      { expires_at: at(60_000), options: { expires_at: later } },
    ]
    for (const pair of pairs) {
      const body = { content: 'x', ...pair }
      const bodies = { '/write': body, '/supersede': { old_ref: ref, ...body } }
      for (const [path, both] of Object.entries(bodies))
        assert.equal((await scene.api('POST', urlOf(scene, path), both)).status, 422, path)
    }
    const { detail } = (
      await scene.api('POST', urlOf(scene, '/write'), { content: 'x', ...pairs[1] })
    ).body
    assert.deepEqual(detail[0].loc, ['body', 'ttl_s'])
    assert.match(detail[0].msg, /differs from `options.ttl_s`/)
    // The same time in two spellings is one expiry.
    const expires_at = later.replace('Z', '+00:00')
    const agree = { content: 'w', expires_at, options: { expires_at: later } }
    assert.equal((await scene.api('POST', urlOf(scene, '/write'), agree)).status, 200)
    for (const ttl_s of [limits.ttl_s.min, limits.ttl_s.max]) await scene.write('y', { ttl_s })
    await scene.write('z', { ttl_s: null, expires_at: null })
    assert.equal((await scene.api('GET', urlOf(scene, '/stats'))).body.facts, 5)
  } finally {
    await scene.stop()
  }
})

test('a memory that would expire before it begins is refused, and the field is named', async () => {
  const scene = await openScene()
  try {
    const ref = await scene.write('a permit')
    const at = (ms: number) => new Date(Date.now() + ms).toISOString()
    const expires_at = at(60_000)
    const refused: [string, object][] = [
      ['expires_at', { expires_at, valid_from: expires_at }],
      ['expires_at', { expires_at, valid_from: at(120_000) }],
      ['ttl_s', { ttl_s: 60, valid_from: at(120_000) }],
    ]
    for (const [field, times] of refused) {
      const memory = { content: 'x', ...times }
      const bodies: [string, string[], object][] = [
        ['/write', ['body'], memory],
        ['/write', ['body'], { content: 'x', options: times }],
        ['/write_batch', ['body', 'items', '1'], { items: [{ content: 'fine' }, memory] }],
        ['/supersede', ['body'], { old_ref: ref, ...memory }],
      ]
      for (const [path, loc, body] of bodies) {
        const answer = await scene.api('POST', urlOf(scene, path), body)
        const [problem] = answer.body.detail
        assert.deepEqual([answer.status, problem.loc.map(String)], [422, [...loc, field]], path)
        assert.equal(problem.msg, `${field} ends the memory before valid_from`)
      }
      const lines = [{ content: 'fine' }, memory].map((line) => JSON.stringify(line)).join('\n')
      const imported = await importInto(scene, scene.store_id, lines)
      assert.deepEqual([imported.status, imported.body.line], [422, 2], imported.text)
      assert.match(imported.text, new RegExp(`line 2: ${field} ends the memory`))
    }
    await scene.write('y', { expires_at: at(120_000), valid_from: at(60_000) })
    assert.equal((await scene.api('GET', urlOf(scene, '/memories'))).body.count, 2)
  } finally {
    await scene.stop()
  }
})

test('an expiry outlives a restart, and an export and an import', async () => {
  const clock = movedClock()
  const first = await openScene({ clock })
  await first.write('a parking permit', { ttl_s: 600 })
  const exported = (await first.api('GET', urlOf(first, '/export'))).text
  await first.stop({ keep: true })
  const { data_dir } = first.service
  const scene = await openScene({ clock, data_dir }, first)
  try {
    const { store_id } = (await scene.api('POST', '/v1/stores', {})).body
    const moved = await importInto(scene, store_id, exported)
    assert.equal(moved.body.imported, 1, moved.text)
    const copy = { ...scene, store_id }
    const shown = async (at: Scene): Promise<ExpiringMemory[]> =>
      (await at.api('GET', urlOf(at, '/memories'))).body.memories
    assert.equal((await shown(copy))[0]?.expires_at, (await shown(scene))[0]?.expires_at)
    clock.forward(600 * SECOND_US)
    for (const at of [scene, copy]) assert.deepEqual(await shown(at), [])
    assert.equal(await run(scene), 2)
    assert.equal((await scene.api('GET', '/v1/erasure/stats')).body.erased, 2)
  } finally {
    await scene.stop()
  }
})

test('to a namespace token memory.delete knows no memory that has expired', async () => {
  const clock = movedClock()
  const scene = await openScene({ clock })
  try {
    const [plain, held] = [
      await scene.write('a parking permit', { ttl_s: 60, namespace: 'own' }),
      await scene.write('a second permit', { ttl_s: 60, namespace: 'own' }),
    ]
    const made = await scene.api('POST', '/v1/keys/tokens', {
      store_id: scene.store_id,
      namespace: 'own',
      scopes: ['memory:read', 'memory:write'],
    })
    const remove = (ref: number, key: string = made.body.token) =>
      scene.service.request('POST', urlOf(scene, '/delete'), { key, body: { ref } })
    clock.forward(60 * SECOND_US)
    assert.deepEqual((await remove(plain)).body, { deleted: false, ref: plain })
    await scene.api('POST', urlOf(scene, '/holds'), { reason: 'matter' })
    const [hidden, unknown] = [await remove(held), await remove(12_345)]
    assert.deepEqual([hidden.status, hidden.body], [unknown.status, { deleted: false, ref: held }])
    // Who may place the hold is told of it.
    assert.equal((await remove(held, scene.api_key)).body.error, 'legal_hold')
    assert.equal((await scene.api('GET', urlOf(scene, '/retention'))).body.expired, 2)
  } finally {
    await scene.stop()
  }
})

test('an explanation counts no memory that has expired', async () => {
  const clock = movedClock()
  const scene = await openScene({ clock })
  try {
    await scene.write('a parking permit')
    const explain = async () => {
      const body = { query: 'secretword permit', explain: true }
      return (await scene.api('POST', urlOf(scene, '/retrieve'), body)).body.explain
    }
    const before = await explain()
    await scene.write('a permit with a secretword', { ttl_s: 60 })
    const [term] = (await explain()).query.terms
    assert.deepEqual([term.term, term.memories], ['secretword', 1])
    clock.forward(60 * SECOND_US)
    assert.deepEqual(await explain(), before)
  } finally {
    await scene.stop()
  }
})

test('a retried write of what has expired says so, without its hash', async () => {
  const clock = movedClock()
  const scene = await openScene({ clock })
  try {
    const body = { content: 'a parking permit', ttl_s: 60 }
    const write = async () =>
      (await scene.api('POST', urlOf(scene, '/write'), body, { 'idempotency-key': 'one' })).body
    const { ref, content_hash, status } = await write()
    assert.deepEqual([typeof content_hash, status], ['string', 'stored'])
    clock.forward(60 * SECOND_US)
    const again = await write()
    assert.deepEqual([again.ref, again.content_hash, again.status], [ref, null, 'expired'])
    assert.equal((await scene.issue(ref)).status, 200)
    assert.equal((await write()).status, 'erased')
  } finally {
    await scene.stop()
  }
})

test('a digest of a session is hidden and erased with the first source that expires', async () => {
  const clock = movedClock()
  const scene = await openScene({ clock })
  try {
    const { store_id } = (await scene.api('POST', '/v1/stores', { digest_after_s: 60 })).body
    const own = { ...scene, store_id }
    const metadata = { session_id: 's1', speaker: 'Ana' }
    const items = Array.from({ length: 8 }, (_, i) => ({
      content: `The permit for parking place ${i} was renewed in the town hall by Dora.`,
      options: { metadata, ...(i === 0 && { ttl_s: 600 }) },
    }))
    const { refs } = (await scene.api('POST', urlOf(own, '/write_batch'), { items })).body
    clock.forward(60 * SECOND_US)
    assert.equal(await makeDueDigests(scene.service.kernel), 1)
    const listed = async (): Promise<number[]> =>
      (await scene.api('GET', urlOf(own, '/memories'))).body.memories.map(
        ({ ref }: ExpiringMemory) => ref,
      )
    const [digest] = (await listed()).filter((ref) => !refs.includes(ref))
    assert.ok(digest !== undefined)
    clock.forward(540 * SECOND_US)
    assert.deepEqual(await listed(), refs.slice(1))
    assert.equal(await run(scene), 1)
    for (const ref of [digest, refs[0]])
      assert.equal((await scene.api('GET', `/v1/erasure/fact/${ref}`)).body.legal_basis, BASIS)
    assert.equal(await makeDueDigests(scene.service.kernel), 1, 'of those that are left')
  } finally {
    await scene.stop()
  }
})
