// gcrumbs.checkpoint and gcrumbs.tile: the log as C2SP tlog-tiles, exactly what a checkpoint signs.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  appendLeaf,
  decodeBundle,
  decodeTile,
  EMPTY_FRONTIER,
  frontierRoot,
  leafHash,
  nodeHash,
  parseCheckpoint,
  toHex,
} from '@custos/proof'
import { openTenantScene } from '../../testing/tenant-scene.ts'

const scene = openTenantScene()

async function fetchTile(path: string, key = scene.api_key) {
  const response = await fetch(`${scene.service.url}/v1/log/tile/${path}`, {
    headers: { authorization: `Bearer ${key}` },
  })
  const { status, headers } = response
  return { status, headers, bytes: new Uint8Array(await response.arrayBuffer()) }
}

async function fillLog(entries: number): Promise<number> {
  const { store_id } = await scene.ok('POST', '/stores', {})
  for (;;) {
    const { total_breadcrumbs: size } = await scene.ok('GET', '/gcrumbs/stats')
    if (size >= entries) return size
    const writes = Math.min(40, entries - size)
    await Promise.all(
      Array.from({ length: writes }, (_, i) =>
        scene.ok('POST', `/stores/${store_id}/write`, { content: `note ${size + i}` }),
      ),
    )
  }
}

test('gcrumbs.tile and gcrumbs.checkpoint give the tree that the checkpoint signs', async () => {
  assert.equal((await scene.ask('GET', '/log/checkpoint')).body.error, 'epoch_not_found')
  const size = await fillLog(520)
  assert.equal((await fetchTile('0/000')).status, 404, 'nothing is served before it is signed')
  const epoch = await scene.ok('POST', '/gcrumbs/roll', {})
  const { text, headers } = await scene.ask('GET', '/log/checkpoint')
  assert.equal(text, epoch.checkpoint)
  assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8')
  assert.equal(headers.get('cache-control'), 'no-store')
  const checkpoint = parseCheckpoint(text)
  assert.equal(checkpoint.size, size)

  const rest = size - 512
  const widths = [256, 256, rest]
  const suffix = (width: number) => (width === 256 ? '' : `.p/${width}`)
  let frontier = EMPTY_FRONTIER
  const perfect: Uint8Array[] = []
  for (const [index, width] of widths.entries()) {
    const path = `00${index}${suffix(width)}`
    const tile = await fetchTile(`0/${path}`)
    assert.equal(tile.status, 200)
    assert.equal(tile.headers.get('content-type'), 'application/octet-stream')
    assert.equal(tile.headers.get('cache-control'), 'private, max-age=31536000, immutable')
    const leaves = decodeTile(tile.bytes, width)
    const entries = decodeBundle((await fetchTile(`entries/${path}`)).bytes, width)
    assert.deepEqual(
      entries.map((entry) => toHex(leafHash(entry))),
      leaves.map(toHex),
    )
    for (const leaf of leaves) frontier = appendLeaf(frontier, leaf)
    if (width === 256) perfect.push(subtree(leaves))
  }
  assert.equal(toHex(frontierRoot(frontier)), toHex(checkpoint.root))
  const upper = await fetchTile('1/000.p/2')
  assert.deepEqual(decodeTile(upper.bytes, 2).map(toHex), perfect.map(toHex))
  // A part of a tile that an earlier checkpoint needed.
  const part = await fetchTile('0/000.p/7')
  assert.deepEqual(part.bytes, (await fetchTile('0/000')).bytes.slice(0, 7 * 32))

  await fillLog(size + 1)
  for (const path of [
    `0/002.p/${rest + 1}`,
    '0/002',
    '0/003.p/1',
    '1/000.p/3',
    '1/000',
    '2/000.p/1',
  ])
    assert.equal((await fetchTile(path)).status, 404, `${path} is beyond the checkpoint`)
  for (const path of ['0/0', 'x', '0/000.p/0', 'entries/000.p/256', '64/000', '0/x000/000']) {
    const { status, body } = await scene.ask('GET', `/log/tile/${path}`)
    assert.deepEqual([status, body.error], [404, 'tile_not_found'], path)
  }
})

const subtree = (hashes: readonly Uint8Array[]): Uint8Array => {
  const [first = new Uint8Array(0), ...more] = hashes
  if (more.length === 0) return first
  const half = hashes.length / 2
  return nodeHash(subtree(hashes.slice(0, half)), subtree(hashes.slice(half)))
}

test('gcrumbs.tile shows a tenant its own log, and needs gcrumbs:read', async () => {
  await scene.ok('POST', '/stores', {})
  await scene.ok('POST', '/gcrumbs/roll', {})
  const own = decodeBundle((await fetchTile('entries/000.p/1')).bytes, 1)
  assert.match(new TextDecoder().decode(own[0]), new RegExp(`"tenant_id":"${scene.tenant_id}"`))
  const other = await scene.service.createTenant()
  assert.equal((await fetchTile('entries/000.p/1', other.api_key)).status, 404)
  const key = await scene.key({ scopes: ['memory:read'] })
  assert.equal((await fetchTile('0/000.p/1', key)).status, 403)
  const { status } = await scene.ask('GET', '/log/checkpoint', undefined, { key })
  assert.equal(status, 403)
})
