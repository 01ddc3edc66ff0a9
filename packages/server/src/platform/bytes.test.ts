// Bytes as hex and JSON, of views into larger buffers as well; the fast HMAC is the runtime's.

import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { fromHex, hmacSha256, jsonByteLength, jsonBytes, toHex, viewBytes } from './bytes.ts'

test('hex is of the bytes of a view, not of the buffer it lies in', () => {
  const view = new Uint8Array([0, 1, 254, 255, 7]).subarray(1, 4)
  assert.equal(toHex(view), '01feff')
  assert.deepEqual([...fromHex('01feff')], [...view])
  assert.equal(viewBytes(view).buffer, view.buffer)
})

test('the length of JSON is that of its UTF-8', () => {
  const value = { name: 'Zoë 🚀' }
  assert.equal(jsonBytes(value).toString(), JSON.stringify(value))
  assert.equal(jsonByteLength(value), jsonBytes(value).length)
})

const vectors = [
  // RFC 4231, test cases 1 and 2.
  {
    key: Buffer.alloc(20, 0x0b),
    text: 'Hi There',
    mac: 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7',
  },
  {
    key: Buffer.from('Jefe'),
    text: 'what do ya want for nothing?',
    mac: '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  },
]

test('HMAC: the test cases of RFC 4231 with text keys hold', () => {
  for (const { key, text, mac } of vectors) assert.equal(hmacSha256(key)(text), mac)
})

/** Short, longer than one shared buffer, and short again. */
const texts = fc
  .tuple(fc.string({ unit: 'binary' }), fc.constantFrom(1, 1, 1, 20_000))
  .map(([text, times]) => text.repeat(times).slice(0, 40_000))

test('HMAC: any key of at most one block and any texts give what the runtime gives', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 64 }),
      fc.array(texts, { minLength: 1, maxLength: 3 }),
      (key, texts) => {
        const mac = hmacSha256(key)
        for (const text of texts)
          assert.equal(mac(text), createHmac('sha256', key).update(text).digest('hex'))
      },
    ),
  )
})

test('HMAC: a key longer than a block is refused: it would have to be hashed first', () => {
  assert.throws(() => hmacSha256(new Uint8Array(65)), RangeError)
})
