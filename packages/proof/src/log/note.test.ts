// Checkpoints as signed notes, against this project's vectors.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromHex, toHex, utf8 } from '../core/encoding.ts'
import { ProofError } from '../core/errors.ts'
import { readVector, seededKey } from '../testing/fixtures.ts'
import {
  assembleNote,
  formatCheckpointBody,
  parseCheckpoint,
  parseNote,
  verifyCheckpoint,
} from './note.ts'
import { noteKeyHash, verifierKey } from './verifier-key.ts'

type Vectors = {
  public_key: string
  origin: string
  key_hash: string
  verifier_key: string
  epochs: { tree_size: number; root_hash: string; checkpoint: string }[]
  negative_checkpoints: { mutation: string; checkpoint: string; reason: string }[]
}
const vectors = readVector<Vectors>('checkpoint.json')
const { origin } = vectors
const publicKey = fromHex(vectors.public_key)
const key = seededKey(0x33)

test('a checkpoint is assembled byte for byte as in the vectors, and verifies', async () => {
  assert.deepEqual(key.publicKey, publicKey)
  assert.equal(toHex(noteKeyHash(origin, publicKey)), vectors.key_hash)
  assert.equal(verifierKey(origin, publicKey), vectors.verifier_key)
  for (const { tree_size, root_hash, checkpoint } of vectors.epochs) {
    const body = formatCheckpointBody({ origin, size: tree_size, root: fromHex(root_hash) })
    const keyHash = noteKeyHash(origin, publicKey)
    const note = assembleNote(body, [{ name: origin, keyHash, signature: key.sign(utf8(body)) }])
    assert.equal(note, checkpoint)
    const verdict = await verifyCheckpoint(checkpoint, { origin, publicKey })
    assert.ok(verdict.ok)
    assert.equal(verdict.checkpoint?.size, tree_size)
  }
})

for (const { mutation, checkpoint, reason } of vectors.negative_checkpoints) {
  test(`a checkpoint with ${mutation} does not verify: ${reason}`, async () => {
    const verdict = await verifyCheckpoint(checkpoint, { publicKey })
    assert.equal(verdict.ok, false)
    assert.equal(verdict.reason, reason)
  })
}

test('a checkpoint of another log is refused when the origin is known', async () => {
  const [epoch] = vectors.epochs
  const verdict = await verifyCheckpoint(epoch?.checkpoint ?? '', { origin: 'other', publicKey })
  assert.equal(verdict.reason, 'wrong_origin')
})

test('signatures by others are ignored, one by our key must hold', async () => {
  const body = formatCheckpointBody({ origin, size: 0, root: new Uint8Array(32) })
  const keyHash = noteKeyHash(origin, publicKey)
  const own = { name: origin, keyHash, signature: key.sign(utf8(body)) }
  const witness = { name: 'witness.example', keyHash, signature: new Uint8Array(72) }
  const broken = { ...own, signature: new Uint8Array(64) }
  const ok = async (...lines: (typeof own)[]) =>
    (await verifyCheckpoint(assembleNote(body, lines), { publicKey })).ok
  assert.equal(await ok(witness, own), true)
  assert.equal(await ok(own, witness), true)
  assert.equal(await ok(own, broken), false)
  assert.equal(await ok(witness), false)
})

test('the text of a note may hold empty lines of its own', () => {
  const line = { name: 'n', keyHash: new Uint8Array(4), signature: new Uint8Array(1) }
  const note = assembleNote('a\n\nb\n', [line])
  assert.deepEqual(parseNote(note), { body: 'a\n\nb\n', signatures: [line] })
})

test('notes without end are refused', () => {
  const line = { name: 'n', keyHash: new Uint8Array(4), signature: new Uint8Array(64) }
  const many = (count: number) =>
    assembleNote(
      'a\n',
      Array.from({ length: count }, () => line),
    )
  assert.equal(parseNote(many(64)).signatures.length, 64)
  assert.throws(() => parseNote(many(65)), ProofError)
})

test('an origin that could not be a signer name is refused before it is signed', () => {
  const head = { size: 1, root: new Uint8Array(32) }
  for (const odd of ['', 'a b', 'a+b', 'a\u00a0b', 'a\nb', 'a\u0001']) {
    assert.throws(() => formatCheckpointBody({ ...head, origin: odd }), ProofError, odd)
  }
  assert.throws(() => formatCheckpointBody({ ...head, origin, size: -1 }), ProofError)
  assert.throws(() => formatCheckpointBody({ ...head, origin, root: utf8('x') }), ProofError)
})

test('any text at all is either a checkpoint or refused', () => {
  for (const text of ['', '\n', '\n\n', '\n\n\n', '— \n', 'a\n1\n\n\n— n AAAAAAA=\n', '\ud800']) {
    assert.throws(() => parseCheckpoint(text), ProofError)
  }
})
