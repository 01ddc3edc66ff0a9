// Breadcrumb ids, links and numbers, against this project's vectors.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toHex } from '../core/encoding.ts'
import { buildLog, readVector, withFields } from '../testing/fixtures.ts'
import {
  type Breadcrumb,
  breadcrumbId,
  breadcrumbLeaf,
  isBreadcrumb,
  verifyBreadcrumbs,
} from './breadcrumb.ts'
import { appendLeaf, EMPTY_FRONTIER, frontierRoot, leafHash } from './merkle.ts'

type Vectors = {
  breadcrumbs: Breadcrumb[]
  leaf_data: string[]
  roots: string[]
  negative: { mutation: string; at: number; set: object; index: number; reason: string }[]
}
const vectors = readVector<Vectors>('breadcrumb.json')

test('leaf data, ids and roots come out as in the vectors', () => {
  let frontier = EMPTY_FRONTIER
  assert.equal(toHex(frontierRoot(frontier)), vectors.roots[0])
  for (const [i, crumb] of vectors.breadcrumbs.entries()) {
    const leaf = breadcrumbLeaf(crumb)
    const expected = vectors.leaf_data[i]
    if (expected !== undefined) assert.equal(new TextDecoder().decode(leaf), expected)
    assert.equal(breadcrumbId(crumb), crumb.breadcrumb_id)
    frontier = appendLeaf(frontier, leafHash(leaf))
    assert.equal(toHex(frontierRoot(frontier)), vectors.roots[i + 1])
  }
  assert.deepEqual(verifyBreadcrumbs(vectors.breadcrumbs), { ok: true, count: 4 })
})

for (const { mutation, at, set, index, reason } of vectors.negative) {
  test(`a log with ${mutation} fails at ${index}: ${reason}`, () => {
    const list = vectors.breadcrumbs.map((crumb, i) => (i === at ? withFields(crumb, set) : crumb))
    assert.deepEqual(verifyBreadcrumbs(list), { ok: false, index, reason })
  })
}

test('an entry removed, repeated or moved is noticed', () => {
  const log = buildLog(6)
  const without = log.toSpliced(2, 1)
  assert.deepEqual(verifyBreadcrumbs(without), { ok: false, index: 2, reason: 'seq_gap' })
  const repeated = log.toSpliced(2, 0, ...log.slice(2, 3))
  assert.deepEqual(verifyBreadcrumbs(repeated), { ok: false, index: 3, reason: 'seq_gap' })
  assert.equal(verifyBreadcrumbs(log.toReversed()).ok, false)
})

test('a run may start anywhere, and is joined to what came before when that is given', () => {
  const log = buildLog(6)
  const [before, other] = [log[2], log[1]]
  assert.ok(before && other)
  assert.deepEqual(verifyBreadcrumbs(log.slice(3)), { ok: true, count: 3 })
  assert.deepEqual(verifyBreadcrumbs(log.slice(3), { after: before }), { ok: true, count: 3 })
  const wrong = { ...before, breadcrumb_id: other.breadcrumb_id }
  const verdict = verifyBreadcrumbs(log.slice(3), { after: wrong })
  assert.deepEqual(verdict, { ok: false, index: 0, reason: 'prev_id_mismatch' })
})

test('a breadcrumb is exactly its eight fields', () => {
  const [crumb] = buildLog(1)
  assert.ok(crumb && isBreadcrumb(crumb))
  for (const field of Object.keys(crumb)) {
    assert.ok(!isBreadcrumb(withFields(crumb, { [field]: undefined })), field)
  }
  assert.ok(!isBreadcrumb({ ...crumb, payload_hash: '' }))
  for (const odd of [null, undefined, 'x', [], 1]) assert.ok(!isBreadcrumb(odd))
})

test('a payload that has no canonical form has no right id', () => {
  const [crumb] = buildLog(1)
  const odd = withFields(crumb ?? {}, { payload: { note: '\ud800' } })
  assert.deepEqual(verifyBreadcrumbs([odd]), { ok: false, index: 0, reason: 'id_mismatch' })
})
