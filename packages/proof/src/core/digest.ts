// Hash functions, and the ids of decisions and facts that are derived with them.
import { blake2b } from '@noble/hashes/blake2.js'
import { hmac } from '@noble/hashes/hmac.js'
import { sha256 as nobleSha256 } from '@noble/hashes/sha2.js'
import { toHex, utf8 } from './encoding.ts'

/** A SHA-256 function. Callers with a faster native one, such as a server, may pass it in. */
export type Sha256 = (bytes: Uint8Array) => Uint8Array

export const sha256: Sha256 = (bytes) => nobleSha256(bytes)

/** BLAKE2b with a 16-byte digest (a parameter of the hash, RFC 7693 2.5; not a truncation). */
export function blake2b128(bytes: Uint8Array): Uint8Array {
  return blake2b(bytes, { dkLen: 16 })
}

/** BLAKE2b with a 32-byte digest. */
export function blake2b256(bytes: Uint8Array): Uint8Array {
  return blake2b(bytes, { dkLen: 32 })
}

/**
 * A salted commitment to a text: hex HMAC-SHA256(salt, UTF-8 of text). The salt is 32 secret bytes.
 * Without it nobody can test a guess of the text, and after it is destroyed nobody ever can.
 */
export function commitment(salt: Uint8Array, text: string): string {
  return toHex(hmac(nobleSha256, salt, utf8(text)))
}

/** The fields that a decision id is derived from; `timestamp` exactly as in the record. */
export type DecisionIdentity = {
  readonly tenant_id: string
  readonly store_id: string
  readonly model_id: string
  readonly query: string
  readonly timestamp: string
}

/** The five fields in this order, UTF-8, without separators. */
export function decisionIdPreimage(f: DecisionIdentity): Uint8Array {
  return utf8(f.tenant_id + f.store_id + f.model_id + f.query + f.timestamp)
}

/** 32 lower-case hex characters: BLAKE2b-128 of the preimage. */
export function decisionId(f: DecisionIdentity): string {
  return toHex(blake2b128(decisionIdPreimage(f)))
}

/** Content, one byte 0x1F, tenant value; null and the empty tenant value are the same. */
export function factIdPreimage(content: string, tenantValue: string | null): Uint8Array {
  return utf8(`${content}\u001f${tenantValue ?? ''}`)
}

/** The 16-byte content-store identity of a fact (GMP). A memory's signature is over these bytes. */
export function factId(content: string, tenantValue: string | null): Uint8Array {
  return blake2b128(factIdPreimage(content, tenantValue))
}
