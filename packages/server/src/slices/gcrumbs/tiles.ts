// The log in the form of C2SP tlog-tiles: its checkpoint, tiles of hashes, bundles of entries.

import assert from 'node:assert/strict'
import { type gcrumbs, REPLY_KIND } from '@custos/contract'
import { encodeBundle, encodeTile, hasTile, parseTilePath, TILE_WIDTH } from '@custos/proof'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Handler } from '../../platform/kernel/call.ts'
import { findLastEpoch, listCrumbs, listLeaves, listNodes } from './chain.sql.ts'
import { cosignedCheckpoint } from './cosignatures.ts'

/** Nodes of this many heights above each other are stored: those of tiles. */
const TILE_HEIGHT = 8

export const checkpoint: Handler<typeof gcrumbs.checkpoint> = (call) =>
  call.read(async (db) => {
    const row = await findLastEpoch(db)
    return row ? cosignedCheckpoint(db, row) : call.refuse('epoch_not_found')
  })

export const tile: Handler<typeof gcrumbs.tile> = (call, { params }) =>
  call.read(async (db) => {
    const named = parseTilePath(params.tile)
    const size = (await findLastEpoch(db))?.tree_size ?? 0
    // Nothing that is not signed: entries after the checkpoint may be lost with a restore.
    if (!named || !hasTile(size, named)) return call.refuse('tile_not_found')
    const { level, index, width } = named
    const range = { first: index * TILE_WIDTH, end: index * TILE_WIDTH + width }
    const file = level === 'entries' ? await bundle(db, range) : await hashes(db, level, range)
    const filename = `tile-${params.tile}`
    return { [REPLY_KIND]: 'file', file, type: 'application/octet-stream', filename } as const
  })

type Range = { readonly first: number; readonly end: number }

async function bundle(db: TenantDb, { first, end }: Range): Promise<Uint8Array> {
  const rows = await listCrumbs(db, first, end)
  assert.equal(rows.length, end - first, 'the log lacks entries that a checkpoint signs')
  return encodeBundle(rows.map(({ record }) => Buffer.from(record)))
}

async function hashes(db: TenantDb, level: number, { first, end }: Range): Promise<Uint8Array> {
  const nodes =
    level === 0
      ? (await listLeaves(db, first, end)).map(({ breadcrumb_id }) => breadcrumb_id)
      : (await listNodes(db, level * TILE_HEIGHT, first, end)).map(({ hash }) => hash)
  assert.equal(nodes.length, end - first, 'the log lacks hashes that a checkpoint signs')
  return encodeTile(nodes)
}
