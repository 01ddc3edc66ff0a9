// 'erasure.issue': what a certificate says of paths that had nothing to show in the first place.

import assert from 'node:assert/strict'
import test, { after, before, mock } from 'node:test'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'
import { keyGoneHere } from '../../testing/test-data.ts'

let scene: Scene

before(async () => {
  scene = await openScene()
})
after(() => scene.stop())

interface Signed {
  readonly outcome: string
  readonly coverage: Readonly<Record<string, string>>
  readonly verification: { readonly paths: readonly { path: string; result: string }[] }
}

const LISTS = ['memory.audit', 'memory.export', 'memory.memories']

const pathsSaying = ({ verification }: Signed, word: string): string[] =>
  verification.paths
    .filter(({ result }) => result === word)
    .map(({ path }) => path)
    .sort()

test('an erased memory was looked for on every path, and none is left out', async () => {
  const { body } = await scene.issue(await scene.write('Urs Odermatt moved away'))
  assert.equal(body.outcome, 'erased')
  for (const word of ['not_applicable', 'unused']) assert.deepEqual(pathsSaying(body, word), [])
  assert.equal(body.coverage.keyring, keyGoneHere())
})

test('the lists of no store are not_applicable for a number that only decisions name', async () => {
  const label = 700_001
  await scene.decide({ query: 'q', output: 'o', retrieved_refs: [label] })
  const { body } = await scene.issue(label)
  assert.equal(body.outcome, 'already_absent')
  assert.deepEqual(pathsSaying(body, 'not_applicable'), LISTS)
  assert.deepEqual(pathsSaying(body, 'unused'), [])
  assert.equal(body.coverage.keyring, 'absent')
})

test('a secret made ahead for a number that nothing names is unused, not present', async () => {
  const ahead = (await scene.write('the last one written')) + 20
  const { body } = await scene.issue(ahead)
  assert.equal(body.outcome, 'nothing_found')
  assert.deepEqual(pathsSaying(body, 'unused'), ['keyring'])
  assert.equal(body.coverage.keyring, 'unused')
  assert.deepEqual(pathsSaying(body, 'not_applicable'), LISTS)
  const beyond = await scene.issue(700_002)
  assert.equal(beyond.body.outcome, 'nothing_found')
  assert.equal(beyond.body.coverage.keyring, 'absent')
})

test('a secret left of an erased memory is no unused one: nothing is certified', async () => {
  let left = () => {}
  const watched = await openScene({
    step: (name) => (name === 'erasure:caches_dropped' ? left() : undefined),
  })
  try {
    const { keyring } = watched.service.kernel
    const ref = await watched.write('Vreni Abt is on sick leave')
    const secrets = mock.method(keyring, 'secrets')
    left = () => secrets.mock.mockImplementation(async () => new Map([[ref, Buffer.alloc(32, 1)]]))
    assert.equal((await watched.issue(ref)).status, 500)
    assert.equal((await watched.api('GET', `/v1/erasure/fact/${ref}`)).status, 404)
    left = () => {}
    secrets.mock.restore()
    const { body } = await watched.issue(ref)
    assert.equal(body.coverage.keyring, keyGoneHere())
  } finally {
    await watched.stop()
  }
})
