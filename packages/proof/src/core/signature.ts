// Ed25519 signatures under a domain: how signed bytes are built and signatures are verified.
import { canonicalize, type Json, type JsonObject } from './canonical.ts'
import { sha256 } from './digest.ts'
import { toHex, utf8 } from './encoding.ts'

/**
 * The kinds of signed record. Each has its own domain, so a signature over one kind is never valid
 * for another. A change to what a kind signs needs a new version in the domain string.
 */
export const SIGNED_KINDS = [
  'erasure',
  /** Covers all certificates of a data subject's erasure; signed by the erasure key. */
  'erasure_manifest',
  /** States what was destroyed of a tenant; signed by the erasure key. */
  'tenant_erasure',
  /** States what is equal on both sides of a tenant's move; signed by the source's record key. */
  'tenant_move',
  'key_list',
  'landing',
  'artifact',
  'world_type',
  'action',
  'corpus',
  'composition',
  'agent_action',
  'approval',
  /** Covers the context of an approval; signed by the approver's own key. */
  'attestation',
  /** A decision whose outcome will count for an agent; signed by the agent's own key. */
  'cgr_decision',
  /** A reported outcome; signed by the key of the reporter. */
  'cgr_outcome',
  'report',
  /** Findings of the conformance suite; signed by a service's record key or by who ran it. */
  'conformance_result',
  /** States what one step of a run did. */
  'run_receipt',
] as const
export type SignedKind = (typeof SIGNED_KINDS)[number]

/** Fields that carry or repeat the signature and therefore cannot be signed. */
const UNSIGNED_FIELDS: ReadonlySet<string> = new Set([
  'signature',
  'public_key',
  'key_id',
  'signed_bytes',
])

/**
 * The message of a domain signature: UTF-8 `custos/<kind>/v<version>`, byte 0x0A, RFC 8785 bytes of
 * the record without `signature`, `public_key`, `key_id` and `signed_bytes`.
 * Throws ProofError `not_canonical` when the record has no canonical form.
 */
export function signedBytes(kind: SignedKind, record: JsonObject, version = 1): Uint8Array {
  const domain = `custos/${kind}/v${version}`
  return utf8(`${domain}\n${canonicalize(withoutFields(record, UNSIGNED_FIELDS))}`)
}

/** The signed bytes of an untrusted record; null if it has no canonical form. */
export function tryBytes(make: () => Uint8Array): Uint8Array | null {
  try {
    return make()
  } catch {
    return null
  }
}

/** A copy of `record` without the named fields. */
export function withoutFields(record: JsonObject, fields: ReadonlySet<string>): JsonObject {
  // No prototype, so that a field called __proto__ stays an ordinary field and is signed.
  const kept: Record<string, Json> = Object.create(null)
  for (const [key, value] of Object.entries(record)) if (!fields.has(key)) kept[key] = value
  return kept
}

/**
 * Verifies Ed25519 (RFC 8032) with WebCrypto, in Node and in browsers. Returns false, and does not
 * throw, for a key that is not 32 bytes, a signature that is not 64 bytes or an invalid point.
 */
export async function verifyEd25519(
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  if (publicKey.length !== 32 || signature.length !== 64) return false
  // Copies, because WebCrypto does not accept views of a shared buffer.
  const [rawKey, rawMessage, rawSignature] = [publicKey, message, signature].map(
    (bytes) => new Uint8Array(bytes),
  )
  if (!rawKey || !rawMessage || !rawSignature) return false
  const algorithm = { name: 'Ed25519' }
  // Throws if the platform has no Ed25519: `false` would call every signature invalid.
  await requireEd25519()
  try {
    const key = await crypto.subtle.importKey('raw', rawKey, algorithm, false, ['verify'])
    return await crypto.subtle.verify(algorithm, key, rawSignature, rawMessage)
  } catch {
    return false
  }
}

let ed25519Present: Promise<unknown> | undefined

// The key of RFC 8032, 7.1, test 1. Every platform with Ed25519 can import it.
const KNOWN_KEY = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'

function requireEd25519(): Promise<unknown> {
  ed25519Present ??= crypto.subtle.importKey(
    'raw',
    Uint8Array.from({ length: 32 }, (_, i) =>
      Number.parseInt(KNOWN_KEY.slice(2 * i, 2 * i + 2), 16),
    ),
    { name: 'Ed25519' },
    false,
    ['verify'],
  )
  return ed25519Present
}

/** The short name of a key: the first 16 hex characters of SHA-256 of the 32 raw bytes. */
export function keyIdOf(publicKey: Uint8Array): string {
  return toHex(sha256(publicKey)).slice(0, 16)
}
