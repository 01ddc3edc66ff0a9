// The sealed document of a fact: everything that came from a caller, under a key of its own.

import type { JsonObject } from '@custos/contract'
import type { TenantKeys } from '../../platform/keys/keyring.ts'
import { open, seal } from '../../platform/keys/seal.ts'

export interface FactDocument {
  readonly content: string
  readonly metadata: JsonObject
  readonly write_id: string
  /** 32 hex digits: the GMP fact id that is signed. */
  readonly fact_id: string
  /** Base64 Ed25519 signature over the 16 bytes of `fact_id`. */
  readonly signature: string
  readonly signer_key_id: string
  /** Id of the credential that wrote it. */
  readonly principal: string
  /** 64 hex digits; the log carries HMAC-SHA256(salt, content). */
  readonly commitment_salt: string
  readonly original_written_us?: number
  /** The space of the vector that follows, never compared with another's; null: there is none. */
  readonly space: string | null
}

export interface FactOwner {
  readonly tenant_id: string
  readonly store_id: string
  readonly ref: number
}

const LENGTH_BYTES = 4
const NO_NUMBERS = new Int8Array(0)

// Bound to its place: no sealed row can stand in for another.
const associatedData = ({ tenant_id, store_id, ref }: FactOwner): Buffer =>
  Buffer.from(JSON.stringify(['fact', tenant_id, store_id, ref]))

/** Seals u32 length ‖ JSON ‖ int8 vector, if any. `secret` (32 bytes) is wiped. */
export function sealFact(
  keys: TenantKeys,
  owner: FactOwner & { secret: Buffer },
  { document, vector }: { document: FactDocument; vector: Int8Array | null },
): Buffer {
  const json = Buffer.from(JSON.stringify(document))
  const numbers = vector ?? NO_NUMBERS
  const plaintext = Buffer.allocUnsafeSlow(LENGTH_BYTES + json.length + numbers.length)
  plaintext.writeUInt32BE(json.length, 0)
  json.copy(plaintext, LENGTH_BYTES)
  plaintext.set(
    new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.length),
    LENGTH_BYTES + json.length,
  )
  const key = keys.factKey(owner.secret)
  owner.secret.fill(0)
  const sealed = seal(key, associatedData(owner), plaintext)
  plaintext.fill(0)
  json.fill(0)
  return sealed
}

/** Throws SealError when the bytes are not this fact's. `secret` is wiped. */
export function openFact(
  keys: TenantKeys,
  owner: FactOwner & { secret: Buffer },
  sealed: Uint8Array,
): { document: FactDocument; vector: Int8Array | null } {
  const key = keys.factKey(owner.secret)
  owner.secret.fill(0)
  const plaintext = open(key, associatedData(owner), sealed)
  const end = LENGTH_BYTES + plaintext.readUInt32BE(0)
  // Authenticated, and written by sealFact.
  const document = JSON.parse(plaintext.toString('utf8', LENGTH_BYTES, end)) as FactDocument
  const vector = document.space === null ? null : Int8Array.from(plaintext.subarray(end))
  plaintext.fill(0)
  return { document, vector }
}
