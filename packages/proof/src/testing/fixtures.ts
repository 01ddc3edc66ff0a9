// For tests: keys from seeds, small logs, and where the vector files are.
import { createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { toHex } from '../core/encoding.ts'
import type { PublishedKey } from '../core/keys.ts'
import { keyIdOf } from '../core/signature.ts'
import { type Breadcrumb, breadcrumbId, GENESIS_PREV_ID } from '../log/breadcrumb.ts'
import { leafHash, nodeHash } from '../log/merkle.ts'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', '..')
// PKCS #8 around a raw 32-byte Ed25519 seed (RFC 8410).
const PKCS8_PREFIX = '302e020100300506032b657004220420'

export type SeededKey = {
  readonly publicKey: Uint8Array
  readonly sign: (message: Uint8Array) => Uint8Array
}

/** The Ed25519 key whose seed is 32 times `byte`. */
export function seededKey(byte: number): SeededKey {
  const der = Buffer.concat([Buffer.from(PKCS8_PREFIX, 'hex'), Buffer.alloc(32, byte)])
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' })
  return {
    publicKey: new Uint8Array(spki.subarray(-32)),
    sign: (message) => new Uint8Array(sign(null, message, privateKey)),
  }
}

export function publish(key: SeededKey, purpose: string): PublishedKey {
  return {
    key_id: keyIdOf(key.publicKey),
    purpose,
    public_key: toHex(key.publicKey),
    valid_from: '2026-01-01T00:00:00.000000+00:00',
    retired_at: null,
  }
}

/** A linked log of `count` entries of tenant t-1. */
export function buildLog(count: number): Breadcrumb[] {
  const log: Breadcrumb[] = []
  for (let seq = 0; seq < count; seq++) {
    const unnamed = {
      tenant_id: 't-1',
      seq,
      event_type: seq === 0 ? 'tenant.created' : 'memory.written',
      subject: seq === 0 ? 't-1' : String(seq),
      payload: seq === 0 ? {} : { count: 1, first_ref: seq, last_ref: seq },
      prev_id: log.at(-1)?.breadcrumb_id ?? GENESIS_PREV_ID,
      created_at: `2026-01-02T03:04:${String(seq % 60).padStart(2, '0')}.000006+00:00`,
    }
    log.push({ breadcrumb_id: breadcrumbId(unnamed), ...unnamed })
  }
  return log
}

/** Subtree hashes of numbered leaves, straight from the recursive definition of RFC 6962 2.1. */
export function numberedTree(): (height: number, index: number) => Uint8Array {
  const known = new Map<string, Uint8Array>()
  const nodeAt = (height: number, index: number): Uint8Array => {
    const name = `${height}/${index}`
    const found = known.get(name)
    if (found !== undefined) return found
    const hash =
      height === 0
        ? leafHash(new TextEncoder().encode(String(index)))
        : nodeHash(nodeAt(height - 1, 2 * index), nodeAt(height - 1, 2 * index + 1))
    known.set(name, hash)
    return hash
  }
  return nodeAt
}

/** A vector file of this project; the caller states its shape. */
export function readVector<T>(name: string): T {
  return readJson<T>(join(ROOT, 'test', 'vectors', name))
}

/** The parse boundary of the vector files. */
export function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8')) as T
}

/** The folder of public vectors kept beside the project, or null where there is none. */
export function findPublicVectors(folder: string): string | null {
  for (let at = dirname(ROOT); ; at = dirname(at)) {
    const candidate = join(at, 'shared', 'vectors', folder)
    if (existsSync(candidate)) return candidate
    if (dirname(at) === at) return null
  }
}

/** A copy with the top-level fields of `set` replaced. */
export function withFields(document: object, set: object): Record<string, unknown> {
  return { ...document, ...set }
}
