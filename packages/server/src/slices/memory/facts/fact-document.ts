// The document of a fact (what a caller wrote, with its signature, sealed under a key per fact) and
// the memory object that replies show. To add a stored field of a write, change this file, the
// parsers of requests and of import lines, and the contract.

import type { ItemName, JsonObject, Memory, SessionDigest } from '@custos/contract'
import { fromHex, jsonBytes } from '../../../platform/bytes.ts'
import { formatTime } from '../../../platform/clock.ts'
import { type Kernel, perKernel } from '../../../platform/kernel/kernel.ts'
import { sealedColumn } from '../../../platform/kernel/sealed-column.ts'
import type { TenantKeys } from '../../../platform/keys/keyring.ts'
import { formatNamespace } from '../../../platform/namespace.ts'
import type { FactHead } from './facts.sql.ts'

/** What a caller writes and the document keeps unchanged. */
interface WrittenMembers {
  readonly content: string
  readonly metadata: JsonObject
  readonly original_written_us?: number
  /** From this time on the memory is hidden and due for erasure. */
  readonly expires_us?: number
  /** Set if the fact is a version of this item; its content is then the JSON of the value. */
  readonly item?: ItemName
  /** Set if the service made the fact as the digest of a session. Callers cannot set it. */
  readonly digest?: SessionDigest
}

/** A fact to be written. */
export interface FactDraft extends WrittenMembers {
  readonly namespace: string | null
}

export interface FactDocument extends WrittenMembers {
  readonly write_id: string
  /** 32 hex digits: the GMP fact id that is signed. */
  readonly fact_id: string
  /** Base64 Ed25519 signature over the 16 bytes of `fact_id`. */
  readonly signature: string
  readonly signer_key_id: string
  /** Id of the credential that wrote the fact. */
  readonly principal: string
  /** 64 hex digits; the log carries HMAC-SHA256(salt, content). */
  readonly commitment_salt: string
  /** Embedding space of the vector that follows the document; `null` if there is no vector. */
  readonly space: string | null
}

/** A fact's row with its document. */
export interface OpenedFact extends FactHead {
  readonly content: string
  readonly metadata: FactDocument['metadata']
  readonly document: FactDocument
}

interface FactOwner {
  readonly tenant_id: string
  readonly store_id: string
  readonly ref: number
}

const LENGTH_BYTES = 4
const NO_VECTOR = new Int8Array(0)

interface FactPayload {
  readonly document: FactDocument
  readonly vector: Int8Array | null
}

export const factColumn = sealedColumn({
  domain: 'fact',
  ids: (tenant_id, { store_id, ref }: Omit<FactOwner, 'tenant_id'>) => [tenant_id, store_id, ref],
  payload: { encode: encodePayload, decode: decodePayload },
})

/** Layout: u32 length ‖ JSON ‖ int8 vector, if any. */
function encodePayload({ document, vector }: FactPayload): Buffer {
  const json = jsonBytes(document)
  const numbers = vector ?? NO_VECTOR
  const bytes = Buffer.allocUnsafe(LENGTH_BYTES + json.length + numbers.length)
  bytes.writeUInt32BE(json.length, 0)
  json.copy(bytes, LENGTH_BYTES)
  bytes.set(
    new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.length),
    LENGTH_BYTES + json.length,
  )
  json.fill(0)
  return bytes
}

function decodePayload(bytes: Buffer): FactPayload {
  const end = LENGTH_BYTES + bytes.readUInt32BE(0)
  // The bytes are authenticated, and encodePayload wrote them.
  const document: FactDocument = JSON.parse(bytes.toString('utf8', LENGTH_BYTES, end))
  const vector = document.space === null ? null : Int8Array.from(bytes.subarray(end))
  return { document, vector }
}

/** Seals a fact's document and vector. Wipes `secret` (32 bytes). */
export function sealFactDocument(
  keys: TenantKeys,
  owner: FactOwner & { secret: Buffer },
  payload: FactPayload,
): Buffer {
  const key = keys.factKey(owner.secret)
  owner.secret.fill(0)
  return factColumn.seal(key, owner.tenant_id, owner, payload)
}

/** Throws SealError when the bytes are not those of this fact. Wipes `secret`. */
export function openFactDocument(
  keys: TenantKeys,
  owner: FactOwner & { secret: Buffer },
  sealed: Uint8Array,
): FactPayload {
  const key = keys.factKey(owner.secret)
  owner.secret.fill(0)
  return factColumn.open(key, owner.tenant_id, owner, sealed)
}

/** Public keys by key id, in the encodings that memories show. Keys are only ever added. */
const encodedKeys = perKernel(() => new Map<string, { hex: string; base64: string }>())

function encodePublicKey(kernel: Kernel, key_id: string): { hex: string; base64: string } {
  const known = encodedKeys(kernel).get(key_id)
  if (known) return known
  const found = kernel.keyring.publishedKeys().find((key) => key.key_id === key_id)
  const hex = found?.public_key ?? ''
  const key = { hex, base64: fromHex(hex).toString('base64') }
  if (found) encodedKeys(kernel).set(key_id, key)
  return key
}

/** The memory object of the API and of GMP; `source` is never null. */
export function showMemory(
  kernel: Kernel,
  tenant_id: string,
  fact: FactHead & { readonly document: FactDocument },
): Memory {
  const { document } = fact
  const written_at = formatTime(fact.written_us)
  const key = encodePublicKey(kernel, document.signer_key_id)
  const original = document.original_written_us
  return {
    ref: fact.ref,
    content: document.content,
    metadata: document.metadata,
    written_at,
    valid_from: formatTime(fact.valid_from_us),
    valid_until: fact.valid_until_us === null ? null : formatTime(fact.valid_until_us),
    expires_at: document.expires_us === undefined ? null : formatTime(document.expires_us),
    tenant_id: formatNamespace(tenant_id, fact.namespace),
    superseded_by: fact.superseded_by,
    source: {
      write_id: document.write_id,
      written_at,
      written_by: key.hex,
      signature: document.signature,
      public_key: key.base64,
      key_id: document.signer_key_id,
      principal: document.principal,
      ...(original === undefined ? {} : { original_written_at: formatTime(original) }),
    },
    token_count: fact.token_count,
    ...(document.item && { item: document.item }),
    ...(document.digest && { digest: document.digest }),
  }
}
