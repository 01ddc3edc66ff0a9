// Bytes as hex and JSON, of views into larger buffers as well.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromHex, jsonByteLength, jsonBytes, toHex, viewBytes } from './bytes.ts'

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
