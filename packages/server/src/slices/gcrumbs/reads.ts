// Reads of the audit log: entries, epochs, proofs, tiles (C2SP tlog-tiles), keys, counts, and
// verification.

import assert from 'node:assert/strict'
import {
  type Breadcrumb,
  type Epoch,
  type gcrumbs,
  REPLY_KIND,
  ReceiptsRequest,
  type ReplyOf,
} from '@custos/contract'
import {
  checkReceipts,
  encodeBundle,
  encodeTile,
  formatTlogProof,
  hasTile,
  parseTilePath,
  RECEIPT_PURPOSE,
  TILE_WIDTH,
  verifyEnvelope,
} from '@custos/proof'
import { toHex } from '../../platform/bytes.ts'
import type { Row } from '../../platform/db/schema/tables.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Handler } from '../../platform/kernel/call.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import type { PublishedKey } from '../../platform/keys/keyring.ts'
import { pageOf } from '../../platform/page.ts'
import { rawJson } from '../../platform/raw-json.ts'
import { Refusal } from '../../platform/refusal.ts'
import { Shape, validationDetail } from '../../platform/validation.ts'
import { WorkerRequests } from '../../platform/worker-requests.ts'
import {
  countEpochs,
  type EpochRow,
  findCrumb,
  findEpoch,
  findHead,
  findLastEpoch,
  listCrumbs,
  listEpochs,
  listLeaves,
  listNodes,
} from './chain.sql.ts'
import { loadCosignedCheckpoint, showCosignatures } from './cosignatures.ts'
import { showEpoch } from './epochs.ts'
import { auditPath, prefixPath } from './tree.ts'
import { type LogVerdict, UNVERIFIED, type VerifiedState } from './verify-log.ts'
import type { verify as verifyTask } from './verify-worker.ts'

/** An entry as replies show it: the JSON of its leaf, with the leaf's hash as id. */
export function showCrumb(row: Row<'breadcrumbs'>): Breadcrumb {
  // `appendCrumb` writes records in exactly this shape.
  const record = JSON.parse(row.record) as Omit<Breadcrumb, 'breadcrumb_id'>
  return { breadcrumb_id: toHex(row.breadcrumb_id), ...record }
}

export const publicKey: Handler<typeof gcrumbs.public_key> = async (call, { query }) => {
  const { keyring } = call.kernel
  const signer = keyring.signer('checkpoint')
  const { purpose } = query
  const listed = keyring
    .publishedKeys()
    .filter((key) => purpose === undefined || key.purpose === purpose)
  return {
    public_key: toHex(signer.public_key),
    key_id: signer.key_id,
    origin: call.kernel.settings.origin,
    keys: listed.map((key) => ({ ...key })),
  }
}

export const verifyKey: Handler<typeof gcrumbs.verify_key> = async (call) => {
  const signer = call.kernel.keyring.signer(RECEIPT_PURPOSE)
  return {
    algorithm: 'ed25519',
    public_key_hex: toHex(signer.public_key),
    public_key_b64: Buffer.from(signer.public_key).toString('base64'),
    key_id: signer.key_id,
  }
}

export const breadcrumbs: Handler<typeof gcrumbs.breadcrumbs> = (call, { query }) =>
  call.read(async (db) => {
    const page = pageOf(query, 100, call.operation.id)
    const rows = await listCrumbs(db, page.offset, page.offset + page.limit)
    return page.envelope('breadcrumbs', rows.map(showCrumb))
  })

export const epochs: Handler<typeof gcrumbs.epochs> = (call, { query }) =>
  call.read(async (db) => {
    const page = pageOf(query, 100, call.operation.id)
    const rows = await listEpochs(db, page.limit, page.offset)
    const shown: Epoch[] = []
    for (const row of rows) shown.push(await showEpoch(call.kernel, db, row))
    return page.envelope('epochs', shown)
  })

