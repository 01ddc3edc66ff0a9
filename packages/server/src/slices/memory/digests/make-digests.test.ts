// Digests of sessions: memories that the service makes itself, and that go with what they tell of.

import assert from 'node:assert/strict'
import test from 'node:test'
import { limits, type Memory } from '@custos/contract'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'
import { movedClock } from '../../../testing/skewed-clock.ts'
import { makeDueDigests } from './make-digests.ts'

const SECOND_US = 1_000_000
const TALK = [
  'The marathon training in Lisbon went well.',
  'My coach says the marathon training needs two more weeks.',
  'I watched a film about cooking pasta with my cousin Dora.',
  'After the marathon training I always eat the same soup.',
  'The soup of my cousin has pasta and beans.',
  'The shoes for the marathon are too small.',
  'My neighbour plays the trumpet every morning before the sun is up.',
  'We should repaint the kitchen before the guests arrive in August.',
  'The old bicycle needs new brakes and somebody who has time for it.',
  'Her letter about the inheritance came on a Tuesday, without a stamp.',
]

type Clock = ReturnType<typeof movedClock>

interface DigestScene extends Scene {
  readonly clock: Clock
}

/** A store whose sessions rest for a minute before their digest. */
async function openDigestScene(
  step?: (name: string) => Promise<void>,
  settings: object = { digest_after_s: 60 },
): Promise<DigestScene> {
  const clock = movedClock()
  const first = await openScene({ clock, ...(step && { step }) })
  const { store_id } = (await first.api('POST', '/v1/stores', settings)).body
  const { api } = first
  const ok = async (verb: string, body: unknown) => {
    const answer = await api('POST', `/v1/stores/${store_id}/${verb}`, body)
    assert.ok(answer.status < 300, answer.text)
    return answer.body.ref
  }
  return {
    ...first,
    store_id,
    clock,
    write: (content, options = {}) => ok('write', { content, options }),
    supersede: (old_ref, content) =>
      ok('supersede', { old_ref, content, metadata: { session_id: 's1' } }),
  }
}

const path = ({ store_id }: Scene, rest: string) => `/v1/stores/${store_id}${rest}`

async function talk(scene: Scene, options: object = {}, session_id = 's1'): Promise<number[]> {
  const items = TALK.map((content, at) => {
    const metadata = { session_id, speaker: at % 2 === 0 ? 'Ana' : 'Ben', date: '2023-05-07' }
    return { content, options: { metadata, ...options } }
  })
  const answer = await scene.api('POST', path(scene, '/write_batch'), { items })
  assert.equal(answer.status, 200, answer.text)
  return answer.body.refs
}

/** Lets the sessions rest, and makes what is due. */
async function rest({ clock, service }: DigestScene): Promise<number> {
  clock.forward(61 * SECOND_US)
  return makeDueDigests(service.kernel)
}

const listAll = async (scene: Scene): Promise<Memory[]> =>
  (await scene.api('GET', path(scene, '/memories?limit=500'))).body.memories

const listDigests = async (scene: Scene): Promise<Memory[]> =>
  (await listAll(scene)).filter(({ digest }) => digest !== undefined)

async function findCurrent(scene: Scene, more: object = {}): Promise<Memory[]> {
  const body = { query: 'marathon training', budget_tokens: 100_000, ...more }
  const { memories } = (await scene.api('POST', path(scene, '/retrieve'), body)).body
  return memories.filter(({ digest }: Memory) => digest !== undefined)
}

test('memory.create_store with digest_after_s: a rested session gets one digest', async () => {
  const scene = await openDigestScene()
  try {
    const shown = (await scene.api('GET', path(scene, ''))).body
    assert.equal(shown.digest_after_s, 60)
    const refs = await talk(scene)
    await scene.write('A note outside of any session about marathon training.')
    assert.equal(await makeDueDigests(scene.service.kernel), 0, 'the session has not rested')
    assert.equal(await rest(scene), 1)
    assert.equal(await rest(scene), 0, 'nothing has changed')
    const [digest] = await findCurrent(scene)
    assert.deepEqual(digest?.digest, { session_id: 's1', sources: refs })
    assert.match(digest.content, /^2023-05-07 · Ana, Ben/)
    assert.match(digest.content, /marathon training/)
    assert.deepEqual(
      [digest.metadata, digest.source.principal],
      [{ date: '2023-05-07' }, 'service'],
    )
    const { memories } = (
      await scene.api('POST', path(scene, '/retrieve'), {
        query: 'marathon training',
        budget_tokens: digest.token_count - 1,
      })
    ).body
    assert.ok(
      memories.every(({ ref }: Memory) => ref !== digest.ref),
      'it counts as any memory',
    )
  } finally {
    await scene.stop()
  }
})

