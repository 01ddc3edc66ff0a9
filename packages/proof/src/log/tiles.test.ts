// Tiles: names and widths by the examples of c2sp.org/tlog-tiles, bytes by properties.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ProofError } from '../core/errors.ts'
import {
  decodeBundle,
  decodeTile,
  encodeBundle,
  encodeTile,
  formatTilePath,
  hasTile,
  parseTilePath,
  TILE_WIDTH,
  widthOfLevel,
} from './tiles.ts'

test('a tile is named as the specification spells it', () => {
  for (const [path, tile] of [
    ['0/x001/x234/067', { level: 0, index: 1_234_067, width: 256 }],
    ['1/000', { level: 1, index: 0, width: 256 }],
    ['0/273.p/112', { level: 0, index: 273, width: 112 }],
    ['entries/x001/000.p/1', { level: 'entries', index: 1000, width: 1 }],
    ['63/999.p/255', { level: 63, index: 999, width: 255 }],
  ] as const) {
    assert.equal(formatTilePath(tile), path)
    assert.deepEqual(parseTilePath(path), tile)
  }
})

test('no other spelling names a tile', () => {
  const others = ['', '0', '0/', '/000', '0/0', '0/1000', '00/000', '64/000', '-1/000', '1.5/000']
  others.push('0/x000/000', '0/001/000', '0/x001', '0/x001/x002', 'data/000', 'entries/0')
  others.push(
    '0/000.p/0',
    '0/000.p/256',
    '0/000.p/257',
    '0/000.p/300',
    '0/000.p/01',
    '0/000.p/',
    '0/000.p/1.p/2',
    '0/000/',
  )
  others.push(`0/${'x999/'.repeat(6)}999`, '0/000.p', ' 0/000', '0/000?', '1e0/000', '0/０00')
  for (const path of others) assert.equal(parseTilePath(path), null, path)
  fc.assert(
    fc.property(fc.string(), (path) => {
      const tile = parseTilePath(path)
      assert.ok(tile === null || formatTilePath(tile) === path)
    }),
  )
})

test('a tree of 70,000 entries has the tiles that the specification counts', () => {
  const tiles = (level: number) => {
    const width = widthOfLevel(70_000, level)
    return [Math.floor(width / TILE_WIDTH), width % TILE_WIDTH]
  }
  assert.deepEqual([0, 1, 2, 3].map(tiles), [
    [273, 112],
    [1, 17],
    [0, 1],
    [0, 0],
  ])
  assert.ok(hasTile(70_000, { level: 0, index: 273, width: 112 }))
  assert.ok(!hasTile(70_000, { level: 0, index: 273, width: 113 }))
  assert.ok(!hasTile(70_000, { level: 0, index: 273, width: 256 }))
  assert.ok(hasTile(70_000, { level: 2, index: 0, width: 1 }))
  assert.ok(!hasTile(70_000, { level: 3, index: 0, width: 1 }))
  // A partial tile of an earlier, smaller tree.
  assert.ok(hasTile(70_000, { level: 'entries', index: 3, width: 9 }))
})

test('tiles and bundles are read back, and neither cut nor longer', () => {
  const hash = fc.uint8Array({ minLength: 32, maxLength: 32 })
  const hashes = fc.array(hash, { minLength: 1, maxLength: 9 })
  const entries = fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 9 })
  fc.assert(
    fc.property(hashes, entries, (tile, bundle) => {
      const [hashBytes, entryBytes] = [encodeTile(tile), encodeBundle(bundle)]
      assert.deepEqual(decodeTile(hashBytes, tile.length), tile)
      assert.deepEqual(decodeBundle(entryBytes, bundle.length), bundle)
      assert.throws(() => decodeTile(hashBytes, tile.length + 1), ProofError)
      assert.throws(() => decodeTile(hashBytes.slice(1), tile.length), ProofError)
      assert.throws(() => decodeBundle(entryBytes.slice(0, -1), bundle.length), ProofError)
      assert.throws(() => decodeBundle(entryBytes, bundle.length - 1), ProofError)
    }),
    { numRuns: 100 },
  )
  assert.throws(() => encodeBundle([new Uint8Array(0x1_0000)]), ProofError)
})
