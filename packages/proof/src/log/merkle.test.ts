// The tree: published proofs good and broken, and every size from 1 to 300.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { fromBase64, fromHex, toHex } from '../core/encoding.ts'
import { ProofError } from '../core/errors.ts'
import { findPublicVectors, numberedTree, readJson } from '../testing/fixtures.ts'
import {
  appendLeaf,
  decodeFrontier,
  EMPTY_FRONTIER,
  emptyRoot,
  encodeFrontier,
  type Frontier,
  frontierRoot,
  leafHash,
  nodeHash,
} from './merkle.ts'
import {
  consistencyPath,
  inclusionPath,
  rootAt,
  verifyConsistency,
  verifyInclusion,
} from './merkle-path.ts'

const nodeAt = numberedTree()
const SIZE_MAX = 300

// Grown once: frontiers[n] is the log after n leaves, and the nodes it reported on the way.
const completed = new Map<string, Uint8Array>()
const frontiers: Frontier[] = [EMPTY_FRONTIER]
for (let i = 0; i < SIZE_MAX; i++) {
  const onNode = (height: number, index: number, hash: Uint8Array) => {
    completed.set(`${height}/${index}`, hash)
  }
  frontiers.push(appendLeaf(frontiers[i] ?? EMPTY_FRONTIER, nodeAt(0, i), { onNode }))
}
const rootOf = (size: number) => frontierRoot(frontiers[size] ?? EMPTY_FRONTIER)

type InclusionVector = {
  leafIdx: number
  treeSize: number
  root: string
  leafHash: string
  proof: string[] | null
  wantErr: boolean
}
type ConsistencyVector = {
  size1: number
  size2: number
  root1: string
  root2: string
  proof: string[] | null
  wantErr: boolean
}

function readAll<T>(folder: string): { name: string; vector: T }[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.json'))
    .map((name) => ({ name, vector: readJson<T>(join(folder, name)) }))
}

test('all 98 published inclusion proofs are judged as published', (t) => {
  const folder = findPublicVectors('rfc6962-merkle')
  if (folder === null) return t.diagnostic('no public vectors beside the project')
  const vectors = readAll<InclusionVector>(join(folder, 'inclusion'))
  for (const { name, vector } of vectors) {
    const ok = verifyInclusion({
      leafHash: fromBase64(vector.leafHash ?? ''),
      index: vector.leafIdx,
      size: vector.treeSize,
      path: (vector.proof ?? []).map(fromBase64),
      root: fromBase64(vector.root ?? ''),
    })
    assert.equal(ok, !vector.wantErr, name)
  }
  assert.equal(vectors.length, 98)
})

test('all 98 published consistency proofs are judged as published', (t) => {
  const folder = findPublicVectors('rfc6962-merkle')
  if (folder === null) return t.diagnostic('no public vectors beside the project')
  const vectors = readAll<ConsistencyVector>(join(folder, 'consistency'))
  for (const { name, vector } of vectors) {
    const ok = verifyConsistency({
      from: vector.size1,
      fromRoot: fromBase64(vector.root1 ?? ''),
      to: vector.size2,
      toRoot: fromBase64(vector.root2 ?? ''),
      path: (vector.proof ?? []).map(fromBase64),
    })
    assert.equal(ok, !vector.wantErr, name)
  }
  assert.equal(vectors.length, 98)
})

test('the growing log, the stored subtrees and the definition agree on every root', async () => {
  for (let size = 0; size <= SIZE_MAX; size++) {
    assert.deepEqual(await rootAt(size, nodeAt), rootOf(size), String(size))
    assert.deepEqual(rootOf(size), definitionRoot(0, size), String(size))
  }
  for (const [place, hash] of completed) {
    const [height = 0, index = 0] = place.split('/').map(Number)
    assert.deepEqual(hash, nodeAt(height, index), place)
  }
})

// RFC 6962 2.1 to the letter.
function definitionRoot(begin: number, end: number): Uint8Array {
  if (begin === end) return emptyRoot()
  if (end - begin === 1) return nodeAt(0, begin)
  let split = 1
  while (split * 2 < end - begin) split *= 2
  return nodeHash(definitionRoot(begin, begin + split), definitionRoot(begin + split, end))
}

test('an inclusion path proves its leaf in every size, and no other leaf or root', async () => {
  for (let size = 1; size <= SIZE_MAX; size++) {
    const sampled = [0, size - 1, size >> 1, (size * 7) % size, (size * 31 + 17) % size]
    for (const index of new Set(sampled)) {
      const path = await inclusionPath(index, size, nodeAt)
      const claim = { leafHash: nodeAt(0, index), index, size, path, root: rootOf(size) }
      assert.ok(verifyInclusion(claim), `${index} in ${size}`)
      assert.ok(!verifyInclusion({ ...claim, index: index + 1 }))
      assert.ok(!verifyInclusion({ ...claim, leafHash: nodeAt(0, SIZE_MAX + index) }))
      assert.ok(!verifyInclusion({ ...claim, root: rootOf(size - 1) }))
      assert.ok(!verifyInclusion({ ...claim, path: [...path, emptyRoot()] }))
      if (size > 1) assert.ok(!verifyInclusion({ ...claim, path: path.slice(1) }))
    }
  }
})