export const epoch: Handler<typeof gcrumbs.epoch> = (call, { params }) =>
  call.read(async (db) => {
    const row = await findEpoch(db, params.epoch_number)
    if (!row) return call.refuse('epoch_not_found')
    return showEpoch(call.kernel, db, row)
  })

export const proof: Handler<typeof gcrumbs.proof> = (call, { params, query }) =>
  call.read(async (db) => {
    const row = await findEpoch(db, params.epoch_number)
    if (!row) return call.refuse('epoch_not_found')
    const where = { breadcrumb_seq: query.seq, epoch_number: row.epoch_number }
    const cosigners = await showCosignatures(call.kernel, db, row)
    const crumb = query.seq < row.tree_size ? await findCrumb(db, query.seq) : undefined
    const reason = 'the epoch ends before this entry'
    if (!crumb) return { included: false, ...where, reason, ...cosigners }
    const path = await auditPath(call.kernel, db, row, query.seq)
    return showProof({ ...row, ...cosigners }, crumb, path)
  })

/** JSON of the proof that the epoch includes the entry; `null` without an epoch that has it. */
export async function proveEntry(
  kernel: Kernel,
  db: TenantDb,
  { seq, epoch: row }: { readonly seq: number; readonly epoch: EpochRow | undefined },
): Promise<string | null> {
  const crumb = row && seq < row.tree_size ? await findCrumb(db, seq) : undefined
  if (!row || !crumb) return null
  const cosigners = await showCosignatures(kernel, db, row)
  return showProof({ ...row, ...cosigners }, crumb, await auditPath(kernel, db, row, seq)).text
}

// Joins JSON texts, which saves work: the entry is stored as the JSON that replies show, and the
// path is formatted once but shown twice.
function showProof(
  epoch: EpochRow & Awaited<ReturnType<typeof showCosignatures>>,
  crumb: Row<'breadcrumbs'>,
  path: readonly Uint8Array[],
) {
  const leaf = toHex(crumb.breadcrumb_id)
  const root = toHex(epoch.root_hash)
  const hashes = JSON.stringify(path.map(toHex))
  const checkpoint = asciiJson(epoch.checkpoint)
  const { cosignatures, witnessed, timestamp } = epoch
  const cosigned = asciiJson(cosignatures.map(({ line }) => `${line}\n`).join(''))
  // A proof ends with its checkpoint. The text below adds it in place of this line feed.
  const tlog = JSON.stringify(formatTlogProof({ index: crumb.seq, path, checkpoint: '\n' }))
  return rawJson<ReplyOf<typeof gcrumbs.proof>>(
    `{"included":true,"breadcrumb_seq":${crumb.seq},"epoch_number":${epoch.epoch_number},` +
      `"breadcrumb":{"breadcrumb_id":"${leaf}",${crumb.record.slice(1)},"leaf_hash":"${leaf}",` +
      `"audit_path":${hashes},"tree_size":${epoch.tree_size},"root_hash":"${root}",` +
      `"checkpoint":${checkpoint},"cosignatures":${asciiJson(cosignatures)},` +
      `"witnessed":${witnessed},"timestamp":${JSON.stringify(timestamp)},` +
      `"tlog_proof":${tlog.slice(0, -3)}${checkpoint.slice(1, -1)}${cosigned.slice(1)},` +
      `"leaf":"${leaf}","proof":${hashes},"merkle_root":"${root}"}`,
  )
}

// Escapes characters outside ASCII. The em dash of a signed note would otherwise make the whole
// reply a string with two bytes per character.
const asciiJson = (value: string | Epoch['cosignatures']): string => {
  const text = JSON.stringify(value)
  if (!NOT_ASCII.test(text)) return text
  const escaped = text.replaceAll(EACH_NOT_ASCII, escapeUnit)
  return Buffer.from(escaped, 'latin1').toString('latin1')
}