test('a store makes no digests unless it was created so', async () => {
  const scene = await openDigestScene(undefined, {})
  try {
    assert.equal((await scene.api('GET', path(scene, ''))).body.digest_after_s, null)
    await talk(scene)
    assert.equal(await rest(scene), 0)
    for (const digest_after_s of [0, 1.5, 2_592_001, '60']) {
      const { status } = await scene.api('POST', '/v1/stores', { digest_after_s })
      assert.equal(status, 422, String(digest_after_s))
    }
    for (const digest_after_s of Object.values(limits.digest_after_s))
      assert.equal((await scene.api('POST', '/v1/stores', { digest_after_s })).status, 200)
  } finally {
    await scene.stop()
  }
})

test('a digest tells of one namespace and one session', async () => {
  const scene = await openDigestScene()
  try {
    const own = await talk(scene)
    const others = await talk(scene, { namespace: 'other' })
    const second = await talk(scene, {}, 's2')
    assert.equal(await rest(scene), 3)
    const sources = (await listDigests(scene)).map(({ tenant_id, digest }) => [
      tenant_id.split('/')[1] ?? null,
      digest?.sources,
    ])
    assert.deepEqual(
      sources.toSorted(),
      [
        [null, own],
        ['other', others],
        [null, second],
      ].toSorted(),
    )
    assert.deepEqual((await findCurrent(scene, { namespace: 'other' })).length, 1)
  } finally {
    await scene.stop()
  }
})

test('erasing a source erases every digest made from it first, and another is made', async () => {
  const scene = await openDigestScene()
  try {
    const [source = 0, ...left] = await talk(scene)
    await rest(scene)
    const later = await scene.write('The marathon was cancelled because of training costs.', {
      metadata: { session_id: 's1', speaker: 'Ana' },
    })
    assert.equal(await rest(scene), 1)
    const before = await listDigests(scene)
    assert.deepEqual(
      before.map(({ superseded_by }) => superseded_by !== null),
      [true, false],
      'the next version of the digest of the session',
    )
    const issued = await scene.issue(source, { legal_basis: 'gdpr_art_17' })
    assert.equal(issued.status, 200, issued.text)
    assert.deepEqual(await listDigests(scene), [])
    for (const { ref } of before) {
      const certificate = (await scene.api('GET', `/v1/erasure/fact/${ref}`)).body
      assert.deepEqual([certificate.verified, certificate.legal_basis], [true, 'gdpr_art_17'])
    }
    assert.equal(await makeDueDigests(scene.service.kernel), 1, 'without waiting for rest')
    const [remade] = await findCurrent(scene)
    assert.deepEqual(remade?.digest?.sources, [...left, later])
    assert.ok(!remade.content.includes(TALK[0] ?? ''))
    // One that was erased by itself is not made again.
    await scene.issue(remade.ref)
    assert.equal(await rest(scene), 0)
  } finally {
    await scene.stop()
  }
})

test('superseding a source ends the digest at once; the next has the new version', async () => {
  const scene = await openDigestScene()
  try {
    const [source = 0] = await talk(scene)
    await rest(scene)
    const [old] = await findCurrent(scene)
    const fresh = await scene.supersede(source, 'The marathon training in Porto went well.')
    assert.deepEqual(await findCurrent(scene), [], 'nobody is told what no longer holds')
    assert.equal(await rest(scene), 1)
    const [digest] = await findCurrent(scene)
    const sources = digest?.digest?.sources ?? []
    assert.ok(digest && sources.includes(fresh))
    assert.ok(!sources.includes(source))
    assert.ok(!digest.content.includes('Lisbon'), digest.content)
    // The old version is in both: erased, it takes the old digest along.
    await scene.issue(source)
    assert.deepEqual(
      (await listDigests(scene)).map(({ ref }) => ref),
      [digest.ref],
    )
    assert.equal((await scene.api('GET', `/v1/erasure/fact/${old?.ref}`)).status, 200)
  } finally {
    await scene.stop()
  }
})

