// Text forms of bytes: round trips, and one spelling only.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  concatBytes,
  equalBytes,
  fromBase64,
  fromHex,
  readBase64,
  readHex,
  toBase64,
  toHex,
  utf8,
} from './encoding.ts'
import { ProofError } from './errors.ts'

test('hex and base64 agree with the platform and come back as they went', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 9000 }), (bytes) => {
      const buffer = Buffer.from(bytes)
      assert.equal(toHex(bytes), buffer.toString('hex'))
      assert.equal(toBase64(bytes), buffer.toString('base64'))
      assert.ok(equalBytes(fromHex(toHex(bytes)), bytes))
      assert.ok(equalBytes(fromBase64(toBase64(bytes)), bytes))
    }),
  )
})

test('hex of another case, an odd length or with other characters is refused', () => {
  for (const text of ['A0', 'a', '0x', ' a0', 'a0\n', 'g0', 'é']) {
    assert.throws(() => fromHex(text), ProofError, text)
    assert.equal(readHex(text), null)
  }
})

test('base64 without its pad, with stray bits, white space or the URL alphabet is refused', () => {
  const bad = ['YQ', 'YQ=', 'YR==', 'YWJ=', 'YWI', ' YQ==', 'YQ==\n', 'YQ=\n=', '-_8=', '====']
  for (const text of bad) {
    assert.throws(() => fromBase64(text), ProofError, text)
    assert.equal(readBase64(text), null)
  }
})

test('a value that is no text reads as no bytes', () => {
  for (const value of [undefined, null, 7, ['YQ=='], {}]) {
    assert.equal(readHex(value), null)
    assert.equal(readBase64(value), null)
  }
})

test('a long text decodes without exhausting the stack', () => {
  const bytes = new Uint8Array(2_000_000)
  assert.equal(fromBase64(toBase64(bytes)).length, bytes.length)
})

test('parts join in order', () => {
  assert.deepEqual(concatBytes(utf8('a'), new Uint8Array(0), utf8('bc')), utf8('abc'))
})