const NOT_ASCII = /[\u0080-\uffff]/
const EACH_NOT_ASCII = new RegExp(NOT_ASCII, 'g')

const escapeUnit = (unit: string): string =>
  `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

export const consistency: Handler<typeof gcrumbs.consistency> = (call, { params, query }) =>
  call.read(async (db) => {
    const [from, to] = [await findEpoch(db, query.from), await findEpoch(db, params.epoch_number)]
    if (!from || !to) return call.refuse('epoch_not_found')
    if (from.tree_size > to.tree_size || from.generation !== to.generation)
      return call.refuse('rejected', 'from must be an earlier epoch of the same origin')
    const path = await prefixPath(call.kernel, db, to, from.tree_size)
    const earlier = await showCosignatures(call.kernel, db, from)
    const later = await showCosignatures(call.kernel, db, to)
    return {
      from_epoch: from.epoch_number,
      to_epoch: to.epoch_number,
      from_size: from.tree_size,
      to_size: to.tree_size,
      from_root: toHex(from.root_hash),
      to_root: toHex(to.root_hash),
      path: path.map(toHex),
      from_checkpoint: from.checkpoint,
      to_checkpoint: to.checkpoint,
      from_cosignatures: earlier.cosignatures,
      from_witnessed: earlier.witnessed,
      from_timestamp: earlier.timestamp,
      to_cosignatures: later.cosignatures,
      to_witnessed: later.witnessed,
      to_timestamp: later.timestamp,
    }
  })

export const verify: Handler<typeof gcrumbs.verify> = async (call, { query }) => {
  const { state: _, ...verdict } = await verifyChain(call.kernel, call.tenant_id, {
    full: query.full ?? false,
  })
  if (verdict.status !== 'tampered') return verdict
  // Adds the alias that existing clients read.
  return verdict.at_seq === undefined ? verdict : { ...verdict, tampered_at: verdict.at_seq }
}

export const verifyAny: Handler<typeof gcrumbs.verify_envelope> = async (call, { body }) => {
  const keys = call.kernel.keyring.publishedKeys()
  if (Object.hasOwn(body, 'receipts') && !Object.hasOwn(body, 'type'))
    return verifyReceipts(readReceipts(body), keys)
  const { valid, type, checks, reason } = await verifyEnvelope(body, { keys })
  return { valid, type, checks: [...checks], ...(reason === undefined ? {} : { reason }) }
}

const receiptsShape = new Shape(ReceiptsRequest, 'body')

function readReceipts(body: Readonly<Record<string, unknown>>) {
  receiptsShape.assert(body)
  const receipts: readonly unknown[] = Array.isArray(body['receipts']) ? body['receipts'] : []
  const key = body['public_key_b64']
  const supplied = typeof key === 'string' ? Buffer.from(key, 'base64') : null
  if (supplied === null || supplied.length === ED25519_KEY_BYTES) return { receipts, supplied }
  throw validationDetail(['body', 'public_key_b64'], 'is no Ed25519 public key', 'value_error')
}

const ED25519_KEY_BYTES = 32

async function verifyReceipts(
  { receipts, supplied }: ReturnType<typeof readReceipts>,
  keys: readonly PublishedKey[],
) {
  const results = await checkReceipts(receipts, supplied, keys)
  const count = results.length
  const checks = results.map(({ index, valid, reason }) => ({
    name: `receipts[${index}]`,
    ok: valid,
    ...(valid ? {} : { detail: reason }),
  }))
  const failed = results.find(({ valid }) => !valid)
  const reason = count === 0 ? 'no receipts supplied' : failed?.reason
  const valid = reason === undefined
  return { valid, type: 'receipts', checks, count, results, ...(valid ? {} : { reason }) }
}

export const stats: Handler<typeof gcrumbs.stats> = (call) =>
  call.read(async (db) => {
    const head = await findHead(db)
    const last = await findLastEpoch(db)
    return {
      total_breadcrumbs: head?.size ?? 0,
      total_epochs: await countEpochs(db),
      generation: head?.generation ?? 0,
      last_epoch: last ? await showEpoch(call.kernel, db, last) : null,
    }
  })

/** Tiles have this height, and interior nodes are stored at multiples of it. */
const TILE_HEIGHT = 8

export const checkpoint: Handler<typeof gcrumbs.checkpoint> = (call) =>
  call.read(async (db) => {
    const row = await findLastEpoch(db)
    return row ? loadCosignedCheckpoint(db, row) : call.refuse('epoch_not_found')
  })

export const tile: Handler<typeof gcrumbs.tile> = (call, { params }) =>
  call.read(async (db) => {
    const named = parseTilePath(params.tile)
    const size = (await findLastEpoch(db))?.tree_size ?? 0
    // Shows only signed entries: later ones may be lost in a restore.
    if (!named || !hasTile(size, named)) return call.refuse('tile_not_found')
    const { level, index, width } = named
    const range = { first: index * TILE_WIDTH, end: index * TILE_WIDTH + width }
    const file = level === 'entries' ? await bundle(db, range) : await hashes(db, level, range)
    const filename = `tile-${params.tile}`
    return { [REPLY_KIND]: 'file', file, type: 'application/octet-stream', filename } as const
  })

async function bundle(
  db: TenantDb,
  { first, end }: { first: number; end: number },
): Promise<Uint8Array> {
  const rows = await listCrumbs(db, first, end)
  assert.equal(rows.length, end - first, 'the log lacks entries that a checkpoint signs')
  return encodeBundle(rows.map(({ record }) => Buffer.from(record)))
}

async function hashes(
  db: TenantDb,
  level: number,
  { first, end }: { first: number; end: number },
): Promise<Uint8Array> {
  const nodes =
    level === 0
      ? (await listLeaves(db, first, end)).map(({ breadcrumb_id }) => breadcrumb_id)
      : (await listNodes(db, level * TILE_HEIGHT, first, end)).map(({ hash }) => hash)
  assert.equal(nodes.length, end - first, 'the log lacks hashes that a checkpoint signs')
  return encodeTile(nodes)
}

const verified = perKernel(() => new Map<string, VerifiedState>())
const VERIFIED_TENANTS_MAX = 10_000

/** Verifies the tenant's log from where this process last found it intact, or from the start. */
export async function verifyChain(
  kernel: Kernel,
  tenant_id: string,
  options: { full: boolean },
): Promise<LogVerdict> {
  const known = verified(kernel)
  const from = (options.full ? undefined : known.get(tenant_id)) ?? UNVERIFIED
  const signed = await kernel.keyring.checkpoints.last(tenant_id)
  const task = {
    from,
    keys: kernel.keyring.publishedKeys(),
    origin: kernel.settings.origin,
    signed: signed && { generation: signed.generation, tree_size: signed.tree_size },
  }
  const verdict = await verifyInWorker({ source: kernel.db.source, tenant_id, task })
  if (verdict.status === 'intact') {
    if (known.size >= VERIFIED_TENANTS_MAX) known.clear()
    known.set(tenant_id, verdict.state)
  }
  return verdict
}

/** One worker thread per process; each request names the database. */
const verifier = new WorkerRequests<
  Parameters<typeof verifyTask>[0],
  Awaited<ReturnType<typeof verifyTask>>
>(new URL('./verify-worker.ts', import.meta.url))

async function verifyInWorker(log: Parameters<typeof verifyTask>[0]): Promise<LogVerdict> {
  const { verdict, error, refusal } = await verifier.ask(log)
  if (verdict) return verdict
  if (!refusal) throw new Error(`the verification failed: ${error}`)
  const { code, retry_after_s } = refusal
  throw new Refusal(code, undefined, retry_after_s === undefined ? {} : { retry_after_s })
}