test('no caller makes or changes a digest, and an export leaves it out', async () => {
  const scene = await openDigestScene()
  try {
    const refs = await talk(scene)
    await rest(scene)
    const [digest] = await findCurrent(scene)
    assert.ok(digest)
    const forged = { content: 'x', digest: digest.digest }
    for (const verb of ['/write', '/supersede']) {
      const body = { old_ref: refs[0], ...forged }
      assert.equal((await scene.api('POST', path(scene, verb), body)).status, 422, verb)
    }
    const line = await scene.service.request('POST', path(scene, '/import'), {
      raw: JSON.stringify(digest),
      key: scene.api_key,
      headers: { 'content-type': 'application/x-ndjson' },
    })
    assert.equal(line.body.error, 'import_refused', line.text)
    const changed = await scene.api('POST', path(scene, '/supersede'), {
      old_ref: digest.ref,
      content: 'Nothing happened.',
    })
    assert.deepEqual([changed.status, changed.body.error], [422, 'rejected'], changed.text)
    const exported = (await scene.api('GET', path(scene, '/export'))).text
    const lines = exported.trim().split('\n').slice(1)
    assert.deepEqual(
      lines.map((one) => JSON.parse(one).ref),
      refs,
    )
  } finally {
    await scene.stop()
  }
})

test('a hold keeps a digest with its sources; deleting the store takes both', async () => {
  const scene = await openDigestScene()
  try {
    const [source = 0] = await talk(scene)
    await rest(scene)
    const hold = await scene.api('POST', path(scene, '/holds'), { reason: 'matter' })
    assert.equal((await scene.issue(source)).body.error, 'legal_hold')
    assert.equal((await findCurrent(scene)).length, 1)
    await scene.api('DELETE', path(scene, `/holds/${hold.body.hold_id}`), {})
    assert.equal((await scene.api('DELETE', path(scene, ''))).status, 202)
    await scene.service.kernel.jobs.idle()
    assert.equal((await scene.api('GET', path(scene, ''))).status, 404)
    assert.equal(await rest(scene), 0)
  } finally {
    await scene.stop()
  }
})

test('work that breaks off leaves no digest or one, never of what is being erased', async () => {
  let act: (() => Promise<void>) | null = null
  const scene = await openDigestScene(async (name) => {
    if (name !== 'digest:prepared') return
    const once = act
    act = null
    await once?.()
  })
  try {
    const [source = 0] = await talk(scene)
    act = () => Promise.reject(new Error('the process dies'))
    assert.equal(await rest(scene), 0)
    act = async () => {
      assert.equal((await scene.issue(source)).status, 200)
    }
    assert.equal(await makeDueDigests(scene.service.kernel), 0, 'one of its sources is gone')
    assert.deepEqual(await listDigests(scene), [])
    assert.equal(await makeDueDigests(scene.service.kernel), 1)
    assert.ok(!(await findCurrent(scene))[0]?.digest?.sources.includes(source))
  } finally {
    await scene.stop()
  }
})

test('an erasure that fails after that of the digest shows the memory again', async () => {
  let fails = false
  let rounds = 0
  const scene = await openDigestScene(async (name) => {
    if (name !== 'erasure:planned' || !fails) return
    rounds += 1
    if (rounds === 2) throw new Error('the plan of the memory fails')
  })
  try {
    const [source = 0] = await talk(scene)
    await rest(scene)
    fails = true
    assert.equal((await scene.issue(source)).status, 500)
    fails = false
    assert.deepEqual(await listDigests(scene), [])
    assert.equal((await scene.api('GET', path(scene, `/memories/${source}`))).status, 200)
    assert.equal((await scene.issue(source)).status, 200)
    assert.equal((await scene.api('GET', path(scene, `/memories/${source}`))).status, 404)
  } finally {
    await scene.stop()
  }
})

test('a key of a namespace erases its memory and the digest of it, and sees no other', async () => {
  const scene = await openDigestScene()
  try {
    const [source = 0] = await talk(scene, { namespace: 'own' })
    await talk(scene)
    await rest(scene)
    const { token } = (
      await scene.api('POST', '/v1/keys/tokens', {
        store_id: scene.store_id,
        namespace: 'own',
        scopes: ['memory:read', 'memory:write'],
      })
    ).body
    const ask = (method: string, rest: string, body?: object) =>
      scene.service.request(method, path(scene, rest), { key: token, ...(body && { body }) })
    const seen = async (): Promise<Memory[]> =>
      (await ask('GET', '/memories')).body.memories.filter((one: Memory) => one.digest)
    assert.equal((await seen()).length, 1)
    assert.equal((await ask('POST', '/delete', { ref: source })).body.deleted, true)
    assert.deepEqual(await seen(), [])
    assert.equal((await listDigests(scene)).length, 1, 'that of the root is as it was')
  } finally {
    await scene.stop()
  }
})