test('a consistency path joins any two sizes, and no other root', async () => {
  for (let to = 1; to <= SIZE_MAX; to++) {
    const sampled = [1, to, to - 1, to >> 1, 2 ** Math.floor(Math.log2(to)), (to * 17) % to]
    for (const from of new Set(sampled.filter((size) => size > 0))) {
      const path = await consistencyPath(from, to, nodeAt)
      const claim = { from, fromRoot: rootOf(from), to, toRoot: rootOf(to), path }
      assert.ok(verifyConsistency(claim), `${from} to ${to}`)
      assert.ok(!verifyConsistency({ ...claim, toRoot: nodeAt(0, SIZE_MAX + 1) }))
      assert.ok(!verifyConsistency({ ...claim, fromRoot: nodeAt(0, SIZE_MAX) }))
      assert.ok(!verifyConsistency({ ...claim, path: [...path, emptyRoot()] }))
    }
  }
})

test('a proof from the empty tree shows nothing and is false', async () => {
  const path = await consistencyPath(0, 5, nodeAt)
  const claim = { from: 0, fromRoot: emptyRoot(), to: 5, toRoot: rootOf(5), path }
  assert.deepEqual(path, [])
  assert.ok(!verifyConsistency(claim))
})

test('a changed hash anywhere in a path is noticed', async () => {
  const sizes = fc.integer({ min: 2, max: SIZE_MAX })
  const choice = fc.tuple(sizes, fc.nat(), fc.nat(), fc.nat(255))
  await fc.assert(
    fc.asyncProperty(choice, async ([size, seed, at, bit]) => {
      const index = seed % size
      const path = await inclusionPath(index, size, nodeAt)
      const changed = path.map((hash, i) => (i === at % path.length ? flip(hash, bit) : hash))
      const claim = { leafHash: nodeAt(0, index), index, size, root: rootOf(size) }
      assert.ok(!verifyInclusion({ ...claim, path: changed }))
    }),
  )
})

function flip(hash: Uint8Array, bit: number): Uint8Array {
  const copy = hash.slice()
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return copy
}

test('sizes beyond 32 bits are counted exactly', async () => {
  // All perfect subtrees of one height share a hash here, so a huge tree costs nothing.
  const perfect = [leafHash(new Uint8Array(1))]
  for (let h = 1; h < 53; h++) perfect.push(twice(perfect[h - 1]))
  const sameAt = (height: number) => perfect[height] ?? assert.fail('no such height')
  const [size, older] = [2 ** 52 + 2 ** 33 + 5, 2 ** 40 + 1]
  const root = await rootAt(size, sameAt)
  for (const index of [0, 2 ** 33, 2 ** 52 + 1, size - 1]) {
    const path = await inclusionPath(index, size, sameAt)
    assert.ok(verifyInclusion({ leafHash: sameAt(0), index, size, path, root }))
    assert.ok(!verifyInclusion({ leafHash: sameAt(0), index: size, size, path, root }))
  }
  const path = await consistencyPath(older, size, sameAt)
  const fromRoot = await rootAt(older, sameAt)
  assert.ok(verifyConsistency({ from: older, fromRoot, to: size, toRoot: root, path }))
})

function twice(hash: Uint8Array | undefined): Uint8Array {
  return hash === undefined ? assert.fail('no hash') : nodeHash(hash, hash)
}

test('a frontier comes back from its bytes, and from no other number of bytes', () => {
  for (const frontier of frontiers) {
    const bytes = encodeFrontier(frontier)
    assert.deepEqual(decodeFrontier(bytes), frontier)
    assert.throws(() => decodeFrontier(bytes.slice(1)), ProofError)
    assert.throws(
      () => decodeFrontier(new Uint8Array([...bytes, ...new Uint8Array(32)])),
      ProofError,
    )
  }
  assert.throws(() => decodeFrontier(fromHex('ff'.repeat(8))), ProofError)
})

test('appending leaves the frontier it started from as it was', () => {
  const before = frontiers[7] ?? assert.fail()
  const bytes = encodeFrontier(before)
  appendLeaf(before, nodeAt(0, 7))
  assert.deepEqual(encodeFrontier(before), bytes)
})

test('a native hash gives the same tree', async () => {
  const hash = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest()
  let frontier = EMPTY_FRONTIER
  for (let i = 0; i < 21; i++) frontier = appendLeaf(frontier, nodeAt(0, i), { hash })
  assert.equal(toHex(frontierRoot(frontier, hash)), toHex(rootOf(21)))
  assert.equal(toHex(emptyRoot(hash)), toHex(emptyRoot()))
})

test('a path asked for outside the tree is refused', async () => {
  await assert.rejects(inclusionPath(3, 3, nodeAt), ProofError)
  await assert.rejects(inclusionPath(-1, 3, nodeAt), ProofError)
  await assert.rejects(inclusionPath(0.5, 3, nodeAt), ProofError)
  await assert.rejects(consistencyPath(4, 3, nodeAt), ProofError)
  assert.throws(() => rootAt(2 ** 53, nodeAt), ProofError)
})

test('a claim out of form is false', () => {
  const [leaf, root] = [nodeAt(0, 0), rootOf(1)]
  const claim = { leafHash: leaf, index: 0, size: 1, path: [], root }
  assert.ok(verifyInclusion(claim))
  for (const odd of [-1, 0.5, Number.NaN, 2 ** 53]) {
    assert.ok(!verifyInclusion({ ...claim, index: odd }))
    assert.ok(!verifyInclusion({ ...claim, size: odd }))
    assert.ok(!verifyConsistency({ from: odd, fromRoot: root, to: 1, toRoot: root, path: [] }))
  }
  assert.ok(!verifyInclusion({ ...claim, leafHash: new Uint8Array(0), root: new Uint8Array(0) }))
})
