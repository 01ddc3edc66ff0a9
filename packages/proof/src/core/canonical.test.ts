// RFC 8785: published vectors, the canonical steps of eddsa-jcs-2022, properties, refusals.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { findPublicVectors, readJson } from '../testing/fixtures.ts'
import { canonicalBytes, canonicalize, type Json } from './canonical.ts'
import { sha256 } from './digest.ts'
import { toHex, utf8 } from './encoding.ts'
import { ProofError } from './errors.ts'

test('every published RFC 8785 vector comes out byte for byte', (t) => {
  const folder = findPublicVectors('jcs')
  if (folder === null) return void t.diagnostic('no public vectors beside the project')
  const names = readdirSync(join(folder, 'input'))
  for (const name of names) {
    const value: Json = readJson<Json>(join(folder, 'input', name))
    assert.equal(canonicalize(value), readFileSync(join(folder, 'output', name), 'utf8'), name)
    const hex: string = readFileSync(join(folder, 'outhex', name.replace('.json', '.txt')), 'utf8')
    assert.equal(toHex(canonicalBytes(value)), hex.replaceAll(/\s/g, ''), name)
  }
  assert.equal(names.length, 6)
})

test('the canonical and hash steps of eddsa-jcs-2022 come out as published', (t) => {
  const folder = findPublicVectors('eddsa-jcs-2022')
  if (folder === null) return void t.diagnostic('no public vectors beside the project')
  const text = (name: string) => readFileSync(join(folder, name), 'utf8').trim()
  const document = canonicalBytes(readJson<Json>(join(folder, 'unsigned.json')))
  const config = canonicalBytes(readJson<Json>(join(folder, 'proofConfigJCS.json')))
  assert.equal(new TextDecoder().decode(document), text('canonDocJCS.txt'))
  assert.equal(new TextDecoder().decode(config), text('proofCanonJCS.txt'))
  assert.equal(toHex(sha256(document)), text('docHashJCS.txt'))
  assert.equal(toHex(sha256(config)), text('proofHashJCS.txt'))
  assert.equal(toHex(sha256(config)) + toHex(sha256(document)), text('combinedHashJCS.txt'))
})

const json = fc.jsonValue({ stringUnit: 'binary' }).map((value) => value as Json)

test('canonical text parses back to the value, and is its own canonical form', () => {
  fc.assert(
    fc.property(json, (value) => {
      const text = canonicalize(value)
      const back: Json = JSON.parse(text)
      assert.equal(canonicalize(back), text)
      // Minus zero is written as 0; nothing else may change.
      assert.deepEqual(back, JSON.parse(JSON.stringify(value)))
    }),
  )
})

test('the order in which fields were set never shows', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'binary' }), json), (fields) => {
      const reversed = Object.fromEntries(Object.entries(fields).reverse())
      assert.equal(canonicalize(reversed), canonicalize(fields))
    }),
  )
})

test('keys are ordered by UTF-16 code units, not by code points', () => {
  assert.equal(canonicalize({ '\ufb33': 1, '\u{1f602}': 2 }), '{"\u{1f602}":2,"\ufb33":1}')
})

test('a field called __proto__ is a field like any other', () => {
  assert.equal(canonicalize(JSON.parse('{"__proto__":1,"a":2}')), '{"__proto__":1,"a":2}')
})

test('numbers take their ECMAScript form', () => {
  const numbers = [-0, 1e21, 1e-7, 333333333.3333333, 5e-324, 2 ** 53]
  assert.equal(canonicalize(numbers), '[0,1e+21,1e-7,333333333.3333333,5e-324,9007199254740992]')
})

test('what JSON cannot say is refused, wherever it stands', () => {
  const cyclic: Record<string, unknown> = {}
  cyclic['self'] = cyclic
  const hole = [1, undefined, 2]
  const values = [Number.NaN, Number.POSITIVE_INFINITY, undefined, 1n, '\ud800', 'a\udc00b']
  const odd = [new Date(0), new Map(), new Uint8Array(1), () => 1, Symbol('s'), cyclic, hole]
  for (const value of [...values, ...odd, { '\ud800': 1 }]) {
    for (const placed of [value, [value], { a: value }]) {
      // Outside the type on purpose: this is what arrives from plain JavaScript.
      assert.throws(() => canonicalize(placed as Json), isNotCanonical)
    }
  }
})

test('nesting beyond 256 is refused, not overflowed', () => {
  const nested = (depth: number): Json => JSON.parse('['.repeat(depth) + ']'.repeat(depth))
  assert.equal(canonicalize(nested(256)).length, 512)
  assert.throws(() => canonicalize(nested(257)), isNotCanonical)
  assert.throws(() => canonicalize(nested(100_000)), isNotCanonical)
})

test('canonical bytes are the UTF-8 of the canonical text', () => {
  assert.deepEqual(canonicalBytes('€😀'), utf8('"€😀"'))
})

function isNotCanonical(error: unknown): boolean {
  return error instanceof ProofError && error.code === 'not_canonical'
}
