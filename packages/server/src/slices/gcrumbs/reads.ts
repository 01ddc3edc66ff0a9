// Reads of the log: entries, epochs, proofs, keys, counts.

import { type Breadcrumb, type Epoch, type gcrumbs, ReceiptsRequest } from '@custos/contract'
import { checkReceipts, formatTlogProof, RECEIPT_PURPOSE, verifyEnvelope } from '@custos/proof'
import type { Handler } from '../../platform/kernel/call.ts'
import type { PublishedKey } from '../../platform/keys/keyring.ts'
import { pageOf } from '../../platform/page.ts'
import { Shape, validationDetail } from '../../platform/validation.ts'
import {
  type CrumbRow,
  countEpochs,
  findCrumb,
  findEpoch,
  findHead,
  findLastEpoch,
  listCrumbs,
  listEpochs,
} from './chain.sql.ts'
import { showEpoch } from './epochs.ts'
import { auditPath, prefixPath } from './tree.ts'
import { verifyChain } from './verify.ts'

type Op<K extends keyof typeof gcrumbs> = (typeof gcrumbs)[K]

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** An entry as shown: the leaf's text plus its hash as id. */
export function showCrumb(row: CrumbRow): Breadcrumb {
  // Written by appendCrumb only, in exactly this shape.
  const record = JSON.parse(row.record) as Omit<Breadcrumb, 'breadcrumb_id'>
  return { breadcrumb_id: hex(row.breadcrumb_id), ...record }
}

export const publicKey: Handler<Op<'public_key'>> = async (call) => {
  const { keyring } = call.kernel
  const signer = keyring.signer('checkpoint')
  return {
    public_key: hex(signer.public_key),
    key_id: signer.key_id,
    origin: call.kernel.settings.origin,
    keys: keyring.publishedKeys().map((key) => ({ ...key })),
  }
}

export const verifyKey: Handler<Op<'verify_key'>> = async (call) => {
  const signer = call.kernel.keyring.signer(RECEIPT_PURPOSE)
  return {
    algorithm: 'ed25519',
    public_key_hex: hex(signer.public_key),
    public_key_b64: Buffer.from(signer.public_key).toString('base64'),
    key_id: signer.key_id,
  }
}

export const breadcrumbs: Handler<Op<'breadcrumbs'>> = (call, { query }) =>
  call.read(async (db) => {
    const page = pageOf(query, 100)
    const rows = await listCrumbs(db, page.offset, page.offset + page.limit)
    return page.envelope('breadcrumbs', rows.map(showCrumb))
  })

export const epochs: Handler<Op<'epochs'>> = (call, { query }) =>
  call.read(async (db) => {
    const page = pageOf(query, 100)
    const rows = await listEpochs(db, page.limit, page.offset)
    const shown: Epoch[] = []
    for (const row of rows) shown.push(await showEpoch(call.kernel, db, row))
    return page.envelope('epochs', shown)
  })

export const epoch: Handler<Op<'epoch'>> = (call, { params }) =>
  call.read(async (db) => {
    const row = await findEpoch(db, params.epoch_number)
    if (!row) return call.refuse('epoch_not_found')
    return showEpoch(call.kernel, db, row)
  })

export const proof: Handler<Op<'proof'>> = (call, { params, query }) =>
  call.read(async (db) => {
    const row = await findEpoch(db, params.epoch_number)
    if (!row) return call.refuse('epoch_not_found')
    const where = { breadcrumb_seq: query.seq, epoch_number: row.epoch_number }
    const crumb = query.seq < row.tree_size ? await findCrumb(db, query.seq) : undefined
    if (!crumb) return { included: false, ...where, reason: 'the epoch ends before this entry' }
    const path = await auditPath(db, query.seq, row.tree_size)
    const { checkpoint } = row
    const breadcrumb = showCrumb(crumb)
    const [audit_path, root_hash] = [path.map(hex), hex(row.root_hash)]
    return {
      included: true,
      ...where,
      breadcrumb,
      leaf_hash: breadcrumb.breadcrumb_id,
      audit_path,
      tree_size: row.tree_size,
      root_hash,
      checkpoint,
      tlog_proof: formatTlogProof({ index: query.seq, path, checkpoint }),
      leaf: breadcrumb.breadcrumb_id,
      proof: audit_path,
      merkle_root: root_hash,
    }
  })

export const consistency: Handler<Op<'consistency'>> = (call, { params, query }) =>
  call.read(async (db) => {
    const [from, to] = [await findEpoch(db, query.from), await findEpoch(db, params.epoch_number)]
    if (!from || !to) return call.refuse('epoch_not_found')
    if (from.tree_size > to.tree_size || from.generation !== to.generation)
      return call.refuse('rejected', 'from must be an earlier epoch of the same origin')
    const path = await prefixPath(db, from.tree_size, to.tree_size)
    return {
      from_epoch: from.epoch_number,
      to_epoch: to.epoch_number,
      from_size: from.tree_size,
      to_size: to.tree_size,
      from_root: hex(from.root_hash),
      to_root: hex(to.root_hash),
      path: path.map(hex),
      from_checkpoint: from.checkpoint,
      to_checkpoint: to.checkpoint,
    }
  })

export const verify: Handler<Op<'verify'>> = async (call, { query }) => {
  const { state: _, ...verdict } = await verifyChain(call.kernel, call.tenant_id, {
    full: query.full ?? false,
  })
  if (verdict.status !== 'tampered') return verdict
  // The alias existing clients read.
  return verdict.at_seq === undefined ? verdict : { ...verdict, tampered_at: verdict.at_seq }
}

export const verifyAny: Handler<Op<'verify_envelope'>> = async (call, { body }) => {
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

export const stats: Handler<Op<'stats'>> = (call) =>
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
